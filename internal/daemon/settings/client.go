package settings

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	cliflag "k8s.io/component-base/cli/flag"
)

// Client has the settings for clients of the API server.
type Client struct {
	kubeconfig  string
	master      string
	qps         float32
	burst       int32
	contentType string
	// EachItsOwn gives each controller the identity of a service account.
	EachItsOwn bool
}

// newClient returns the default settings. They have no rate limit for requests,
// because the API server itself limits its clients (API Priority and Fairness).
func newClient() Client {
	return Client{qps: -1, burst: 30, contentType: runtime.ContentTypeProtobuf}
}

func (o *Client) addFlags(sections *cliflag.NamedFlagSets) {
	fs := sections.FlagSet("misc")
	fs.StringVar(&o.kubeconfig, "kubeconfig", o.kubeconfig,
		"Path to a kubeconfig file. Without it and --master the service account of the pod is used.")
	fs.StringVar(&o.master, "master", o.master,
		"Address of the API server. It overrides the one in the kubeconfig file.")

	fs = sections.FlagSet("generic")
	fs.Float32Var(&o.qps, "kube-api-qps", o.qps,
		"Requests per second that each client of the API server may make. Negative: no limit but that of the API server.")
	deviates(fs, "kube-api-qps", "Upstream: 20.")
	fs.Int32Var(&o.burst, "kube-api-burst", o.burst,
		"How many requests may exceed --kube-api-qps for a moment.")
	fs.StringVar(&o.contentType, "kube-api-content-type", o.contentType,
		"Content type of requests to the API server.")
	fs.BoolVar(&o.EachItsOwn, "use-service-account-credentials", o.EachItsOwn,
		"Each controller acts as a service account of its own in kube-system, with a token that the API server issues for an hour. "+
			"Leases, informers and this server keep the identity of --kubeconfig.")
}

func (o *Client) validate() []error {
	if err := addressError(o.master); err != nil {
		return []error{fmt.Errorf("--master: %w", err)}
	}
	known := []string{runtime.ContentTypeProtobuf, runtime.ContentTypeJSON, runtime.ContentTypeYAML}
	if o.contentType != "" && !slices.Contains(known, o.contentType) {
		return []error{fmt.Errorf("--kube-api-content-type: %q is none of %q", o.contentType, known)}
	}
	return nil
}

// addressError returns an error for an address that no API server can have.
// Without this check, all requests would fail for ever.
func addressError(master string) error {
	if master == "" {
		return nil
	}
	address := master
	if !strings.Contains(address, "://") {
		address = "http://" + address // client-go adds http:// or https://; here, either is good enough
	}
	if u, err := url.Parse(address); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return fmt.Errorf("%q is not the address of an API server, such as https://192.0.2.1:6443", master)
	}
	return nil
}

func (o *Client) show(c *configuration) {
	shown := &c.Generic.ClientConnection
	shown.Kubeconfig = o.kubeconfig
	shown.ContentType = o.contentType
	shown.QPS = o.qps
	shown.Burst = o.burst
	c.KubeCloudShared.UseServiceAccountCredentials = o.EachItsOwn
}

// Named reports whether the flags name an API server.
func (o *Client) Named() bool { return o.kubeconfig != "" || o.master != "" }

// RESTConfig returns the configuration of clients of the API server.
func (o *Client) RESTConfig() (*rest.Config, error) {
	config, err := clientcmd.BuildConfigFromFlags(o.master, o.kubeconfig)
	if err != nil && o.kubeconfig == "" && o.master == "" {
		_, err = rest.InClusterConfig() // its error says more than the one about an empty configuration
		return nil, fmt.Errorf("--kubeconfig is missing, and the service account of a Pod cannot be used instead: %w", err)
	}
	if err != nil {
		return nil, fmt.Errorf("--kubeconfig, --master: %w", err)
	}
	config.DisableCompression = true
	config.ContentType = o.contentType
	config.QPS = o.qps
	config.Burst = int(o.burst)
	return config, nil
}
