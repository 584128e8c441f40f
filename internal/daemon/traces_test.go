package daemon

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/cloud-provider/api"
	"k8s.io/component-base/metrics"
	"k8s.io/controller-manager/pkg/clientbuilder"

	"github.com/fairlead-k8s/fairlead/internal/daemon/provider"
	"github.com/fairlead-k8s/fairlead/internal/daemon/provider/providertest"
	"github.com/fairlead-k8s/fairlead/internal/daemon/serving"
	"github.com/fairlead-k8s/fairlead/internal/golden"
	"github.com/fairlead-k8s/fairlead/internal/kube"
)

// TestTraces runs the daemon without the flags for the ownership of Nodes. It
// follows a Node, a Service and a route. The folder testdata/traces has the expected
// requests to the API server and calls of the provider. If one of its files changes,
// the daemon's requests have changed: make such a change only on purpose, and name
// it in the commit.
func TestTraces(t *testing.T) {
	for _, tc := range []struct {
		name   string
		flag   string
		happen func(*scene)
	}{
		// Routes are off, because they would be listed at random times during the
		// minutes until the refresh.
		{"initialisation", "--configure-cloud-routes=false", initialisation},
		{"removal", "--cluster-cidr=10.244.0.0/16", removal},
		{"service", "--cluster-cidr=10.244.0.0/16", serviceLife},
		{"route", "--cluster-cidr=10.244.0.0/16 --concurrent-route-syncs=1", routeLife},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				golden.Compare(t, "testdata/traces/"+tc.name+".txt", traceOf(t, tc.flag, tc.happen), "the requests and calls of the daemon, on purpose only")
			})
		})
	}
}

// scene is a daemon between an API server and a cloud.
type scene struct {
	*apiServer

	cloud *tracedCloud
}

// traceOf runs a daemon, calls the given function, and returns the daemon's trace.
func traceOf(t *testing.T, args string, happen func(*scene)) string {
	t.Helper()
	tr := &trace{}
	s := &scene{newAPIServer(t, tr), newTracedCloud(tr)}
	config := &rest.Config{Host: "http://apiserver", Transport: s.apiServer, QPS: -1}
	config.ContentType = runtime.ContentTypeJSON
	builder := clientbuilder.SimpleControllerClientBuilder{ClientConfig: config}
	what := newProgram(plain, ours())
	parse(t, what, strings.Fields(args)...)
	ctx, stop := context.WithCancelCause(t.Context())
	p := &Process{Program: what, clients: clients{own: builder, each: builder}, Registry: metrics.NewKubeRegistry(), fail: stop}
	p.metrics = newControllerMetrics(p.Registry.MustRegister, p.Registry.CustomMustRegister)
	client := kubernetes.NewForConfigOrDie(config)
	p.informers = kube.NewInformerFactory(client, what.Settings.Controllers.ResyncPeriod(), what.Settings.Service.Policy().IsServed)
	p.current = provider.NewCurrent(nil, provider.Made{Cloud: providertest.Made(t, s.cloud), Informers: informers.NewSharedInformerFactory(client, 0)}, time.Minute, provider.Self{})
	p.health = serving.NewHealth(p.sources(ctx, client))
	go func() {
		time.Sleep(time.Second)
		happen(s)
		stop(nil)
	}()
	p.lead(ctx)
	p.informers.Shutdown()
	if err := context.Cause(ctx); err != context.Canceled { //nolint:errorlint // the error itself is expected, not one that wraps it
		t.Error(err)
	}
	return tr.String()
}

// step writes the text into the trace, calls the given function, and lets time pass.
func (s *scene) step(what string, do func(), after time.Duration) {
	s.trace.note("# %s", what)
	do()
	time.Sleep(after)
	synctest.Wait()
}

// until lets time pass, at most an hour. It returns when the given function returns
// true.
func (s *scene) until(what string, is func() bool) {
	for range 3600 {
		if is() {
			return
		}
		time.Sleep(time.Second)
		synctest.Wait()
	}
	s.t.Errorf("in an hour it has not come about that %s", what)
}

const (
	webPath = "/api/v1/namespaces/default/services/web"
	n1Path  = "/api/v1/nodes/n1"
	n2Path  = "/api/v1/nodes/n2"
)

// registers creates a Node as its kubelet does.
func (s *scene) registers(path string, edit func(*corev1.Node)) {
	name := placeOf(path).name
	s.cloud.set(func() { s.cloud.instances[name] = "10.0.0." + name[1:] })
	write(s.apiServer, path, func(n *corev1.Node) {
		n.Name, n.UID, n.CreationTimestamp = name, types.UID("uid-"+name), metav1.Now()
		n.Spec.Taints = []corev1.Taint{{Key: api.TaintExternalCloudProvider, Value: "true", Effect: corev1.TaintEffectNoSchedule}}
		setReady(n, corev1.ConditionTrue)
		edit(n)
	})
}

// isInitialised changes a Node as if it had been initialised long ago.
func isInitialised(n *corev1.Node) {
	n.CreationTimestamp = metav1.NewTime(time.Now().Add(-time.Hour))
	n.Spec.Taints, n.Spec.ProviderID = nil, "test://"+n.Name
	n.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "10.0.0." + n.Name[1:]}, {Type: corev1.NodeHostName, Address: n.Name}}
	n.Labels = map[string]string{
		corev1.LabelInstanceTypeStable: "small", corev1.LabelInstanceType: "small", corev1.LabelTopologyZone: "z1", corev1.LabelTopologyRegion: "r1",
		corev1.LabelFailureDomainBetaZone: "z1", corev1.LabelFailureDomainBetaRegion: "r1",
	}
}

// isForeign changes a Node as if another provider had initialised it.
func isForeign(n *corev1.Node) {
	isInitialised(n)
	n.Spec.ProviderID = "other://" + n.Name
}

func setReady(n *corev1.Node, status corev1.ConditionStatus) {
	n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: status, LastHeartbeatTime: metav1.Now(), LastTransitionTime: metav1.Now()}}
}

func initialisation(s *scene) {
	s.step("the kubelet registers its Node", func() { s.registers(n1Path, func(*corev1.Node) {}) }, 10*time.Second)
	s.step("the instance gets another address", func() { s.cloud.set(func() { s.cloud.instances["n1"] = "10.0.0.99" }) }, 0)
	s.until("the Node has it", func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		n := s.objects[placeOf(n1Path).object].(*corev1.Node)
		return n.Status.Addresses[0].Address == "10.0.0.99"
	})
}

func removal(s *scene) {
	s.step("three Nodes, one of another provider", func() {
		s.registers(n1Path, isInitialised)
		s.registers(n2Path, isInitialised)
		s.registers("/api/v1/nodes/n3", isForeign)
	}, 10*time.Second)
	s.step("an instance is terminated", func() {
		s.cloud.set(func() { delete(s.cloud.instances, "n2") })
		write(s.apiServer, n2Path, func(n *corev1.Node) { setReady(n, corev1.ConditionUnknown) })
	}, 0)
	s.until("its Node is deleted", func() bool { return !s.has(n2Path) })
	s.step("its Node is gone", func() {}, 5*time.Second)
}

func serviceLife(s *scene) {
	s.step("two Nodes, one of another provider", func() {
		s.registers(n1Path, isInitialised)
		s.registers("/api/v1/nodes/n3", isForeign)
	}, 10*time.Second)
	s.step("a Service is created", func() {
		write(s.apiServer, webPath, func(w *corev1.Service) {
			w.Namespace, w.Name, w.UID = "default", "web", "uid-web"
			w.Spec = corev1.ServiceSpec{
				Type: corev1.ServiceTypeLoadBalancer, ClusterIP: "10.1.0.1", ClusterIPs: []string{"10.1.0.1"}, IPFamilies: []corev1.IPFamily{corev1.IPv4Protocol},
				Ports: []corev1.ServicePort{{Name: "http", Protocol: corev1.ProtocolTCP, Port: 80, NodePort: 30080}},
			}
		})
	}, 10*time.Second)
	s.step("another Node joins", func() { s.registers(n2Path, func(*corev1.Node) {}) }, 10*time.Second)
	s.step("its port changes", func() { write(s.apiServer, webPath, func(w *corev1.Service) { w.Spec.Ports[0].Port = 81 }) }, 10*time.Second)
	s.step("it is deleted", func() {
		write(s.apiServer, webPath, func(w *corev1.Service) { now := metav1.Now(); w.DeletionTimestamp = &now })
	}, 0)
	s.until("it is gone", func() bool { return !s.has(webPath) })
	s.step("it is gone", func() {}, 5*time.Second)
}

func routeLife(s *scene) {
	cidr := func(cidr string) func(*corev1.Node) {
		return func(n *corev1.Node) {
			if n.Name == "n3" {
				isForeign(n)
			} else {
				isInitialised(n)
			}
			n.Spec.PodCIDR, n.Spec.PodCIDRs = cidr, []string{cidr}
		}
	}
	s.step("three Nodes with CIDRs, one of another provider", func() {
		s.registers(n1Path, cidr("10.244.1.0/24"))
		s.registers(n2Path, cidr("10.244.2.0/24"))
		s.registers("/api/v1/nodes/n3", cidr("10.244.3.0/24"))
	}, 10*time.Second)
	s.step("a Node is deleted", func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.remove(placeOf(n2Path))
	}, 0)
	s.until("its route is deleted", func() bool {
		s.cloud.mu.Lock()
		defer s.cloud.mu.Unlock()
		return s.cloud.routes["10.244.2.0/24"] == nil
	})
	s.step("its route is gone", func() {}, 5*time.Second)
}
