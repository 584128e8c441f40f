package e2e

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-k8s/fairlead/providers/simulated"
	"github.com/fairlead-k8s/fairlead/simulator"
	"github.com/fairlead-k8s/fairlead/test/internal/audit"
	"github.com/fairlead-k8s/fairlead/test/internal/bed"
	"github.com/fairlead-k8s/fairlead/test/internal/daemon"
	"github.com/fairlead-k8s/fairlead/test/internal/expect"
	"github.com/fairlead-k8s/fairlead/test/internal/lbservice"
	"github.com/fairlead-k8s/fairlead/test/internal/nodepool"
	"github.com/fairlead-k8s/fairlead/test/internal/nodes"
)

// ofLibraries lists the metrics in the chart's alerts and dashboard that come from
// libraries. A unit test checks the daemon's own metrics.
var ofLibraries = []string{
	`running_managed_controllers{manager="cloud-controller-manager",name=`, "rest_client_requests_total{code=",
	"process_cpu_seconds_total ", "process_resident_memory_bytes ",
}

// scene makes a daemon send every kind of request that daemons send to the API server.
// Each scene has a cloud of its own.
type scene struct {
	*bed.Bed

	cloud  *bed.Cloud
	flags  []string
	unread bool        // the scene reads no metrics
	over   func() bool // reports whether the rest of the scene would show nothing more
	mark   int64       // of the audit log
	daemon *daemon.Daemon
}

func newScene(t *testing.T, b *bed.Bed, flags []string, over func() bool) *scene {
	t.Helper()
	forget(t, b)
	s := &scene{Bed: b, cloud: b.NewCloud(t), over: over, mark: b.Audit(t).Mark(), flags: append(nodepool.Quickly(
		"--configure-cloud-routes", "--cluster-cidr=10.128.0.0/9",
		"--cloud-config-watch-period=100ms", "--node-deletion-absences=1", "--node-deletion-absent-for=0s", "--node-deletion-young-absent-for=0s",
	), flags...)}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("what the API server was asked: %q", s.requests(t).OfDaemons().Lines())
		}
	})
	return s
}

// forget deletes Leases and service accounts, so that daemons have to create them.
func forget(t *testing.T, b *bed.Bed) {
	t.Helper()
	leases, accounts := b.Admin.CoordinationV1().Leases(metav1.NamespaceSystem), b.Admin.CoreV1().ServiceAccounts(metav1.NamespaceSystem)
	var none metav1.DeleteOptions
	errs := []error{leases.Delete(t.Context(), daemon.LeaseName, none), leases.Delete(t.Context(), "cloud-provider-extraction-migration", none)}
	for _, name := range slices.Concat(audit.ControllerAccounts, audit.OptionalAccounts) {
		errs = append(errs, accounts.Delete(t.Context(), name, none))
	}
	for _, err := range errs {
		if err != nil && !apierrors.IsNotFound(err) {
			t.Fatal(err)
		}
	}
}

// accounts creates the service accounts of the controllers.
func (s *scene) accounts(t *testing.T) {
	t.Helper()
	for _, name := range audit.ControllerAccounts {
		account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: name}}
		_, err := s.Admin.CoreV1().ServiceAccounts(metav1.NamespaceSystem).Create(t.Context(), account, metav1.CreateOptions{})
		if err != nil && !apierrors.IsAlreadyExists(err) {
			t.Fatal(err)
		}
	}
}

// requests returns all requests of the scene so far.
func (s *scene) requests(t *testing.T) audit.Requests {
	t.Helper()
	return s.Audit(t).Since(s.mark)
}

// play plays the scene. It stops early if the test has failed or s.over returns true.
func (s *scene) play(t *testing.T) {
	t.Helper()
	witness := s.cloud.Instance(t, simulator.Instance{Name: s.Name("witness")})
	s.Register(t, nodes.NewInitialized(witness))
	gone, leaving := s.pairInitialised(t, "gone")
	s.daemon = s.Daemon(t, daemon.Setup{Cloud: s.cloud.URL, Elect: true, Flags: s.flags})
	for _, act := range []func(*testing.T){
		s.nodeJoins, s.volumeIsLabelled, s.certificateIsApproved, s.metricsAreRead, s.configIsRefused, s.serviceIsServed, func(t *testing.T) { s.nodeGoes(t, gone, leaving) },
	} {
		if t.Failed() || s.over() {
			return
		}
		act(t)
	}
}

// await waits until check returns nil or the scene is over.
func (s *scene) await(t *testing.T, check func(context.Context) error) {
	t.Helper()
	expect.Within(t, nodepool.GoneWithin, func(ctx context.Context) error {
		if err := check(ctx); err != nil && !s.over() {
			return err
		}
		return nil
	})
}

// metricsAreRead reads the metrics with an account that has no other rights.
func (s *scene) metricsAreRead(t *testing.T) {
	t.Helper()
	if s.unread {
		return
	}
	token := newScraper(t, s.Bed).token
	s.await(t, func(ctx context.Context) error {
		status, text := s.daemon.Ask(ctx, t, "/metrics", token)
		if status != http.StatusOK {
			return fmt.Errorf("metrics: status %d: %.200s", status, text)
		}
		for _, name := range ofLibraries {
			if !strings.Contains(text, "\n"+name) {
				return fmt.Errorf("there is no metric %s", name)
			}
		}
		return nil
	})
}

// nodeJoins waits until a new Node is initialised and has its route.
func (s *scene) nodeJoins(t *testing.T) {
	t.Helper()
	_, node := s.Pair(t, s.cloud, simulator.Instance{Name: s.Name("joins")})
	s.await(t, func(ctx context.Context) error {
		now, err := s.Admin.CoreV1().Nodes().Get(ctx, node.Name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if err := nodes.Initialized(now); err != nil {
			return err
		}
		for _, c := range now.Status.Conditions {
			if c.Type == corev1.NodeNetworkUnavailable && c.Status == corev1.ConditionFalse {
				return nil
			}
		}
		return errors.New("the network is not available")
	})
}

// configIsRefused writes a wrong configuration twice, so that an event is repeated.
func (s *scene) configIsRefused(t *testing.T) {
	t.Helper()
	refused := func(q audit.Request) bool {
		return q.Object.Resource == "events" && strings.HasPrefix(q.Object.Name, daemon.LeaseName) && q.Status.Code < http.StatusBadRequest
	}
	for n, verb := range []string{"create", "patch"} {
		mark := s.Audit(t).Mark()
		bed.WriteFile(t, s.daemon.ConfigFile(t), fmt.Sprintf("endpoint: nowhere-%d\n", n))
		s.await(t, func(context.Context) error {
			if told := s.Audit(t).Since(mark).OfDaemons().Where(refused); !slices.ContainsFunc(told, func(q audit.Request) bool { return q.Verb == verb }) {
				return fmt.Errorf("no event tells of the configuration: %v", told)
			}
			return nil
		})
	}
}

// serviceIsServed checks that a Service gets a load balancer, and that the load
// balancer follows a change of the Service.
func (s *scene) serviceIsServed(t *testing.T) {
	t.Helper()
	name := lbservice.On(s.Bed).Balanced(t, "web")
	services := s.Admin.CoreV1().Services(metav1.NamespaceDefault)
	for port := range 2 {
		s.await(t, func(ctx context.Context) error {
			service, err := services.Get(ctx, name, metav1.GetOptions{})
			if err != nil {
				return err
			}
			if service.Spec.Ports[0].Port != int32(80+port) {
				service.Spec.Ports[0].Port = int32(80 + port)
				service, err = services.Update(ctx, service, metav1.UpdateOptions{})
				if err != nil {
					return err
				}
			}
			balancers, err := s.cloud.LoadBalancers(ctx)
			if err != nil || len(balancers) != 1 || len(service.Status.LoadBalancer.Ingress) != 1 || balancers[0].Listeners[0].Port != 80+port {
				return fmt.Errorf("service %s shows %+v, there are %+v, %w", name, service.Status.LoadBalancer, balancers, err)
			}
			return nil
		})
	}
	if !s.over() {
		lbservice.On(s.Bed).Delete(t, name)
	}
}

// runs reports whether a controller that is off by default has been switched on.
func (s *scene) runs(controller string) bool {
	return slices.ContainsFunc(s.flags, func(flag string) bool {
		return strings.HasPrefix(flag, "--controllers=") && strings.Contains(flag, controller)
	})
}

// told waits for an event of the controller about the object.
func (s *scene) told(t *testing.T, controller, kind, name string) {
	t.Helper()
	s.await(t, func(ctx context.Context) error {
		events, err := s.EventsAbout(ctx, kind, name, controller)
		if err == nil && len(events) == 0 {
			err = fmt.Errorf("%s %s has no event of %s", kind, name, controller)
		}
		return err
	})
}

// certificateIsApproved checks that a certificate is approved for the Node's own
// names and addresses, and for nothing else. It does nothing if the controller does
// not run.
func (s *scene) certificateIsApproved(t *testing.T) {
	t.Helper()
	const controller = "kubelet-serving-csr-controller"
	if !s.runs(controller) || s.over() {
		return
	}
	_, node := s.Pair(t, s.cloud, simulator.Instance{Name: s.Name("serves")})
	// In the next scene, an instance of another cloud has the same provider ID. So this
	// Node is removed.
	defer func() { s.remove(t, node.Name) }()
	of := served{Bed: s.Bed, cloud: s.cloud, daemon: s.daemon}
	of.asks(t, node.Name, forgery{template: dns("victim.internal")})
	s.told(t, controller, "Node", node.Name)
	name := of.asks(t, node.Name, forgery{})
	s.await(t, func(ctx context.Context) error { return of.approved(ctx, name) })
}

func (s *scene) remove(t *testing.T, node string) {
	t.Helper()
	if err := s.Admin.CoreV1().Nodes().Delete(t.Context(), node, metav1.DeleteOptions{}); err != nil {
		t.Error(err)
	}
}

// volumeIsLabelled checks that the controller labels a volume that the cloud knows. It
// also checks that the controller records an event about a volume that the cloud does not
// know. It does nothing if the controller does not run.
func (s *scene) volumeIsLabelled(t *testing.T) {
	t.Helper()
	const controller = "persistent-volume-label-controller"
	if !s.runs(controller) {
		return
	}
	s.told(t, controller, "PersistentVolume", newPV(t, s.Bed, s.Name("unknown"), simulated.VolumeDriver, "vol-99999999"))
	name := newVolume(t, s.Bed, s.cloud, simulator.Volume{Name: s.Name("data"), Zones: []string{"sim-1b"}})
	s.await(t, func(ctx context.Context) error { return placed(ctx, s.Bed, name, "sim-1b") })
}

// pairInitialised creates an instance and its Node. The Node looks as if a daemon had
// initialised it.
func (s *scene) pairInitialised(t *testing.T, base string) (simulator.Instance, *corev1.Node) {
	t.Helper()
	i := s.cloud.Instance(t, simulator.Instance{Name: s.Name(base)})
	return i, s.Register(t, nodes.NewInitialized(i))
}

// nodeGoes terminates an instance and waits until its Node is deleted.
func (s *scene) nodeGoes(t *testing.T, i simulator.Instance, node *corev1.Node) {
	t.Helper()
	if err := s.cloud.TerminateInstance(t.Context(), i.ID); err != nil {
		t.Fatal(err)
	}
	s.silent(t, node)
	s.await(t, func(ctx context.Context) error {
		_, err := s.Admin.CoreV1().Nodes().Get(ctx, node.Name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return fmt.Errorf("node %s is still there, %w", node.Name, err)
	})
}

func (s *scene) silent(t *testing.T, node *corev1.Node) {
	t.Helper()
	p := nodepool.Pool{Bed: s.Bed}
	p.Reports(t, corev1.ConditionUnknown, time.Now().Add(-time.Minute), &nodepool.Member{Node: node})
}
