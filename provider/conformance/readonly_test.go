package conformance

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	cloudprovider "k8s.io/cloud-provider"
)

// changing is a provider's LoadBalancer and Routes. It records the calls that change
// the cloud, in order.
type changing struct {
	cloudprovider.LoadBalancer
	cloudprovider.Routes

	changes []string
	fail    error
}

func (c *changing) change(what string) error {
	c.changes = append(c.changes, what)
	return c.fail
}

func (c *changing) EnsureLoadBalancer(context.Context, string, *corev1.Service, []*corev1.Node) (*corev1.LoadBalancerStatus, error) {
	return &corev1.LoadBalancerStatus{}, c.change("ensure")
}

func (c *changing) UpdateLoadBalancer(context.Context, string, *corev1.Service, []*corev1.Node) error {
	return c.change("update")
}

func (c *changing) EnsureLoadBalancerDeleted(context.Context, string, *corev1.Service) error {
	return c.change("delete")
}

func (c *changing) CreateRoute(context.Context, string, string, *cloudprovider.Route) error {
	return c.change("create route")
}

func (c *changing) DeleteRoute(context.Context, string, *cloudprovider.Route) error {
	return c.change("delete route")
}

// parts is a provider with this load balancer and these routes.
type parts struct {
	cloudprovider.Interface

	c *changing
}

func (p parts) LoadBalancer() (cloudprovider.LoadBalancer, bool) { return p.c, true }
func (p parts) Routes() (cloudprovider.Routes, bool)             { return p.c, true }

// trialOf returns a trial of a check. The provider uses c both as its LoadBalancer and
// as its Routes.
func trialOf(t *testing.T, c *changing, check Check, options Options) *trial {
	t.Helper()
	s, err := newSuite(Target{Name: "acme", New: func(context.Context, any) (cloudprovider.Interface, error) { return parts{c: c}, nil }}, options)
	if err != nil {
		t.Fatal(err)
	}
	made := newTrial(t.Context(), s, check, nil)
	made.provider = parts{c: c}
	return made
}

func TestChecksThatDoNotWriteCannot(t *testing.T) {
	c := &changing{}
	trial := trialOf(t, c, Check{ID: "loadbalancers/reads"}, Options{})
	lb, routes := trial.loadBalancer(), trial.routes()
	_, err1 := lb.EnsureLoadBalancer(t.Context(), "c", &corev1.Service{}, nil)
	for what, err := range map[string]error{
		"ensure": err1,
		"update": lb.UpdateLoadBalancer(t.Context(), "c", &corev1.Service{}, nil),
		"delete": lb.EnsureLoadBalancerDeleted(t.Context(), "c", &corev1.Service{}),
		"create": routes.CreateRoute(t.Context(), "c", "", &cloudprovider.Route{}),
		"route":  routes.DeleteRoute(t.Context(), "c", &cloudprovider.Route{}),
	} {
		if !errors.Is(err, errReadOnly) {
			t.Errorf("%s: got %v", what, err)
		}
	}
	if len(c.changes) > 0 {
		t.Errorf("the provider was asked to %v", c.changes)
	}
}

func TestReadOnlyRunsOnlyLendMachines(t *testing.T) {
	if got := reading(&account{}); got != nil {
		t.Errorf("a world that creates machines is still %T", got)
	}
	world, ok := reading(Existing("a")).(Machines)
	if !ok {
		t.Fatal("no machines are lent")
	}
	m, err := world.CreateMachine(t.Context(), "new")
	if err != nil || m.Name != "a" || !m.Borrowed {
		t.Errorf("got %+v, error %v", m, err)
	}
	if _, err := world.CreateMachine(t.Context(), "new"); !errors.Is(err, ErrCannot) {
		t.Errorf("a second machine: got %v, want ErrCannot", err)
	}
	if err := world.TerminateMachine(t.Context(), m); !errors.Is(err, ErrCannot) {
		t.Errorf("terminate: got %v, want ErrCannot", err)
	}
}

// memory is a ledger that records its calls in the same list as the calls of the
// provider.
type memory struct{ c *changing }

func (m memory) Begin(e Entry) error { return m.c.change("begin " + string(e.Kind)) }
func (m memory) End(e Entry) error   { return m.c.change("end " + string(e.Kind)) }

func TestWhatTheProviderCreatesIsListedFirst(t *testing.T) {
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{UID: "u-1"}}
	route := &cloudprovider.Route{TargetNode: "a", DestinationCIDR: "10.0.0.0/24"}
	create := func(t *testing.T, trial *trial) {
		t.Helper()
		_, err := trial.loadBalancer().EnsureLoadBalancer(t.Context(), "c", service, nil)
		if err = errors.Join(err, trial.routes().CreateRoute(t.Context(), "c", "", route)); err != nil {
			t.Fatal(err)
		}
	}
	t.Run("CheckDeletes", func(t *testing.T) {
		c := &changing{}
		trial := trialOf(t, c, Check{ID: "loadbalancers/x", Writes: true}, Options{Ledger: memory{c}})
		create(t, trial)
		err := errors.Join(trial.loadBalancer().EnsureLoadBalancerDeleted(t.Context(), "c", service), trial.routes().DeleteRoute(t.Context(), "c", route))
		trial.finish(t.Context())
		want := []string{"begin loadBalancer", "ensure", "begin route", "create route", "delete", "end loadBalancer", "delete route", "end route"}
		if !slices.Equal(c.changes, want) || err != nil {
			t.Errorf("error %v; got %q\nwant %q", err, c.changes, want)
		}
	})
	t.Run("LedgerFails", func(t *testing.T) {
		c := &changing{fail: errors.New("the disk is full")}
		trial := trialOf(t, c, Check{ID: "loadbalancers/x", Writes: true}, Options{Ledger: memory{c}})
		_, err := trial.loadBalancer().EnsureLoadBalancer(t.Context(), "c", service, nil)
		if err == nil || slices.Contains(c.changes, "ensure") {
			t.Errorf("error %v, calls %q", err, c.changes)
		}
	})
}

// The ledger never lists a borrowed machine as one that the suite has created.
func TestBorrowedMachinesAreNotListed(t *testing.T) {
	for _, check := range Checks() {
		if check.ID != "instances/same-name-twice" {
			continue
		}
		path := filepath.Join(t.TempDir(), "made.jsonl")
		write(t, path, func(l *FileLedger) error {
			cloud := &account{machines: []Machine{{Name: "worker-1", ID: "i-1", ProviderID: "acme://i-1"}, {Name: "worker-2", ID: "i-2", ProviderID: "acme://i-2"}}}
			report, err := Run(t.Context(), Target{
				Name:  "acme",
				World: func(context.Context) (any, error) { return Existing("worker-1", "worker-2"), nil },
				New:   func(context.Context, any) (cloudprovider.Interface, error) { return cloud, nil },
			}, Options{Only: []string{check.ID}, Ledger: l})
			if err != nil || report.Checks[0].Outcome != NotRun {
				t.Errorf("error %v, report %+v", err, report)
			}
			if left, err := l.Left(); len(left) > 0 || err != nil {
				t.Errorf("left %v, error %v", left, err)
			}
			return nil
		})
	}
}
