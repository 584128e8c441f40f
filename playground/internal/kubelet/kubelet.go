// Package kubelet runs the kubelet code of Kubernetes without containers. It registers the Node, reports its status,
// renews its lease, and accepts pods, which run only on a fake container runtime.
//
// The kubelet keeps all its files below the working directory. It uses the short path
// /proc/self/cwd for that directory, because the path of a Unix socket can have only about a
// hundred characters.
package kubelet

import (
	"context"
	"crypto/tls"
	"fmt"
	"os"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	_ "k8s.io/component-base/metrics/prometheus/restclient" // the client's metrics
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"
	crifake "k8s.io/cri-api/pkg/apis/testing"
	kubeletapp "k8s.io/kubernetes/cmd/kubelet/app"
	"k8s.io/kubernetes/cmd/kubelet/app/options"
	kubeletconfig "k8s.io/kubernetes/pkg/kubelet/apis/config"
	cadvisor "k8s.io/kubernetes/pkg/kubelet/cadvisor/testing"
	"k8s.io/kubernetes/pkg/kubelet/cm"
	kubeletserver "k8s.io/kubernetes/pkg/kubelet/server"
	"k8s.io/kubernetes/pkg/kubemark"

	"github.com/fairlead-k8s/fairlead/playground/internal/child"
)

const home = "/proc/self/cwd"

// Run runs the kubelet until ctx ends.
func Run(ctx context.Context, o child.KubeletOptions) error {
	config, err := configuration(o)
	if err != nil {
		return err
	}
	client, heartbeats, err := clients(o.Kubeconfig, config.NodeStatusUpdateFrequency.Duration)
	if err != nil {
		return err
	}
	hollow := kubemark.NewHollowKubelet(
		flags(o), config, client, heartbeats,
		&cadvisor.Fake{NodeName: o.Node}, crifake.NewFakeImageService(), newRuntime(o.NetworkFile), cm.NewStubContainerManager(),
	)
	hollow.KubeletDeps.VolumePlugins = withVolumes(hollow.KubeletDeps.VolumePlugins)
	if o.ServingCertificate {
		hollow.KubeletDeps.TLSOptions = &kubeletserver.TLSOptions{MinVersion: tls.VersionTLS12}
	}
	// The Run method of the hollow kubelet is not used, because it never returns and
	// can exit the process.
	server := &options.KubeletServer{KubeletFlags: *hollow.KubeletFlags, KubeletConfiguration: *hollow.KubeletConfiguration}
	if err := kubeletapp.RunKubelet(ctx, server, hollow.KubeletDeps); err != nil {
		return fmt.Errorf("kubelet %s: %w", o.Node, err)
	}
	<-ctx.Done()
	return nil
}

// runtime is a container runtime that only pretends to run containers.
type runtime struct {
	*crifake.FakeRuntimeService

	networkFile string
}

func newRuntime(networkFile string) runtime {
	return runtime{crifake.NewFakeRuntimeService(), networkFile}
}

// Status reports whether the network is ready. It uses the words of a real runtime, because the
// kubelet copies them into the Node.
func (r runtime) Status(context.Context, bool) (*cri.StatusResponse, error) {
	network := &cri.RuntimeCondition{Type: cri.NetworkReady, Status: true}
	if _, err := os.Stat(r.networkFile); err != nil && r.networkFile != "" {
		network.Status, network.Reason, network.Message = false, "NetworkPluginNotReady", "Network plugin returns error: cni plugin not initialized"
	}
	return &cri.StatusResponse{Status: &cri.RuntimeStatus{Conditions: []*cri.RuntimeCondition{{Type: cri.RuntimeReady, Status: true}, network}}}, nil
}

func flags(o child.KubeletOptions) *options.KubeletFlags {
	f := options.NewKubeletFlags()
	f.RootDirectory = home + "/root"
	f.HostnameOverride = o.Node
	// With this setting, the Node waits for a cloud-controller-manager.
	f.CloudProvider = "external"
	f.CertDirectory = home + "/pki"
	return f
}

// configuration returns the default configuration, but switches off everything that
// needs containers, privileges or the whole machine.
func configuration(o child.KubeletOptions) (*kubeletconfig.KubeletConfiguration, error) {
	c, err := options.NewKubeletConfiguration()
	if err != nil {
		return nil, fmt.Errorf("default configuration: %w", err)
	}
	c.Address = "127.0.0.1"
	c.Port = int32(o.Port) //nolint:gosec // ports are small
	c.ReadOnlyPort = 0
	c.HealthzPort = 0
	c.EnableDebuggingHandlers = false // these handlers would serve the machine's files without authentication
	c.ServerTLSBootstrap = o.ServingCertificate
	c.ProviderID = "" // the cloud-controller-manager sets it
	c.PodLogsDir = home + "/logs"
	c.FailCgroupV1 = false
	c.CgroupsPerQOS = false
	c.EnforceNodeAllocatable = nil
	c.KubeletCgroups = ""
	c.MaxOpenFiles = 1024
	c.ContainerRuntimeEndpoint = "" // the runtime is part of this process
	c.ImageServiceEndpoint = ""
	return c, nil
}

// clients returns the kubelet's two clients. The client for heartbeats has a timeout and no rate
// limit, so that heartbeats are sent even when the kubelet is busy.
func clients(kubeconfig string, heartbeat time.Duration) (client, heartbeats *kubernetes.Clientset, err error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, nil, err
	}
	config.UserAgent = "kubelet"
	config.ContentType = "application/vnd.kubernetes.protobuf"
	if client, err = kubernetes.NewForConfig(config); err != nil {
		return nil, nil, err
	}
	config.QPS = -1
	config.Timeout = heartbeat
	heartbeats, err = kubernetes.NewForConfig(config)
	return client, heartbeats, err
}
