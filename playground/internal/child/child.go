// Package child has the names and flags of the playground's processes. It does not import the
// components that run in these processes. So a program that only starts the processes does not link
// most of Kubernetes.
package child

import (
	"strconv"

	"github.com/spf13/pflag"
)

// Run is the playground's command that runs a child.
const Run = "run"

// Names of the components. They are also the names of the sub-commands of Run and of the
// processes, except that the process of a kubelet has the name kubelet-NODE.
const (
	Etcd              = "etcd"
	APIServer         = "kube-apiserver"
	ControllerManager = "kube-controller-manager"
	Scheduler         = "kube-scheduler"
	Kubelet           = "kubelet"
)

// EtcdOptions configure the etcd to run.
type EtcdOptions struct {
	// DataDir is the folder of the data.
	DataDir string
	// Listen is the URL to serve clients on.
	Listen string
	// CAFile contains the certificate of the authority that signs the clients' certificates. CertFile
	// and KeyFile contain the certificate and the key of the server.
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

// KubeletOptions configure the kubelet to run.
type KubeletOptions struct {
	// Node is the name of the Node that the kubelet registers.
	Node string
	// Kubeconfig is the file with the kubelet's credentials.
	Kubeconfig string
	// Port is the port on which the kubelet serves, on the loopback interface.
	Port int
	// ServingCertificate makes the kubelet request a certificate for its server. Otherwise the kubelet
	// serves without TLS.
	ServingCertificate bool
	// NetworkFile is a file that stands for the node's network plugin. While the file does not exist,
	// the kubelet reports that the network is not ready. Empty means that the network is always ready.
	NetworkFile string
}

// AddFlags binds o to flags.
func (o *KubeletOptions) AddFlags(f *pflag.FlagSet) {
	f.StringVar(&o.Node, "node", "", "name of the Node")
	f.StringVar(&o.Kubeconfig, "kubeconfig", "", "file with the credentials")
	f.IntVar(&o.Port, "port", 0, "port to serve on")
	f.BoolVar(&o.ServingCertificate, "serving-certificate", false, "request a certificate for the server")
	f.StringVar(&o.NetworkFile, "network-file", "", "file without which the network is not ready; empty: it is always ready")
}

// Args returns the flags that set o.
func (o *KubeletOptions) Args() []string {
	return []string{
		"--node=" + o.Node, "--kubeconfig=" + o.Kubeconfig, "--port=" + strconv.Itoa(o.Port),
		"--serving-certificate=" + strconv.FormatBool(o.ServingCertificate), "--network-file=" + o.NetworkFile,
	}
}
