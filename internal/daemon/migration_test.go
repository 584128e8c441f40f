package daemon

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/fairlead-k8s/fairlead/internal/daemon/election"
	"github.com/fairlead-k8s/fairlead/internal/daemon/election/electiontest"
	"github.com/fairlead-k8s/fairlead/internal/daemon/provider/providertest"
)

const planHead = "kind: LeaderMigrationConfiguration\napiVersion: controllermanager.config.k8s.io/"

func TestPlacement(t *testing.T) {
	const entries = "leaderName: m\ncontrollerLeaders:\n"
	for _, tc := range []struct {
		name string
		plan string // "": the default
		want string
	}{
		{"DefaultMovesThreeByAnyName", "", "cloud-node-controller:main cloud-node-lifecycle-controller:migration service-lb-controller:migration node-route-controller:migration kubelet-serving-csr-controller:main persistent-volume-label-controller:main node-ipam-controller:main"},
		{"NewestName", "v1\n" + entries + "- {name: service-lb-controller, component: cloud-controller-manager}", "cloud-node-controller:main cloud-node-lifecycle-controller:main service-lb-controller:migration node-route-controller:main kubelet-serving-csr-controller:main persistent-volume-label-controller:main node-ipam-controller:main"},
		{"Alias", "v1beta1\nresourceLock: leases\n" + entries + "- {name: route, component: '*'}", "cloud-node-controller:main cloud-node-lifecycle-controller:main service-lb-controller:main node-route-controller:migration kubelet-serving-csr-controller:main persistent-volume-label-controller:main node-ipam-controller:main"},
		{"OfAnotherComponent", "v1alpha1\nresourceLock: leases\n" + entries + "- {name: service, component: kube-controller-manager}", "cloud-node-controller:main cloud-node-lifecycle-controller:main service-lb-controller:elsewhere node-route-controller:main kubelet-serving-csr-controller:main persistent-volume-label-controller:main node-ipam-controller:main"},
		{"LastEntryCounts", "v1\n" + entries + "- {name: service, component: x}\n- {name: service-controller, component: '*'}", "cloud-node-controller:main cloud-node-lifecycle-controller:main service-lb-controller:migration node-route-controller:main kubelet-serving-csr-controller:main persistent-volume-label-controller:main node-ipam-controller:main"},
		{"SharedClientNameIsNoName", "v1\n" + entries + "- {name: node-controller, component: x}", "cloud-node-controller:main cloud-node-lifecycle-controller:main service-lb-controller:main node-route-controller:main kubelet-serving-csr-controller:main persistent-volume-label-controller:main node-ipam-controller:main"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			args := "--cloud-provider=test --enable-leader-migration"
			if tc.plan != "" {
				args += " --leader-migration-config=" + planFile(t, planHead+tc.plan)
			}
			o := parsed(t, args)
			if err := o.Validate(); err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, r := range ours() {
				where := map[election.Placement]string{election.UnderMainLease: "main", election.UnderMigrationLease: "migration", election.Elsewhere: "elsewhere"}
				got = append(got, r.Name+":"+where[o.place(r.Name)])
			}
			if diff := cmp.Diff(tc.want, strings.Join(got, " ")); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func planFile(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "migration.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestWrongPlans(t *testing.T) {
	for _, tc := range []struct {
		name string
		plan string
		want []string
	}{
		{"UnknownField", "v1\nleaderName: m\ncolour: red", []string{`unknown field "colour"`}},
		{"AllThatIsMissing", "v1\ncontrollerLeaders: [{}]", []string{"leaderName: Required", "controllerLeaders[0].component: Required", "controllerLeaders[0].name: Required"}},
		{"OnlyLeases", "v1beta1\nleaderName: m\nresourceLock: endpoints", []string{`resourceLock: only "leases" exists`}},
		{"AnotherKind", "v2", []string{"no kind"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			file := planFile(t, planHead+tc.plan)
			err := parsed(t, "--cloud-provider=test --enable-leader-migration --leader-migration-config="+file).Validate()
			for _, want := range append(tc.want, "--leader-migration-config="+file) {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("got %v, want %s", err, want)
				}
			}
		})
	}
}

// replica returns a replica and its lock. The replica takes part in the election for
// the Lease l.
func replica(t *testing.T, l *electiontest.Lease) (*election.Election, *electiontest.Lock) {
	t.Helper()
	k := l.Lock("me")
	e, err := election.New(electiontest.Config(), k)
	if err != nil {
		t.Fatal(err)
	}
	return e, k
}

// migrating returns a process with two controllers, the context of its work,
// and its lock on the second lease. The second controller runs under that
// lease.
func migrating(t *testing.T, main, second *electiontest.Lease, work func(context.Context, string) error) (*Process, context.Context, *electiontest.Lock) {
	t.Helper()
	run := func(name string) Runner {
		return &fakeController{run: func(ctx context.Context) error { return work(ctx, name) }}
	}
	p, ctx := newTestProcess(t, &providertest.Cloud{}, table{register("a", run("a")), register("b", run("b"))})
	file := planFile(t, planHead+"v1\nleaderName: m\ncontrollerLeaders: [{name: b, component: '*'}]")
	parse(t, p.Program, "--enable-leader-migration", "--leader-migration-config="+file)
	if err := p.Validate(); err != nil {
		t.Fatal(err)
	}
	p.election, _ = replica(t, main)
	var k *electiontest.Lock
	p.migration, k = replica(t, second)
	return p, ctx, k
}

func TestMigrationWaitsForItsOwnLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var d diary
		main, second := &electiontest.Lease{}, electiontest.Held("kube-controller-manager", 15)
		began := time.Now()
		p, ctx, _ := migrating(t, main, second, func(ctx context.Context, name string) error {
			d.note(fmt.Sprintf("%s within 5s: %t", name, time.Since(began) < 5*time.Second))
			return untilStopped(ctx)
		})
		time.AfterFunc(time.Minute, func() {
			if main.Holder() != "me" || second.Holder() != "me" {
				t.Errorf("the leases are held by %q and %q", main.Holder(), second.Holder())
			}
			p.fail(nil)
		})
		if err := p.election.Run(ctx, p.lead); err != nil {
			t.Error(err)
		}
		if diff := cmp.Diff([]string{"a within 5s: true", "b within 5s: false"}, d.entries); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
		if main.Holder() != "" || second.Holder() != "" {
			t.Errorf("the leases are still held by %q and %q", main.Holder(), second.Holder())
		}
	})
}

// Because lead waits for runMigrated, the process holds the main lease until the
// migrated work has ended.
func TestMigratedWorkIsAwaitedWithoutALimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		p, ctx, _ := migrating(t, &electiontest.Lease{}, &electiontest.Lease{}, func(context.Context, string) error {
			<-release
			return nil
		})
		time.AfterFunc(time.Minute, func() { p.fail(nil) })
		time.AfterFunc(time.Hour, func() { close(release) })
		began := time.Now()
		p.runMigrated(ctx, []started{{registration: p.controllers[1], controller: &fakeController{run: func(context.Context) error {
			<-release
			return nil
		}}}})
		if took := time.Since(began); took < time.Hour {
			t.Errorf("returned after %v, with a call in flight", took)
		}
	})
}

func TestMigratedWorkInFlightKeepsBothLeases(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		main, second := &electiontest.Lease{}, &electiontest.Lease{}
		release := make(chan struct{})
		p, ctx, _ := migrating(t, main, second, func(ctx context.Context, name string) error {
			<-ctx.Done()
			if name == "b" {
				<-release
			}
			return nil
		})
		time.AfterFunc(time.Minute, func() { p.fail(nil) })
		if err := p.election.Run(ctx, p.lead); !errors.Is(err, election.ErrNotDrained) {
			t.Errorf("got %v, want %v", err, election.ErrNotDrained)
		}
		if main.Holder() != "me" || second.Holder() != "me" {
			t.Errorf("the leases are held by %q and %q", main.Holder(), second.Holder())
		}
		close(release)
	})
}

func TestLostMigrationLeaseEndsTheProcessAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, ctx, k := migrating(t, &electiontest.Lease{}, &electiontest.Lease{}, func(ctx context.Context, name string) error {
			<-ctx.Done()
			if name == "b" {
				time.Sleep(time.Minute) // a call that is still in flight when another component may have taken over
			}
			return nil
		})
		cut := time.Now().Add(time.Minute)
		time.AfterFunc(time.Minute, func() { k.Cut.Store(true) })
		time.AfterFunc(10*time.Minute, func() { p.fail(errors.New("far too late")) })
		if err := p.election.Run(ctx, p.lead); !errors.Is(err, election.ErrLeaseLost) {
			t.Errorf("got %v, want %v", err, election.ErrLeaseLost)
		}
		if took := time.Since(cut); took > 15*time.Second {
			t.Errorf("the process went on for %v", took)
		}
		p.fail(nil)
		time.Sleep(time.Minute)
	})
}

func TestOnlyTheLeaderInitializesTheProviderAndOnce(t *testing.T) {
	held := func() *electiontest.Lease {
		return electiontest.Held("another", 3600)
	}
	for _, tc := range []struct {
		name string
		main *electiontest.Lease
		want int
	}{
		{"LeaderWithTwoLeases", &electiontest.Lease{}, 1},
		{"Standby", held(), 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p, ctx, _ := migrating(t, tc.main, &electiontest.Lease{}, func(ctx context.Context, _ string) error { return untilStopped(ctx) })
				got := 0
				p.use(t, &providertest.Cloud{OnInitialize: func(<-chan struct{}) { got++ }}, informers.NewSharedInformerFactory(fake.NewClientset(), 0))
				time.AfterFunc(time.Minute, func() { p.fail(nil) })
				if err := p.election.Run(ctx, p.lead); err != nil {
					t.Error(err)
				}
				if got != tc.want {
					t.Errorf("initialised %d times, want %d", got, tc.want)
				}
			})
		})
	}
}
