package demo

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-k8s/fairlead/internal/ports"
	"github.com/fairlead-k8s/fairlead/playground/internal/await"
	"github.com/fairlead-k8s/fairlead/playground/internal/child"
	"github.com/fairlead-k8s/fairlead/playground/internal/cluster"
	"github.com/fairlead-k8s/fairlead/playground/internal/follow"
	"github.com/fairlead-k8s/fairlead/playground/internal/nodeport"
	"github.com/fairlead-k8s/fairlead/playground/internal/supervisor"
	"github.com/fairlead-k8s/fairlead/simulator"
)

const (
	simcloud = "simcloud"
	ccm      = "cloud-controller-manager"

	// refresh is the daemon's refresh interval in the demo. With the default, a scene would
	// take minutes.
	refresh = 10 * time.Second
	// silentAfter is the time that a kubelet may be silent before its Node is no longer Ready. With
	// the default, a scene would take most of a minute.
	silentAfter = 20 * time.Second
)

// scene is one part of the demo.
type scene struct {
	// children are the processes whose logs are printed if the scene fails.
	children []string
	play     func(context.Context) error
}

// scenes returns the parts of the demo.
func (d *demo) scenes() []scene {
	kubelet := child.Kubelet + "-" + instances()[0].Name
	return []scene{
		{[]string{simcloud}, d.find(d.openCloud)},
		{[]string{child.APIServer}, d.startCluster},
		{[]string{kubelet}, d.find(d.bootNodes)},
		{[]string{child.Scheduler}, d.find(d.createPod)},
		{[]string{ccm, simcloud}, d.find(d.initializeNodes)},
		{[]string{child.Scheduler, kubelet, ccm}, d.find(d.runPod)},
		{[]string{ccm, simcloud}, d.find(d.balance)},
		{[]string{simcloud, nodeport.Log}, d.find(d.curl)},
		{[]string{simcloud, nodeport.Log}, d.find(d.curl)},
	}
}

// end returns the scene that is played only with Check. It deletes the Service.
func (d *demo) end() []scene {
	return []scene{{[]string{ccm, simcloud}, d.find(d.release)}}
}

// find returns a function that plays a scene. That function prints the line that look
// returns.
func (d *demo) find(look func(context.Context) (string, error)) func(context.Context) error {
	return func(ctx context.Context) error {
		return d.steps.Find(func() (string, error) { return look(ctx) })
	}
}

// instances returns the machines of the demo.
func instances() []simulator.Instance {
	list := make([]simulator.Instance, 3)
	for i, size := range []string{"small", "medium", "large"} {
		n := i + 1
		list[i] = simulator.Instance{
			Name: fmt.Sprintf("node-%d", n),
			Zone: fmt.Sprintf("sim-1%c", 'a'+i),
			Type: size,
			Addresses: []simulator.Address{
				{Type: simulator.InternalIP, Address: fmt.Sprintf("127.0.1.%d", n)},
				{Type: simulator.ExternalIP, Address: fmt.Sprintf("203.0.113.%d", n)},
			},
		}
	}
	return list
}

// openCloud starts the simulated cloud and creates the instances in it.
func (d *demo) openCloud(ctx context.Context) (string, error) {
	view, err := d.openView(ctx)
	if err != nil {
		return "", err
	}
	port, err := d.ports.Next()
	if err != nil {
		return "", err
	}
	d.cloudURL = "http://" + ports.Address(port)
	d.cloud = simulator.NewClient(d.cloudURL).Operator()
	spec := supervisor.Spec{Name: simcloud, Command: []string{
		d.Simcloud, "serve",
		"--listen=" + ports.Address(port),
		"--cluster-view=" + view,
		"--state-file=" + filepath.Join(d.session.DataDir, "cloud.json"),
	}}
	if err := d.session.Children.Start(spec); err != nil {
		return "", err
	}
	if err := await.Until(ctx, simcloud, func(ctx context.Context) error {
		_, err := d.cloud.Instances(ctx)
		return err
	}); err != nil {
		return "", err
	}
	for _, i := range instances() {
		if _, err := d.cloud.CreateInstance(ctx, i); err != nil {
			return "", fmt.Errorf("create instance %s: %w", i.Name, err)
		}
	}
	return fmt.Sprintf("simulated cloud ready, with %d instances", len(instances())), nil
}

// openView serves the description of the cluster to the page of the cloud. It returns
// the URL of the description.
func (d *demo) openView(ctx context.Context) (string, error) {
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	d.background(func(ctx context.Context) error { return d.view.Serve(ctx, listener) })
	return "http://" + listener.Addr().String() + "/", nil
}

// startCluster starts the control plane. From then on, the page shows the
// cluster.
func (d *demo) startCluster(ctx context.Context) error {
	if err := d.cluster.Start(ctx, d.steps); err != nil {
		return err
	}
	d.view.Show(d.cluster.Client())
	return nil
}

// bootNodes makes the kubelets follow the cloud and waits until the nodes are healthy, but not yet initialised.
func (d *demo) bootNodes(ctx context.Context) (string, error) {
	follower := follow.New(d.cloud, d.cluster, d.steps.Note)
	d.background(func(ctx context.Context) error { return follower.Run(ctx, d.Clock) })
	d.background(d.session.Logged(nodeport.Log, nodeport.New(d.cluster, d.Clock, d.steps.Note).Run))
	err := await.Until(ctx, "the Nodes", func(ctx context.Context) error {
		nodes, err := d.nodes(ctx)
		if err != nil {
			return err
		}
		for _, n := range nodes {
			if nodeCondition(n, corev1.NodeReady) != corev1.ConditionTrue {
				return fmt.Errorf("node %s is not Ready", n.Name)
			}
			if len(n.Spec.Taints) != 1 || !waits(n) {
				return fmt.Errorf("node %s has the taints %v, want only %s", n.Name, n.Spec.Taints, uninitialized)
			}
		}
		d.seen.waited = len(nodes)
		return nil
	})
	return fmt.Sprintf("%d nodes registered, each with the taint %s", d.seen.waited, uninitialized), err
}

// createPod creates a Deployment and waits until the scheduler reports why its pod is pending.
func (d *demo) createPod(ctx context.Context) (string, error) {
	apps := d.cluster.Client().AppsV1().Deployments(namespace)
	if _, err := apps.Create(ctx, deployment(), metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		return "", fmt.Errorf("create the Deployment: %w", err)
	}
	err := await.Until(ctx, "the scheduler's message about the pod", func(ctx context.Context) error {
		pod, err := d.pod(ctx)
		if err != nil {
			return err
		}
		d.seen.pendingBecause = unscheduled(pod)
		if d.seen.pendingBecause == "" {
			return fmt.Errorf("pod %s is %s, and the scheduler says nothing", pod.Name, pod.Status.Phase)
		}
		return nil
	})
	return "a pod is Pending: " + d.seen.pendingBecause, err
}

// initializeNodes starts the daemon and waits until it has initialised the nodes.
func (d *demo) initializeNodes(ctx context.Context) (string, error) {
	command, err := d.ccmCommand()
	if err != nil {
		return "", err
	}
	if err := d.session.Children.Start(supervisor.Spec{Name: ccm, Command: command}); err != nil {
		return "", err
	}
	if d.seen.instances, err = d.cloud.Instances(ctx); err != nil {
		return "", err
	}
	err = await.Until(ctx, "the taints to go", func(ctx context.Context) error {
		if d.seen.nodes, err = d.nodes(ctx); err != nil {
			return err
		}
		var waiting []string
		for _, n := range d.seen.nodes {
			if waits(n) {
				waiting = append(waiting, n.Name)
			}
		}
		if len(waiting) > 0 {
			return fmt.Errorf("not initialised: %s", strings.Join(waiting, ", "))
		}
		return nil
	})
	return "cloud-controller-manager has initialised the nodes, the taint is gone", err
}

// ccmCommand writes the daemon's configuration, and returns the command line of
// the daemon.
func (d *demo) ccmCommand() ([]string, error) {
	port, err := d.ports.Next()
	if err != nil {
		return nil, err
	}
	config := filepath.Join(d.session.DataDir, "cloud.yaml")
	if err := os.WriteFile(config, []byte("endpoint: "+d.cloudURL+"\n"), 0o600); err != nil {
		return nil, err
	}
	kubeconfig := d.cluster.Endpoints().CCMKubeconfig
	return []string{
		d.CCM,
		"--cloud-provider=simulated",
		"--cloud-config=" + config,
		"--cluster-name=demo",
		"--cluster-cidr=" + cluster.DefaultPodCIDR,
		"--kubeconfig=" + kubeconfig,
		"--authentication-kubeconfig=" + kubeconfig,
		"--authorization-kubeconfig=" + kubeconfig,
		"--bind-address=127.0.0.1",
		"--secure-port=" + strconv.Itoa(port),
		"--node-status-update-frequency=" + refresh.String(),
	}, nil
}

// runPod waits until the pod runs and the cloud has routes to the pods of all nodes.
func (d *demo) runPod(ctx context.Context) (string, error) {
	err := await.Until(ctx, "the pod to run, and routes", func(ctx context.Context) error {
		pod, err := d.pod(ctx)
		if err != nil {
			return err
		}
		d.seen.pod = pod
		if pod.Status.Phase != corev1.PodRunning {
			return errors.New(podLine(pod))
		}
		if d.seen.nodes, err = d.nodes(ctx); err != nil {
			return err
		}
		for _, n := range d.seen.nodes {
			if is := nodeCondition(n, corev1.NodeNetworkUnavailable); is != corev1.ConditionFalse {
				return fmt.Errorf("node %s has the condition %s=%q", n.Name, corev1.NodeNetworkUnavailable, is)
			}
		}
		d.seen.routes, err = d.cloud.Routes(ctx)
		return err
	})
	return fmt.Sprintf("the pod is Running on %s, and routes lead to the pods of all nodes", d.seen.pod.Spec.NodeName), err
}
