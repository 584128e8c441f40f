package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/fairlead-k8s/fairlead/internal/cluster"
	"github.com/fairlead-k8s/fairlead/internal/doctor"
	"github.com/fairlead-k8s/fairlead/internal/inspect"
	"github.com/fairlead-k8s/fairlead/simulator"
	"github.com/fairlead-k8s/fairlead/test/internal/bed"
	"github.com/fairlead-k8s/fairlead/test/internal/expect"
	"github.com/fairlead-k8s/fairlead/test/internal/nodes"
)

// patient is a cluster that seems to run a cloud-controller-manager (the manager). The
// test writes the Pods and their status itself, so no controller changes the planted
// faults.
type patient struct {
	*bed.Bed
	nodes   []string
	manager *appsv1.Deployment // the manager as it is in the healthy cluster
	pods    []string
	leases  map[string]time.Duration // how long ago each Lease was renewed
}

const (
	system      = metav1.NamespaceSystem
	managerName = "cloud-controller-manager"
)

func newPatient(t *testing.T) *patient {
	t.Helper()
	p := &patient{leases: map[string]time.Duration{}}
	p.Bed = onOwn(t, "--controller-manager-arg=--controllers=*,-deployment-controller,-daemonset-controller,-replicaset-controller,"+
		"-node-ipam-controller,-node-lifecycle-controller,-taint-eviction-controller,-pod-garbage-collector-controller")
	for n := range 3 {
		p.nodes = append(p.nodes, p.initialised(t, func(node *corev1.Node) { node.Spec.PodCIDR = fmt.Sprintf("10.128.%d.0/24", n) }))
	}
	to, err := p.Manifests()
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range objectsIn(t, "../../deploy/deployment.yaml") {
		if err := to.Apply(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	p.editManager(t, func(d *appsv1.Deployment) {
		args := &d.Spec.Template.Spec.Containers[0].Args
		*args = slices.DeleteFunc(*args, func(a string) bool { return strings.HasPrefix(a, "--configure-cloud-routes") })
		*args = append(*args, "--cluster-cidr=10.128.0.0/9")
	})
	p.setReady(t, managerName, 2)
	for n := range 2 {
		p.pods = append(p.pods, p.replica(t, p.nodes[n]))
	}
	p.component(t, "kube-apiserver", "--kubelet-preferred-address-types=InternalIP,Hostname")
	p.component(t, "kube-controller-manager", "--cloud-provider=external", "--allocate-node-cidrs=true", "--cluster-cidr=10.128.0.0/9")
	p.service(t, nil, withAddress)
	return p
}

// initialised makes a Node as if the daemon had initialised it.
func (p *patient) initialised(t *testing.T, changes ...func(*corev1.Node)) string {
	t.Helper()
	name := p.Name("doctored")
	node := nodes.NewInitialized(simulator.Instance{ID: name, Name: name, Type: "sim.small", Region: "r", Zone: "r-a"})
	node.Spec.PodCIDR = fmt.Sprintf("10.129.%s.0/24", name[strings.LastIndex(name, "-")+1:])
	node.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "10.0.0.1"}}
	for _, change := range changes {
		change(node)
	}
	p.Register(t, node)
	return name
}

// waiting makes a Node that waits to be initialised. A condition of the Node says why.
func (p *patient) waiting(t *testing.T, reason string) {
	t.Helper()
	node := nodes.New(p.Name("doctored"))
	node.Status.Conditions = append(node.Status.Conditions, corev1.NodeCondition{
		Type: nodes.ConditionInitialized, Status: corev1.ConditionFalse, Reason: reason, Message: "Why it waits.", LastTransitionTime: metav1.Now(),
	})
	p.Register(t, node)
}

// editManager changes the manager's Deployment until the end of the test.
func (p *patient) editManager(t *testing.T, change func(*appsv1.Deployment)) {
	t.Helper()
	deployments := p.Admin.AppsV1().Deployments(system)
	before, err := deployments.Get(t.Context(), managerName, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	d := before.DeepCopy()
	change(d)
	changed, err := deployments.Update(t.Context(), d, metav1.UpdateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if p.manager == nil {
		p.manager = changed
	}
	p.setReady(t, managerName, 2)
	expect.Cleanup(t, func(ctx context.Context) error {
		now, err := deployments.Get(ctx, managerName, metav1.GetOptions{})
		if err != nil {
			return err
		}
		now.Spec = before.Spec
		if _, err = deployments.Update(ctx, now, metav1.UpdateOptions{}); err != nil {
			return err
		}
		return p.ready(ctx, managerName, 2)
	})
}

// setReady writes the status that the Deployment controller would write.
func (p *patient) setReady(t *testing.T, name string, ready int32) {
	t.Helper()
	if err := p.ready(t.Context(), name, ready); err != nil {
		t.Fatal(err)
	}
}

func (p *patient) ready(ctx context.Context, name string, ready int32) error {
	deployments := p.Admin.AppsV1().Deployments(system)
	d, err := deployments.Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	replicas := *d.Spec.Replicas
	d.Status = appsv1.DeploymentStatus{ObservedGeneration: d.Generation, Replicas: replicas, UpdatedReplicas: replicas, ReadyReplicas: min(ready, replicas)}
	_, err = deployments.UpdateStatus(ctx, d, metav1.UpdateOptions{})
	return err
}

// replica makes a Pod of the manager.
func (p *patient) replica(t *testing.T, node string) string {
	t.Helper()
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: p.Name("replica"), Labels: p.manager.Spec.Template.Labels}, Spec: *p.manager.Spec.Template.Spec.DeepCopy()}
	pod.Spec.NodeName = node
	p.pod(t, pod)
	p.image(t, pod.Name, "sha256:1")
	return pod.Name
}

// component makes a Pod of the control plane.
func (p *patient) component(t *testing.T, name string, args ...string) {
	t.Helper()
	p.pod(t, &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: p.Name(name), Labels: map[string]string{"component": name}},
		Spec: corev1.PodSpec{NodeName: p.nodes[0], HostNetwork: true, Containers: []corev1.Container{
			{Name: name, Image: "registry.k8s.io/" + name + ":v1.37.1", Command: append([]string{name}, args...)},
		}},
	})
}

func (p *patient) pod(t *testing.T, pod *corev1.Pod) {
	t.Helper()
	if _, err := p.Admin.CoreV1().Pods(system).Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	expect.Cleanup(t, func(ctx context.Context) error { return p.deletePod(ctx, pod.Name) })
}

func (p *patient) deletePod(ctx context.Context, name string) error {
	err := p.Admin.CoreV1().Pods(system).Delete(ctx, name, metav1.DeleteOptions{GracePeriodSeconds: new(int64)})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// image writes the ID of the image that a replica runs, as the replica's kubelet would.
func (p *patient) image(t *testing.T, pod, id string) {
	t.Helper()
	body := fmt.Sprintf(`{"status":{"conditions":[{"type":"Ready","status":"True"}],"containerStatuses":[{"name":%q,"image":"i","imageID":%q,"ready":true,"restartCount":0}]}}`, managerName, id)
	if _, err := p.Admin.CoreV1().Pods(system).Patch(t.Context(), pod, types.MergePatchType, []byte(body), metav1.PatchOptions{}, "status"); err != nil {
		t.Fatal(err)
	}
}

// lease writes a Lease that was renewed this long ago. The Lease is deleted at the end of
// the test.
func (p *patient) lease(t *testing.T, name string, ago time.Duration) {
	t.Helper()
	p.noLease(t, name)
	at := metav1.NewMicroTime(time.Now().Add(-ago))
	_, err := p.Admin.CoordinationV1().Leases(system).Create(t.Context(), &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       coordinationv1.LeaseSpec{HolderIdentity: new("replica-a"), LeaseDurationSeconds: new(int32(15)), RenewTime: &at},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	p.leases[name] = ago
	expect.Cleanup(t, func(ctx context.Context) error { return p.deleteLease(ctx, name) })
}

// renew writes the Leases again, so that they do not become older while the test runs. On
// a busy machine, the test may need more than the minute after which "doctor" calls a
// Lease stale.
func (p *patient) renew(ctx context.Context) error {
	for name, ago := range p.leases {
		body := fmt.Sprintf(`{"spec":{"renewTime":%q}}`, time.Now().Add(-ago).UTC().Format(metav1.RFC3339Micro))
		if _, err := p.Admin.CoordinationV1().Leases(system).Patch(ctx, name, types.MergePatchType, []byte(body), metav1.PatchOptions{}); err != nil {
			return err
		}
	}
	return nil
}

func (p *patient) noLease(t *testing.T, name string) {
	t.Helper()
	if err := p.deleteLease(t.Context(), name); err != nil {
		t.Fatal(err)
	}
}

func (p *patient) deleteLease(ctx context.Context, name string) error {
	delete(p.leases, name)
	err := p.Admin.CoordinationV1().Leases(system).Delete(ctx, name, metav1.DeleteOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// withAddress is the status of a Service with a load balancer.
const withAddress = `{"loadBalancer":{"ingress":[{"ip":"192.0.2.1"}]}}`

// service makes a Service of type LoadBalancer with this status.
func (p *patient) service(t *testing.T, change func(*corev1.Service), status string) string {
	t.Helper()
	s := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: p.Name("doctored")},
		Spec:       corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer, Ports: []corev1.ServicePort{{Port: 80}}},
	}
	if change != nil {
		change(s)
	}
	services := p.Admin.CoreV1().Services(metav1.NamespaceDefault)
	if _, err := services.Create(t.Context(), s, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if status != "" {
		if _, err := services.Patch(t.Context(), s.Name, types.MergePatchType, []byte(`{"status":`+status+`}`), metav1.PatchOptions{}, "status"); err != nil {
			t.Fatal(err)
		}
	}
	expect.Cleanup(t, func(ctx context.Context) error {
		_, err := services.Patch(ctx, s.Name, types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
		if err == nil {
			err = services.Delete(ctx, s.Name, metav1.DeleteOptions{})
		}
		if apierrors.IsNotFound(err) {
			return nil
		}
		return err
	})
	return s.Name
}

// event records an event about an object.
func (p *patient) event(t *testing.T, about corev1.ObjectReference, reason string) {
	t.Helper()
	events := p.Admin.CoreV1().Events(about.Namespace)
	e := &corev1.Event{
		ObjectMeta: metav1.ObjectMeta{Name: p.Name("doctored")}, InvolvedObject: about, Type: corev1.EventTypeWarning,
		Reason: reason, Message: "What has happened.", LastTimestamp: metav1.Now(), Source: corev1.EventSource{Component: cluster.EventSources()[0]},
	}
	if _, err := events.Create(t.Context(), e, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	expect.Cleanup(t, func(ctx context.Context) error { return events.Delete(ctx, e.Name, metav1.DeleteOptions{}) })
}

// examine runs the command "doctor" in this process, and returns its report and exit code.
func (p *patient) examine(ctx context.Context, kubeconfig string, args ...string) (r doctor.Report, code int, err error) {
	command := doctor.New() //nolint:contextcheck // ExecuteContext passes it
	command.SilenceErrors, command.SilenceUsage = true, true
	var out bytes.Buffer
	command.SetOut(&out)
	command.SetErr(&out)
	command.SetArgs(append([]string{"--kubeconfig=" + kubeconfig, "--older-than=0s", "-o=json"}, args...))
	failed := command.ExecuteContext(ctx)
	if err := json.Unmarshal(out.Bytes(), &r); err != nil {
		return r, 0, errors.Join(fmt.Errorf("doctor has printed %q: %w", out.String(), err), failed)
	}
	return r, inspect.Code(failed), nil
}

// awaitCodes waits until "doctor" reports exactly these codes. A changed role takes
// effect only after a moment.
func (p *patient) awaitCodes(t *testing.T, want ...string) doctor.Report {
	t.Helper()
	var r doctor.Report
	expect.Within(t, expect.Soon, func(ctx context.Context) error {
		err := p.renew(ctx)
		if err != nil {
			return err
		}
		if r, _, err = p.examine(ctx, p.Cluster.Kubeconfig); err != nil {
			return err
		}
		codes := map[string]bool{}
		for _, f := range r.Findings {
			codes[f.ID] = true
		}
		if err := expect.Equal("codes", want, slices.Sorted(maps.Keys(codes))); err != nil {
			return fmt.Errorf("%w: findings %+v, unknown %+v", err, r.Findings, r.Unknown)
		}
		return nil
	})
	return r
}

// as gives a role to another user, and returns the path of a kubeconfig for that user.
func (p *patient) as(t *testing.T, user, role string) string {
	t.Helper()
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: p.Name("doctored")},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}},
	}
	if _, err := p.Admin.RbacV1().ClusterRoleBindings().Create(t.Context(), binding, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	config, err := clientcmd.LoadFromFile(p.Cluster.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	for _, info := range config.AuthInfos {
		info.Impersonate = user
	}
	file := filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*config, file); err != nil {
		t.Fatal(err)
	}
	return file
}
