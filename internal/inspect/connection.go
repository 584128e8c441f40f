package inspect

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/fairlead-k8s/fairlead/internal/readonly"
)

// Connection has the flags that select the cluster. They are the same as those of
// kubectl.
type Connection struct {
	kubeconfig, context, namespace string
}

// AddFlags adds the flags to a command.
func (c *Connection) AddFlags(command *cobra.Command) {
	f := command.Flags()
	f.StringVar(&c.kubeconfig, "kubeconfig", "", "kubeconfig file (default: $KUBECONFIG, then ~/.kube/config, then the service account of the pod)")
	f.StringVar(&c.context, "context", "", "context of the kubeconfig file (default: its current context)")
	f.StringVarP(&c.namespace, "namespace", "n", "", "namespace (default: that of the context)")
	for _, name := range []string{"context", "namespace"} {
		_ = command.RegisterFlagCompletionFunc(name, cobra.NoFileCompletions) // cannot fail, because the flag exists
	}
}

// The client's limits are high, because a command makes few requests and its user waits
// for them. The API server has limits of its own.
const (
	queriesPerSecond = 50
	burst            = 100
)

// Cluster is the cluster that a command looks at. Its clients only read: if a request
// could change something, it fails with readonly.Err and is not sent.
type Cluster struct {
	kubernetes.Interface
	// Config is for callers that make more clients. These clients only read, too.
	Config *rest.Config
	// Namespace is the value of the flag --namespace or, without the flag, the
	// namespace of the kubeconfig's context.
	Namespace string
}

// explained adds the name of the flag that the error is about. If no cluster is named,
// it replaces the library's text, because that text names an environment variable that
// this program does not read.
func (c *Connection) explained(err error) error {
	switch {
	case clientcmd.IsEmptyConfig(err):
		return errors.New("no cluster is named: set --kubeconfig or $KUBECONFIG to a kubeconfig file")
	case clientcmd.IsContextNotFound(err):
		return fmt.Errorf("--context: %w", err)
	case c.context != "" && strings.Contains(err.Error(), fmt.Sprintf("context %q does not exist", c.context)): // The library has no type for this error.
		return fmt.Errorf("--context: %w in the kubeconfig file; kubectl config get-contexts lists the existing ones", err)
	case c.kubeconfig != "":
		return fmt.Errorf("--kubeconfig: %w", err)
	default:
		return fmt.Errorf("kubeconfig: %w", err)
	}
}

// Open returns the cluster. It sends no request. The user agent of later requests
// contains the name of the command. The error has the exit code CannotLook.
func (c *Connection) Open(command string) (*Cluster, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = c.kubeconfig
	overrides := &clientcmd.ConfigOverrides{CurrentContext: c.context}
	overrides.Context.Namespace = c.namespace
	loaded := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, overrides)
	config, err := loaded.ClientConfig()
	if err != nil {
		return nil, Exit(CannotLook, c.explained(err))
	}
	namespace, _, err := loaded.Namespace()
	if err != nil {
		return nil, Exit(CannotLook, fmt.Errorf("read the namespace from the kubeconfig: %w", err))
	}
	config.QPS, config.Burst = queriesPerSecond, burst
	config.WarningHandler = rest.NoWarnings{} // The user has not written the requests that the warnings are about.
	rest.AddUserAgent(config, "fairlead-"+command)
	reading := rest.CopyConfig(config)
	reading.Wrap(readonly.Wrap(func(string) {}))
	client, err := kubernetes.NewForConfig(reading)
	if err != nil {
		return nil, Exit(CannotLook, fmt.Errorf("client of the API server: %w", err))
	}
	return &Cluster{Interface: client, Config: reading, Namespace: namespace}, nil
}
