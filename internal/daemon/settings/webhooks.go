package settings

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"
	apiserveroptions "k8s.io/apiserver/pkg/server/options"
	cliflag "k8s.io/component-base/cli/flag"
)

// webhookPort is the port on which upstream serves webhooks.
const webhookPort = 10260

// Webhooks holds the settings of the webhooks that a program adds, and of their
// server.
type Webhooks struct {
	known   []string
	chosen  []string
	serving *Serving

	Secure *apiserveroptions.SecureServingOptions
	// ClientCA is the file with the CAs that sign the certificates of callers. If it
	// is empty, callers are not authenticated.
	ClientCA string
}

func newWebhooks(known []string, serving *Serving) Webhooks {
	w := Webhooks{known: known, Secure: apiserveroptions.NewSecureServingOptions(), serving: serving}
	w.Secure.BindPort = webhookPort
	w.Secure.ServerCert.CertDirectory = "" // self-signed, in memory
	w.Secure.ServerCert.PairName = ManagerName + "-webhook"
	return w
}

// servingFlags lists flags of the HTTPS server. The server of the webhooks has the
// same flags with the prefix webhookPrefix.
var servingFlags = []string{
	"bind-address", "cert-dir", "disable-http2-serving", "secure-port", "tls-cert-file", "tls-cipher-suites",
	"tls-curve-preferences", "tls-min-version", "tls-private-key-file", "tls-sni-cert-key",
}

const webhookPrefix = "webhook-"

func (w *Webhooks) addFlags(sections *cliflag.NamedFlagSets) {
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
	w.Secure.AddFlags(all)
	fs = sections.FlagSet("webhook serving")
	for _, name := range servingFlags {
		f := *all.Lookup(name)
		f.Name = webhookPrefix + name
		f.Usage = "For the server of webhooks: " + strings.ReplaceAll(f.Usage, "--", "--"+webhookPrefix)
		fs.AddFlag(&f)
	}
	fs.Lookup("webhook-secure-port").Usage = "The port on which to serve webhooks over HTTPS. Callers are authenticated only with --webhook-client-ca-file. 0 turns it off."
	fs.StringVar(&w.ClientCA, "webhook-client-ca-file", w.ClientCA,
		"A file with CA certificates. If it is set, whoever calls a webhook has to present a client certificate that one of these CAs has signed. "+
			"The API server presents a certificate if the file in its --admission-control-config-file names one. The file is read again when it changes.")
}

func (w *Webhooks) validate() []error {
	var errs []error
	for _, entry := range w.chosen {
		if name := strings.TrimPrefix(entry, "-"); entry != "*" && !slices.Contains(w.known, name) {
			errs = append(errs, fmt.Errorf("--webhooks: %q is not in the list of known webhooks", name))
		}
	}
	port := w.Secure.BindPort
	switch {
	case port < 0 || port > 65535:
		errs = append(errs, fmt.Errorf("--webhook-secure-port %v must be between 0 and 65535, inclusive. A value of 0 disables the webhook endpoint entirely.", port)) //nolint:revive,staticcheck // upstream's text
	case port != 0 && port == w.serving.Secure.BindPort:
		errs = append(errs, errors.New("--webhook-secure-port cannot be the same value as --secure-port"))
	case port == 0 && len(w.Served()) > 0:
		errs = append(errs, fmt.Errorf("--webhooks: %s cannot be served with --webhook-secure-port=0", strings.Join(w.Served(), ", ")))
	}
	return append(errs, tlsErrors(webhookPrefix, w.Secure)...)
}

// Served returns the names of the webhooks to serve. None is on by default.
func (w *Webhooks) Served() []string {
	var served []string
	for _, name := range w.known {
		if chosen(name, true, w.chosen) {
			served = append(served, name)
		}
	}
	return served
}

// webhookConfiguration is the Webhook part of /configz.
type webhookConfiguration struct {
	Webhooks []string
}

func (w *Webhooks) show(c *configuration) { c.Webhook.Webhooks = w.chosen }
