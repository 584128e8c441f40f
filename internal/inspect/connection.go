package inspect

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/fairlead-k8s/fairlead/internal/kube"
)

// Connection has the flags that say which cluster is looked at. They are kubectl's.
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
		_ = command.RegisterFlagCompletionFunc(name, cobra.NoFileCompletions) // cannot fail: the flag exists
	}
}

// The limits of the client. They are high, because a command makes few requests and its
// user waits for them. The API server has limits of its own.
const (
	queriesPerSecond = 50
	burst            = 100
)

// Cluster is a cluster that is looked at. Its clients only read: a request that could
// change something fails with kube.ErrReadOnly before it is sent.
type Cluster struct {
	kubernetes.Interface
	// Config is for more clients that only read.
	Config *rest.Config
	// Namespace is the namespace of the flag or of the context.
	Namespace string
	// Server is the address of the API server.
	Server string
}

// explained returns the error with the flags to set. The library's text names a
// variable that no code here reads.
func (c *Connection) explained(err error) error {
	switch {
	case clientcmd.IsEmptyConfig(err):
		return errors.New("no cluster is named: set --kubeconfig or $KUBECONFIG to a kubeconfig file")
	case clientcmd.IsContextNotFound(err):
		return fmt.Errorf("--context: %w", err)
	case c.context != "" && strings.Contains(err.Error(), fmt.Sprintf("context %q does not exist", c.context)): // The library has no type for it.
		return fmt.Errorf("--context: %w in the kubeconfig file; kubectl config get-contexts lists those that do", err)
	case c.kubeconfig != "":
		return fmt.Errorf("--kubeconfig: %w", err)
	default:
		return fmt.Errorf("kubeconfig: %w", err)
	}
}

// Open returns the cluster. It sends no request. The user agent has the name of the
// command. The error has the exit code CannotLook.
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
		return nil, Exit(CannotLook, fmt.Errorf("which namespace: %w", err))
	}
	config.QPS, config.Burst = queriesPerSecond, burst
	config.WarningHandler = rest.NoWarnings{} // A warning is about requests that the user has not written.
	rest.AddUserAgent(config, "fairlead-"+command)
	reading := rest.CopyConfig(config)
	reading.Wrap(kube.ReadOnly(func(string) {}))
	client, err := kubernetes.NewForConfig(reading)
	if err != nil {
		return nil, Exit(CannotLook, fmt.Errorf("client of the API server: %w", err))
	}
	return &Cluster{Interface: client, Config: reading, Namespace: namespace, Server: config.Host}, nil
}
