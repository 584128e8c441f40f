package app

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	cliflag "k8s.io/component-base/cli/flag"
)

type clientOptions struct {
	kubeconfig  string
	master      string
	qps         float32
	burst       int32
	contentType string
}

// newClientOptions leaves the pace to the API server: a client-side limit
// helps nobody since the server has priority and fairness.
func newClientOptions() clientOptions {
	return clientOptions{qps: -1, burst: 30, contentType: runtime.ContentTypeProtobuf}
}

func (o *clientOptions) addFlags(sections *cliflag.NamedFlagSets) {
	fs := sections.FlagSet("misc")
	fs.StringVar(&o.kubeconfig, "kubeconfig", o.kubeconfig,
		"Path to a kubeconfig file. Without it and --master the service account of the pod is used.")
	fs.StringVar(&o.master, "master", o.master,
		"Address of the API server, overrides the one of the kubeconfig file.")

	fs = sections.FlagSet("generic")
	fs.Float32Var(&o.qps, "kube-api-qps", o.qps,
		"Requests a second that each client of the API server may make. Negative: as many as the API server admits.")
	fs.Int32Var(&o.burst, "kube-api-burst", o.burst,
		"Requests that may exceed --kube-api-qps for a moment.")
	fs.StringVar(&o.contentType, "kube-api-content-type", o.contentType,
		"Content type of requests to the API server.")
}

func (*clientOptions) validate() []error { return nil }

func (o *clientOptions) show(c *configuration) {
	shown := &c.Generic.ClientConnection
	shown.Kubeconfig = o.kubeconfig
	shown.ContentType = o.contentType
	shown.QPS = o.qps
	shown.Burst = o.burst
}

func (o *clientOptions) restConfig() (*rest.Config, error) {
	config, err := clientcmd.BuildConfigFromFlags(o.master, o.kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("--kubeconfig, --master: %w", err)
	}
	config.DisableCompression = true
	config.ContentType = o.contentType
	config.QPS = o.qps
	config.Burst = int(o.burst)
	return config, nil
}
