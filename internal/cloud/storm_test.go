package cloud

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-k8s/fairlead/test/quirks"
)

// storm has many objects. For each object, a controller has to make one call.
type storm struct {
	objects, workers int
	call             func(n int) error
}

// run makes all calls. Like a controller, it repeats a failed call after a
// growing delay. events is the number of objects for which a call has failed.
func (s storm) run() (took time.Duration, events int) {
	start := time.Now()
	free := make(chan struct{}, s.workers)
	var mu sync.Mutex
	var all sync.WaitGroup
	for n := range s.objects {
		all.Go(func() {
			for failures := 0; ; failures++ {
				free <- struct{}{}
				err := s.call(n)
				<-free
				if err == nil {
					return
				}
				mu.Lock()
				if failures == 0 {
					events++
				}
				mu.Unlock()
				time.Sleep(min(500*time.Millisecond<<min(failures, 10), time.Minute))
			}
		})
	}
	all.Wait()
	return time.Since(start), events
}

// shapes has errors that clouds return when their quota is used up.
var shapes = []struct {
	name string
	err  error
}{
	{"Typed", httpError(429)},
	{"AsText", errors.New("the request was refused: too many requests")},
	{"Unreadable", errors.New("E1234")},
}

func askAbout(ctx context.Context, g *Gateway, n int) error {
	_, err := g.Instances().Metadata(ctx, node("node-"+strconv.Itoa(n)))
	return err
}

func askWhetherExists(ctx context.Context, g *Gateway, n int) error {
	_, err := g.Instances().Existence(ctx, node("node-"+strconv.Itoa(n)))
	return err
}

func createRoute(ctx context.Context, g *Gateway, n int) error {
	return g.Routes().Create(ctx, "hint", Route{CIDR: fmt.Sprintf("10.%d.%d.0/24", n/256, n%256), Node: "node-" + strconv.Itoa(n)})
}

// A tenant can choose the names and annotations of many Services, and errors can
// quote these words. The tenant must not be able to slow down the cluster in this
// way.
func TestTenantDoesNotSlowTheClusterDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		theirs := vendor{balancer: balancer(func(context.Context, string, *corev1.Service, []*corev1.Node) (*corev1.LoadBalancerStatus, error) {
			return nil, errors.New("no such tier, see quota: too many requests")
		})}
		g := gateway(t, quirks.Wrap(theirs, quirks.QuotesService), Config{})
		for n := range 50 {
			s := service("throttle-proxy-" + strconv.Itoa(n))
			s.Annotations = map[string]string{"tier": "rate limit exceeded"}
			if _, err := g.LoadBalancers().Ensure(t.Context(), s, nil); err == nil {
				t.Fatal("no error")
			}
		}
		if got := limitOf(g, "EnsureLoadBalancer"); got != 0 {
			t.Errorf("rate %v after 50 Services of one namespace have failed, want no limit", got)
		}
	})
}
