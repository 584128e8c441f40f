package app

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	cliflag "k8s.io/component-base/cli/flag"
	"k8s.io/controller-manager/pkg/clientbuilder"
)

// informersName is the end of the informers' user agent.
const informersName = "shared-informers"

type clientOptions struct {
	kubeconfig  string
	master      string
	qps         float32
	burst       int32
	contentType string
	// eachItsOwn gives each controller the identity of a service account.
	eachItsOwn bool
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
	deviates(fs, "kube-api-qps", "Upstream: 20.")
	fs.Int32Var(&o.burst, "kube-api-burst", o.burst,
		"Requests that may exceed --kube-api-qps for a moment.")
	fs.StringVar(&o.contentType, "kube-api-content-type", o.contentType,
		"Content type of requests to the API server.")
	fs.BoolVar(&o.eachItsOwn, "use-service-account-credentials", o.eachItsOwn,
		"Each controller acts as a service account of its own in kube-system, with a token that the API server issues for an hour. "+
			"Leases, informers and this server keep the identity of --kubeconfig.")
}

func (*clientOptions) validate() []error { return nil }

func (o *clientOptions) show(c *configuration) {
	shown := &c.Generic.ClientConnection
	shown.Kubeconfig = o.kubeconfig
	shown.ContentType = o.contentType
	shown.QPS = o.qps
	shown.Burst = o.burst
	c.KubeCloudShared.UseServiceAccountCredentials = o.eachItsOwn
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

// clients make clients of the API server, each with a user agent of its own.
type clients struct {
	// own act as this process: for leases, informers and health.
	own clientbuilder.ControllerClientBuilder
	// each act as this process too, or as a service account for each name.
	each clientbuilder.ControllerClientBuilder
}

func (o *clientOptions) clients(config *rest.Config) (clients, error) {
	own := clientbuilder.SimpleControllerClientBuilder{ClientConfig: config}
	if !o.eachItsOwn {
		return clients{own, own}, nil
	}
	// It reads and makes the service accounts, and asks for their tokens.
	issuer, err := kubernetes.NewForConfig(rest.AddUserAgent(rest.CopyConfig(config), managerName))
	if err != nil {
		return clients{}, fmt.Errorf("client of the service accounts: %w", err)
	}
	each := clientbuilder.NewDynamicClientBuilder(rest.AnonymousClientConfig(config), issuer.CoreV1(), metav1.NamespaceSystem)
	return clients{own, each}, nil
}
