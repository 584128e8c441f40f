// Package child says what the playground's processes are called and which flags they take. It is apart from what they
// run, which is most of Kubernetes, so that who starts them need not contain them.
package child

import (
	"strconv"

	"github.com/spf13/pflag"
)

// Run is the command of the playground by which it runs a child.
const Run = "run"

// The components' names, which are those of the commands below Run and of the processes.
const (
	Etcd              = "etcd"
	APIServer         = "kube-apiserver"
	ControllerManager = "kube-controller-manager"
	Scheduler         = "kube-scheduler"
	Kubelet           = "kubelet"
)

// EtcdOptions say which etcd to run.
type EtcdOptions struct {
	// DataDir holds the data.
	DataDir string
	// Listen is the URL to serve clients on.
	Listen string
	// CAFile has the authority that signs the clients' certificates, CertFile and KeyFile the server's own.
	CAFile, CertFile, KeyFile string
}

// AddFlags binds o to flags.
func (o *EtcdOptions) AddFlags(f *pflag.FlagSet) {
	f.StringVar(&o.DataDir, "data-dir", "", "folder of the data")
	f.StringVar(&o.Listen, "listen", "", "URL to serve clients on")
	f.StringVar(&o.CAFile, "ca-file", "", "certificate authority of the clients")
	f.StringVar(&o.CertFile, "cert-file", "", "certificate of the server")
	f.StringVar(&o.KeyFile, "key-file", "", "private key of the server")
}

// Args returns the flags that set o.
func (o *EtcdOptions) Args() []string {
	return []string{
		"--data-dir=" + o.DataDir,
		"--listen=" + o.Listen,
		"--ca-file=" + o.CAFile,
		"--cert-file=" + o.CertFile,
		"--key-file=" + o.KeyFile,
	}
}

// KubeletOptions say which kubelet to run.
type KubeletOptions struct {
	// Node is the name of the Node that it registers.
	Node string
	// Kubeconfig is the file with its credentials.
	Kubeconfig string
	// Port is where it serves on the loopback interface.
	Port int
}

// AddFlags binds o to flags.
func (o *KubeletOptions) AddFlags(f *pflag.FlagSet) {
	f.StringVar(&o.Node, "node", "", "name of the Node")
	f.StringVar(&o.Kubeconfig, "kubeconfig", "", "file with the credentials")
	f.IntVar(&o.Port, "port", 0, "port to serve on")
}

// Args returns the flags that set o.
func (o *KubeletOptions) Args() []string {
	return []string{"--node=" + o.Node, "--kubeconfig=" + o.Kubeconfig, "--port=" + strconv.Itoa(o.Port)}
}
