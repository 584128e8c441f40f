package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/fairlead-k8s/fairlead/examples/aws/ec2test"
)

const (
	region    = "eu-test-1"
	clusterID = "test"
	soon      = 5 * time.Minute // even on a busy machine

	uninitialized = "node.cloudprovider.kubernetes.io/uninitialized"

	// asDaemon is an environment variable. If it is set, the test binary runs as
	// the daemon.
	asDaemon = "AWS_TEST_DAEMON"
)

func TestMain(m *testing.M) {
	if os.Getenv(asDaemon) != "" {
		main()
	}
	os.Exit(m.Run())
}

// The unchanged provider initialises Nodes, with or without a provider ID. No
// Node is deleted while the provider has no permission. When the provider has
// its permission again, the Nodes without an instance are deleted. It does not
// matter whether EC2 lists these instances as terminated or not at all. If EC2
// returns the error for an unknown instance, the provider answers that the instance
// does not exist. So --node-deletion-not-found-error is not needed.
func TestLifeOfNodes(t *testing.T) {
	b := newBed(t)
	b.launch(t, "i-00000001", "10.0.0.1", "") // stays during the whole test, as the witness
	b.launch(t, "i-00000002", "10.0.0.2", "aws:///eu-test-1b/i-00000002")
	b.launch(t, "i-00000003", "10.0.0.3", "")
	b.daemon(t)
	for _, n := range []string{"1", "2", "3"} {
		b.await(t, initialized("i-0000000"+n, "10.0.0."+n))
	}

	b.ec2.Deny()
	b.silence(t, "10.0.0.2")
	b.silence(t, "10.0.0.3")
	for _, n := range []string{"2", "3"} {
		b.await(t, b.recorded("10.0.0."+n, "NodeDeletionHeld"))
		b.await(t, initialized("i-0000000"+n, "10.0.0."+n))
	}
	b.ec2.Put(instance("i-00000002", "10.0.0.2", ec2test.Terminated))
	b.ec2.Forget("i-00000003")
	b.ec2.Allow()
	b.await(t, gone("10.0.0.2"))
	b.await(t, gone("10.0.0.3"))
	b.await(t, initialized("i-00000001", "10.0.0.1"))
}

// The provider returns some labels only while the Node lacks them. Refreshes keep
// these labels and the annotation that records them. A refresh writes what has
// changed, and writes nothing if nothing has changed.
func TestRefreshes(t *testing.T) {
	const (
		zoneID = "topology.k8s.aws/zone-id"
		record = "fairlead.dev/cloud-labels"
	)
	b := newBed(t)
	b.launch(t, "i-00000001", "10.0.0.1", "")
	b.daemon(t, "--node-status-update-frequency=1s")
	b.await(t, initialized("i-00000001", "10.0.0.1"))
	b.awaitRefreshes(t, 2)

	before := b.node(t, "10.0.0.1")
	b.awaitRefreshes(t, 3)
	after := b.node(t, "10.0.0.1")
	if diff := cmp.Diff(writtenByTheDaemon(before), writtenByTheDaemon(after)); diff != "" {
		t.Errorf("the Node was written although nothing has changed (-before +after):\n%s", diff)
	}
	if !strings.Contains(after.Annotations[record], zoneID) {
		t.Errorf("the record of the provider's labels is %q, without %s", after.Annotations[record], zoneID)
	}

	patch := fmt.Sprintf(`{"metadata":{"labels":{%q:null}}}`, zoneID)
	if _, err := b.admin.CoreV1().Nodes().Patch(t.Context(), after.Name, types.MergePatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	b.await(t, initialized("i-00000001", "10.0.0.1")) // The label is there again.

	larger := instance("i-00000001", "10.0.0.1", ec2test.Running)
	larger.Type = "m7g.xlarge"
	b.ec2.Put(larger)
	b.await(t, func(context.Context, kubernetes.Interface) error {
		if got := b.node(t, "10.0.0.1").Labels[corev1.LabelInstanceTypeStable]; got != larger.Type {
			return fmt.Errorf("the Node's type is %s, want %s", got, larger.Type)
		}
		return nil
	})
	b.awaitRefreshes(t, 2)
	if n := b.node(t, "10.0.0.1"); n.Labels[zoneID] == "" || !strings.Contains(n.Annotations[record], zoneID) {
		t.Errorf("%s is lost: labels %v, record %q", zoneID, n.Labels, n.Annotations[record])
	}
}

// writtenByTheDaemon returns the fields that the daemon manages, with the time of its last
// write. It leaves out what kube-controller-manager, a part of the playground, writes to a
// new Node at an unknown time.
func writtenByTheDaemon(node *corev1.Node) []metav1.ManagedFieldsEntry {
	return slices.DeleteFunc(slices.Clone(node.ManagedFields), func(e metav1.ManagedFieldsEntry) bool { return e.Manager == "playground" })
}

// If --controllers names the provider's own controller, it runs together with
// Fairlead's controllers. The provider's controller is unchanged: its package
// still links the community's skeleton.
func TestTaggingController(t *testing.T) {
	b := newBed(t)
	b.launch(t, "i-00000001", "10.0.0.1", "")
	b.daemon(t, "--controllers=*,tagging", "--resources=instance", "--tags=team=blue")
	b.await(t, initialized("i-00000001", "10.0.0.1"))
	b.await(t, func(context.Context, kubernetes.Interface) error {
		if d := cmp.Diff(map[string]string{"team": "blue"}, b.ec2.Tags("i-00000001")); d != "" {
			return fmt.Errorf("tags of the instance (-want +got):\n%s", d)
		}
		return nil
	})
	b.await(t, func(ctx context.Context, admin kubernetes.Interface) error {
		node, err := admin.CoreV1().Nodes().Get(ctx, nodeName("10.0.0.1"), metav1.GetOptions{})
		if err == nil && node.Labels["k8s.io/cloud-provider-aws"] == "" {
			err = errors.New("the Node does not have the controller's label")
		}
		return err
	})
}

func instance(id, ip, state string) ec2test.Instance {
	return ec2test.Instance{ID: id, Type: "m7g.large", Zone: region + "b", PrivateIP: ip, PrivateDNS: nodeName(ip), State: state}
}

// nodeName returns EC2's name of an instance, which is also the name that its
// kubelet registers.
func nodeName(ip string) string {
	return "ip-" + strings.ReplaceAll(ip, ".", "-") + "." + region + ".compute.internal"
}

// initialized returns a check that the Node has everything that the provider
// returns about its instance.
func initialized(id, ip string) func(context.Context, kubernetes.Interface) error {
	return func(ctx context.Context, admin kubernetes.Interface) error {
		node, err := admin.CoreV1().Nodes().Get(ctx, nodeName(ip), metav1.GetOptions{})
		if err != nil {
			return err
		}
		type facts struct {
			ProviderID, Type, Zone, Region, ZoneID string
			Waits                                  bool // whether the Node waits to be initialised
			Addresses                              []corev1.NodeAddress
		}
		got := facts{
			node.Spec.ProviderID, node.Labels[corev1.LabelInstanceTypeStable], node.Labels[corev1.LabelTopologyZone],
			node.Labels[corev1.LabelTopologyRegion], node.Labels["topology.k8s.aws/zone-id"],
			slices.ContainsFunc(node.Spec.Taints, func(t corev1.Taint) bool { return t.Key == uninitialized }), node.Status.Addresses,
		}
		want := facts{"aws:///" + region + "b/" + id, "m7g.large", region + "b", region, "tst1-azb", false, []corev1.NodeAddress{
			{Type: corev1.NodeInternalIP, Address: ip},
			{Type: corev1.NodeInternalDNS, Address: nodeName(ip)},
			{Type: corev1.NodeHostName, Address: nodeName(ip)},
		}}
		if d := cmp.Diff(want, got); d != "" {
			return fmt.Errorf("node %s (-want +got):\n%s", node.Name, d)
		}
		return nil
	}
}

func gone(ip string) func(context.Context, kubernetes.Interface) error {
	return func(ctx context.Context, admin kubernetes.Interface) error {
		_, err := admin.CoreV1().Nodes().Get(ctx, nodeName(ip), metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return errors.Join(err, fmt.Errorf("the Node of %s is still there", ip))
	}
}

// bed is the test bed: a control plane without kubelets, and a fake of EC2.
type bed struct {
	ec2        *ec2test.Endpoint
	url        string // of EC2
	admin      kubernetes.Interface
	kubeconfig string // of the daemon
}

func newBed(t *testing.T) *bed {
	t.Helper()
	bin := os.Getenv("FAIRLEAD_BIN")
	if bin == "" {
		t.Skip("needs a control plane; run it with: make examples")
	}
	b := &bed{ec2: &ec2test.Endpoint{ClusterID: clusterID}}
	server := httptest.NewServer(b.ec2)
	t.Cleanup(server.Close)
	b.url = server.URL
	playground := command(t, filepath.Join(bin, "playground"), "up", "--nodes=0", "--output=json", "--node-monitor-grace-period=1h", "--timeout="+soon.String())
	stdout, err := playground.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	start(t, playground)
	var said struct{ Kubeconfig, CCMKubeconfig string }
	line, err := bufio.NewReader(stdout).ReadBytes('\n')
	if err := errors.Join(err, json.Unmarshal(line, &said)); err != nil {
		t.Fatalf("the playground says %q: %v", line, err)
	}
	b.kubeconfig = said.CCMKubeconfig
	config, err := clientcmd.BuildConfigFromFlags("", said.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	config.QPS = -1 // no limit on the client's rate
	if b.admin, err = kubernetes.NewForConfig(config); err != nil {
		t.Fatal(err)
	}
	return b
}

// command returns a program that gets SIGTERM when the test ends.
func command(t *testing.T, name string, args ...string) *exec.Cmd {
	t.Helper()
	c := exec.CommandContext(t.Context(), name, args...)
	c.Cancel = func() error { return c.Process.Signal(syscall.SIGTERM) }
	c.WaitDelay = time.Minute
	return c
}

func start(t *testing.T, c *exec.Cmd) {
	t.Helper()
	log, err := os.Create(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	c.Stderr = log
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = c.Wait() // the test has asked it to end
		text, err := os.ReadFile(log.Name())
		if t.Failed() {
			t.Logf("%s, error %v:\n%s", c, err, text[max(0, len(text)-20_000):])
		}
	})
}

// daemon starts the daemon with the provider, without an election and with short
// periods.
func (b *bed) daemon(t *testing.T, args ...string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "cloud.conf")
	if err := os.WriteFile(file, []byte(config(b.url)), 0o600); err != nil {
		t.Fatal(err)
	}
	d := command(t, os.Args[0], append(args, "--cloud-config="+file, "--kubeconfig="+b.kubeconfig, "--cluster-name=test", "--leader-elect=false", "--secure-port=0",
		"--configure-cloud-routes=false", "--node-monitor-period=200ms", "--node-monitor-longest-period=1s",
		"--node-deletion-silent-after=1s", "--node-deletion-absent-for=1s", "--node-deletion-young-absent-for=1s")...)
	d.Env = append(append(os.Environ(), asDaemon+"=yes"), environment()...)
	start(t, d)
}

// config returns the provider's configuration for EC2 at the URL.
func config(url string) string {
	return fmt.Sprintf(`[Global]
Region = %[1]s
VPC = vpc-1
SubnetID = subnet-1
KubernetesClusterID = %[2]s
[ServiceOverride "1"]
Service = EC2
Region = %[1]s
URL = %[3]s
SigningRegion = %[1]s
`, region, clusterID, url)
}

// environment returns the environment variables for the provider's SDK:
// credentials, and a variable that prevents a search for a metadata server.
func environment() []string {
	return []string{"AWS_ACCESS_KEY_ID=nobody", "AWS_SECRET_ACCESS_KEY=nothing", "AWS_EC2_METADATA_DISABLED=true"}
}

// launch runs an instance. It also creates the Node, as the instance's kubelet
// would.
func (b *bed) launch(t *testing.T, id, ip, providerID string) {
	t.Helper()
	b.ec2.Put(instance(id, ip, ec2test.Running))
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: nodeName(ip)},
		Spec: corev1.NodeSpec{ProviderID: providerID, Taints: []corev1.Taint{
			{Key: uninitialized, Value: "true", Effect: corev1.TaintEffectNoSchedule},
		}},
		Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{
			{Type: corev1.NodeReady, Status: corev1.ConditionTrue, LastHeartbeatTime: metav1.Now(), Reason: "Test"},
		}},
	}
	if _, err := b.admin.CoreV1().Nodes().Create(t.Context(), node, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

func (b *bed) node(t *testing.T, ip string) *corev1.Node {
	t.Helper()
	node, err := b.admin.CoreV1().Nodes().Get(t.Context(), nodeName(ip), metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return node
}

// awaitRefreshes waits until the provider has described the instances n more
// times. The test has only one Node, so these calls are refreshes of that Node.
func (b *bed) awaitRefreshes(t *testing.T, n int) {
	t.Helper()
	const describe = "DescribeInstances"
	until := b.ec2.Calls(describe) + n + 1 // One refresh may be under way.
	b.await(t, func(context.Context, kubernetes.Interface) error {
		if got := b.ec2.Calls(describe); got < until {
			return fmt.Errorf("%s was called %d times, want %d", describe, got, until)
		}
		return nil
	})
}

// silence makes a kubelet look silent: it writes the condition that
// kube-controller-manager would write.
func (b *bed) silence(t *testing.T, ip string) {
	t.Helper()
	patch := `{"status":{"conditions":[{"type":"Ready","status":"Unknown","reason":"Test"}]}}`
	if _, err := b.admin.CoreV1().Nodes().PatchStatus(t.Context(), nodeName(ip), []byte(patch)); err != nil {
		t.Fatal(err)
	}
}

// recorded returns a check that an event with the reason was recorded about the Node.
func (b *bed) recorded(ip, reason string) func(context.Context, kubernetes.Interface) error {
	return func(ctx context.Context, admin kubernetes.Interface) error {
		list, err := admin.CoreV1().Events(metav1.NamespaceDefault).List(ctx, metav1.ListOptions{FieldSelector: "involvedObject.name=" + nodeName(ip)})
		if err != nil {
			return err
		}
		var reasons []string
		for _, e := range list.Items {
			if e.Reason == reason {
				return nil
			}
			reasons = append(reasons, e.Reason)
		}
		return fmt.Errorf("the Node of %s has the events %v, and no %s", ip, reasons, reason)
	}
}

// await calls check until it returns nil.
func (b *bed) await(t *testing.T, check func(context.Context, kubernetes.Interface) error) {
	t.Helper()
	deadline := time.Now().Add(soon)
	for {
		err := check(t.Context(), b.admin)
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("not within %v: %v", soon, err)
		}
		time.Sleep(50 * time.Millisecond)
	}
}
