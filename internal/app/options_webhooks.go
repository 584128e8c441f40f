package app

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"
	"k8s.io/apiserver/pkg/server"
	apiserveroptions "k8s.io/apiserver/pkg/server/options"
	cliflag "k8s.io/component-base/cli/flag"
)

// webhookPort is where upstream serves webhooks.
const webhookPort = 10260

// webhookOptions are about the webhooks that a program adds to this one.
type webhookOptions struct {
	known   []string
	chosen  []string
	secure  *apiserveroptions.SecureServingOptions
	serving *servingOptions
}

func newWebhookOptions(known []string, serving *servingOptions) webhookOptions {
	w := webhookOptions{known: known, secure: apiserveroptions.NewSecureServingOptions(), serving: serving}
	w.secure.BindPort = webhookPort
	w.secure.ServerCert.CertDirectory = "" // self-signed, in memory
	w.secure.ServerCert.PairName = managerName + "-webhook"
	return w
}

// servingFlags are the flags of the HTTPS server that the server of webhooks
// has as well, with a prefix.
var servingFlags = []string{
	"bind-address", "cert-dir", "disable-http2-serving", "secure-port", "tls-cert-file", "tls-cipher-suites",
	"tls-curve-preferences", "tls-min-version", "tls-private-key-file", "tls-sni-cert-key",
}

const webhookPrefix = "webhook-"

func (w *webhookOptions) addFlags(sections *cliflag.NamedFlagSets) {
	known := "none is linked into this program"
	if len(w.known) > 0 {
		known = strings.Join(w.known, ", ")
	}
	fs := sections.FlagSet("webhook")
	fs.StringSliceVar(&w.chosen, "webhooks", w.chosen,
		"Webhooks to serve: 'foo' serves foo, '-foo' does not, '*' serves all. The first entry for a webhook counts.\n"+
			"All webhooks: "+known)
	deviates(fs, "webhooks", "The feature gate CloudControllerManagerWebhook is accepted and not needed. Upstream without it accepts connections and never answers.")

	all := pflag.NewFlagSet("", pflag.ContinueOnError)
	w.secure.AddFlags(all)
	fs = sections.FlagSet("webhook serving")
	for _, name := range servingFlags {
		f := *all.Lookup(name)
		f.Name = webhookPrefix + name
		f.Usage = strings.ReplaceAll(f.Usage, "--", "--"+webhookPrefix)
		fs.AddFlag(&f)
	}
	fs.Lookup("webhook-secure-port").Usage = "The port on which to serve webhooks over HTTPS, to whoever asks. 0 for none."
}

func (w *webhookOptions) validate() []error {
	var errs []error
	for _, entry := range w.chosen {
		if name := strings.TrimPrefix(entry, "-"); entry != "*" && !slices.Contains(w.known, name) {
			errs = append(errs, fmt.Errorf("--webhooks: %q is not in the list of known webhooks", name))
		}
	}
	port := w.secure.BindPort
	switch {
	case port < 0 || port > 65535:
		errs = append(errs, fmt.Errorf("--webhook-secure-port %v must be between 0 and 65535, inclusive. A value of 0 disables the webhook endpoint entirely.", port)) //nolint:revive,staticcheck // upstream's text
	case port != 0 && port == w.serving.secure.BindPort:
		errs = append(errs, errors.New("--webhook-secure-port cannot be the same value as --secure-port"))
	case port == 0 && len(w.served()) > 0:
		errs = append(errs, fmt.Errorf("--webhooks: %s cannot be served with --webhook-secure-port=0", strings.Join(w.served(), ", ")))
	}
	return append(errs, tlsErrors(webhookPrefix, w.secure)...)
}

// served are the webhooks to serve. None is on by default.
func (w *webhookOptions) served() []string {
	var served []string
	for _, name := range w.known {
		if chosen(name, true, w.chosen) {
			served = append(served, name)
		}
	}
	return served
}

// listen binds the port. It returns nil where there is nothing to serve.
func (w *webhookOptions) listen() (*server.SecureServingInfo, error) {
	if len(w.served()) == 0 {
		return nil, nil
	}
	info, err := listen(w.secure)
	if err != nil {
		return nil, fmt.Errorf("serving webhooks: %w", err)
	}
	return info, nil
}

// webhookConfiguration is the Webhook part of /configz.
type webhookConfiguration struct {
	Webhooks []string
}

func (w *webhookOptions) show(c *configuration) { c.Webhook.Webhooks = w.chosen }
