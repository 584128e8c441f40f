package cloud

import (
	"context"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/fairlead-k8s/fairlead/provider"
	"github.com/fairlead-k8s/fairlead/test/quirks"
)

// restartOf returns the reason to restart the process, or nil if there is none.
func restartOf(g *Gateway) error {
	select {
	case err := <-g.RestartNeeded():
		return err
	default:
		return nil
	}
}

// panicsForAll panics when it is asked for the metadata of any Node.
var panicsForAll = metadata(func(context.Context, *corev1.Node) (*cloudprovider.InstanceMetadata, error) { panic("lost a map") })

func TestPanicsForThreeObjectsAskForARestart(t *testing.T) {
	g := gateway(t, vendor{v2: panicsForAll}, Config{})
	for n := range 3 {
		if err := restartOf(g); err != nil {
			t.Fatalf("restart after panics for %d objects: %v", n, err)
		}
		if _, err := g.Instances().Metadata(t.Context(), node("n"+strconv.Itoa(n))); KindOf(err) != Panicked || !strings.Contains(err.Error(), "lost a map") {
			t.Errorf("error = %v, want the panic", err)
		}
	}
	if restartOf(g) == nil {
		t.Error("no restart after panics for three objects")
	}
}

// Even if many objects of one tenant or of two machines make the provider panic, they
// do not end the process. Otherwise they would end one replica after the other, and no
// object would be served.
func TestPanicsForObjectsOfOneOwnerAskForNoRestart(t *testing.T) {
	odd := func(name string) bool { return strings.HasPrefix(name, "odd") }
	v := vendor{
		v2: batching{
			metadata: func(_ context.Context, n *corev1.Node) (*cloudprovider.InstanceMetadata, error) {
				if odd(n.Name) {
					panic("an odd Node")
				}
				return &cloudprovider.InstanceMetadata{}, nil
			},
			answer: func([]*corev1.Node) ([]provider.InstanceMetadataAnswer, error) { panic("one of the Nodes is odd") },
		},
		balancer: balancer(func(context.Context, string, *corev1.Service, []*corev1.Node) (*corev1.LoadBalancerStatus, error) {
			panic("an odd Service")
		}),
		routes: panickingTable{},
	}
	for _, tt := range []struct {
		name string
		do   func(g *Gateway)
	}{
		{"ServicesOfATenant", func(g *Gateway) {
			for n := range 20 {
				_, _ = g.LoadBalancers().Ensure(t.Context(), service("s"+strconv.Itoa(n)), nil)
			}
		}},
		{"TwoNodesInABatch", func(g *Gateway) {
			g.Instances().Refresh(t.Context(), []*corev1.Node{node("odd-1"), node("plain"), node("odd-2")})
		}},
		{"ANodeAndItsRoutes", func(g *Gateway) {
			_, _ = g.Instances().Metadata(t.Context(), node("odd-1"))
			for _, cidr := range []string{"10.244.1.0/24", "fd00:0:0:1::/64"} {
				_ = g.Routes().Create(t.Context(), "u", Route{Node: "odd-1", CIDR: cidr})
			}
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			g := gateway(t, v, Config{})
			tt.do(g)
			if err := restartOf(g); err != nil {
				t.Error(err)
			}
			_, _ = g.Instances().Metadata(t.Context(), node("odd-3"))
			_, _ = g.Instances().Metadata(t.Context(), node("odd-4"))
			if restartOf(g) == nil {
				t.Error("no restart after panics for the objects of three owners")
			}
		})
	}
}

// If the provider panics for one Node, that does not end the process. The gateway
// asks about the Node again after 1 minute, then after 5 minutes, and then every
// 15 minutes.
func TestObjectThatPanicsIsLeftAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		var asked []time.Duration
		odd := quirks.Wrap(vendor{v2: metadata(func(context.Context, *corev1.Node) (*cloudprovider.InstanceMetadata, error) {
			return &cloudprovider.InstanceMetadata{}, nil
		})}, quirks.PanicsFor("odd"))
		g := gateway(t, vendor{v2: metadata(func(ctx context.Context, n *corev1.Node) (*cloudprovider.InstanceMetadata, error) {
			if n.Name == "odd" {
				asked = append(asked, time.Since(began))
			}
			inner, _ := odd.InstancesV2()
			return inner.InstanceMetadata(ctx, n)
		})}, Config{})
		for time.Since(began) < 40*time.Minute {
			_, err := g.Instances().Metadata(t.Context(), node("odd"))
			if KindOf(err) != Panicked || RetryAfter(err) <= 0 {
				t.Fatalf("error %v with a pause of %v, want the panic and when to ask again", err, RetryAfter(err))
			}
			if _, err := g.Instances().Metadata(t.Context(), node("plain")); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Second)
		}
		if diff := cmp.Diff([]time.Duration{0, time.Minute, 6 * time.Minute, 21 * time.Minute, 36 * time.Minute}, asked); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
		changed := node("odd")
		changed.Spec.ProviderID = "p://1"
		_, _ = g.Instances().Metadata(t.Context(), changed)
		if len(asked) != 6 {
			t.Error("the Node was left alone although it has changed")
		}
		if err := restartOf(g); err != nil {
			t.Errorf("one odd Node ends the process: %v", err)
		}
	})
}

func TestPanicsDecay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := gateway(t, vendor{v2: panicsForAll}, Config{})
		for n := range 6 {
			_, _ = g.Instances().Metadata(t.Context(), node("n"+strconv.Itoa(n)))
			time.Sleep(panicsCountFor / 2)
		}
		if err := restartOf(g); err != nil {
			t.Errorf("no three objects panicked within %v: %v", panicsCountFor, err)
		}
	})
}

func TestPanicsAboutNoObjectCountEach(t *testing.T) {
	g := gateway(t, vendor{routes: panickingTable{}}, Config{})
	for range 3 {
		_, _ = g.Routes().List(t.Context())
	}
	if restartOf(g) == nil {
		t.Error("no restart after three panics")
	}
}

// panickingTable is a Routes that panics when its routes are listed.
type panickingTable struct{ cloudprovider.Routes }

func (panickingTable) ListRoutes(context.Context, string) ([]*cloudprovider.Route, error) {
	panic("lost a map")
}

func (panickingTable) CreateRoute(context.Context, string, string, *cloudprovider.Route) error {
	panic("an odd route")
}

// After each panic for a Service, RetryAfter of the error tells the controller how long
// to wait.
func TestPanicOfAChangeNamesAPause(t *testing.T) {
	l := balancers(t, balancer(func(context.Context, string, *corev1.Service, []*corev1.Node) (*corev1.LoadBalancerStatus, error) {
		panic("no")
	}), Config{})
	for _, want := range []time.Duration{time.Minute, 5 * time.Minute, 15 * time.Minute, 15 * time.Minute} {
		if err := l.Update(t.Context(), service("s"), nil); RetryAfter(err) != want {
			t.Errorf("error %v with a pause of %v, want %v", err, RetryAfter(err), want)
		}
	}
	if err := restartOf(l.gateway); err != nil {
		t.Errorf("one odd Service ends the process: %v", err)
	}
}

func TestHangAfterAPanicAsksForARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		calls := 0
		v := vendor{v2: metadata(func(context.Context, *corev1.Node) (*cloudprovider.InstanceMetadata, error) {
			if calls++; calls == 1 {
				panic("with the lock taken")
			}
			<-release
			return &cloudprovider.InstanceMetadata{}, nil
		})}
		g := gateway(t, v, Config{ReadTimeout: time.Minute})
		for n := range 2 {
			_, _ = g.Instances().Metadata(t.Context(), node("n"+strconv.Itoa(n)))
		}
		select {
		case err := <-g.RestartNeeded():
			t.Errorf("restart before the deadline: %v", err)
		default:
		}
		select {
		case err := <-g.RestartNeeded():
			t.Log(err)
		case <-time.After(2 * time.Minute):
			t.Error("no restart although a call hangs after a panic")
		}
		close(release)
	})
}

func TestHangAloneAsksForNoRestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		v := vendor{v2: metadata(func(context.Context, *corev1.Node) (*cloudprovider.InstanceMetadata, error) {
			<-release
			return &cloudprovider.InstanceMetadata{}, nil
		})}
		g := gateway(t, v, Config{ReadTimeout: time.Minute})
		_, _ = g.Instances().Metadata(t.Context(), node("n"))
		time.Sleep(time.Hour)
		select {
		case err := <-g.RestartNeeded():
			t.Errorf("restart for a hang: %v", err)
		default:
		}
		close(release)
	})
}
