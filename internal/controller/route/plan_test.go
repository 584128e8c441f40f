package route

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/fairlead-k8s/fairlead/internal/controller/ownership"
	"github.com/fairlead-k8s/fairlead/internal/controller/step"
	"github.com/fairlead-k8s/fairlead/internal/kube"
)

// planning returns a function that makes a plan and returns its steps, one in each
// line.
func (b *bed) planning() (plan func() []string, stop func()) {
	ctx, cancel := context.WithCancel(b.t.Context())
	informers := kube.NewInformerFactory(b.cluster, 0, nil)
	informer := informers.Core().V1().Nodes()
	c := New(Deps{Nodes: kube.NewNodes(ctx, b.cluster, informer), Informer: informer, Routes: b, Events: b}, b.config)
	known, forget, err := c.Follow(ctx)
	if err != nil {
		b.t.Fatal(err)
	}
	informers.StartWithContext(ctx)
	cache.WaitForCacheSync(ctx.Done(), known)
	return func() (lines []string) {
			steps, err := c.Plan(ctx, c.Keys()[0])
			if err != nil {
				b.t.Fatal(err)
			}
			for _, s := range steps {
				if s.Effect != step.None {
					lines = append(lines, strings.Join(slices.Concat([]string{string(s.Effect), s.Object, s.Reason}, s.Calls, s.Writes), " "))
				}
			}
			return lines
		}, func() {
			cancel()
			_ = c.passes.Run(ctx) // The context has ended, so Run ends the queue. Otherwise the bubble would wait for the queue's goroutines.
			_ = c.jobs.Run(ctx)
			_ = c.patches.Run(ctx)
			forget()
			informers.Shutdown()
		}
}

// A wrong --cluster-cidr changes nothing at first, because routes outside of it stay. The
// plan still shows that the flag is wrong.
func TestPlanShowsAWrongClusterCIDR(t *testing.T) {
	other := newNode(1)
	other.Labels = map[string]string{ownership.LabelExclude: "true"}
	everywhere := DefaultLimits()
	everywhere.CreateOutside = true
	for name, row := range map[string]struct {
		node   *corev1.Node
		limits Limits
		to     string // the destination of the route
		want   []string
	}{
		"OwnNode":                 {newNode(1), DefaultLimits(), "10.244.1.0/24", []string{"wait routes PodCIDRRejected"}},
		"RoutesOutsideAreCreated": {newNode(1), everywhere, "10.244.1.0/24", nil},
		"NodeOfAnotherManager":    {other, DefaultLimits(), "10.244.1.0/24", nil},
		"RouteMadeByHand":         {newNode(1), DefaultLimits(), "192.168.0.0/24", nil},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := prepare(t, Config{Clusters: []netip.Prefix{netip.MustParsePrefix("10.245.0.0/16")}, Limits: row.limits}, row.node)
				b.locked(func() { b.addRoute("node-1", row.to) })
				plan, stop := b.planning()
				if diff := cmp.Diff(row.want, plan()); diff != "" {
					t.Errorf("-want +got:\n%s", diff)
				}
				stop()
			})
		})
	}
}

// The first plan holds the stray routes. Listings agree after a while, and the next
// plan removes the routes. A controller that is started after that does what the plan
// says.
func TestPlanOfTheTable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := prepare(t, Config{}, newNode(1), bare(2))
		b.locked(func() {
			b.addRoute("node-1", "10.244.1.0/24")
			b.addRoute("gone", "10.244.9.0/24").stray = time.Now()
		})
		plan, stop := b.planning()
		created := "create route/10.244.2.0/24  CreateRoute condition NetworkUnavailable=False (RouteCreated) on node/node-2"
		for range 2 { // The plan was not carried out, so it is the same again.
			if diff := cmp.Diff([]string{created, "wait route/10.244.9.0/24 "}, plan()); diff != "" {
				t.Errorf("first look (-want +got):\n%s", diff)
			}
		}
		time.Sleep(DefaultLimits().StrayFor + time.Second)
		if diff := cmp.Diff([]string{created, "delete route/10.244.9.0/24  DeleteRoute"}, plan()); diff != "" {
			t.Errorf("second look (-want +got):\n%s", diff)
		}
		b.locked(func() {
			for _, call := range b.calls {
				if call != "list" {
					t.Errorf("plan has made the call %s", call)
				}
			}
			if len(b.writes)+len(b.events) > 0 {
				t.Errorf("plan has written %q and recorded %q", b.writes, b.events)
			}
			b.fail = func(string) error { return errors.New("broken") }
		})
		time.Sleep(2 * time.Minute)
		if got := plan(); len(got) == 0 || got[0] != "wait routes Failed" {
			t.Errorf("with a cloud that fails: %q", got)
		}
		stop()

		b.locked(func() { b.fail = func(string) error { return nil } })
		b.start()
		time.Sleep(2 * time.Minute)
		if diff := cmp.Diff([]string{"10.244.1.0/24 node-1", "10.244.2.0/24 node-2"}, b.routes()); diff != "" {
			t.Errorf("routes (-want +got):\n%s", diff)
		}
		if !slices.Equal(b.writes, []string{"node-2 False"}) {
			t.Errorf("writes %q", b.writes)
		}
		b.stop()
	})
}
