package e2e

import (
	"context"
	"testing"
	"time"

	"github.com/fairlead-k8s/fairlead/simulator"
	"github.com/fairlead-k8s/fairlead/test/internal/daemon"
	"github.com/fairlead-k8s/fairlead/test/internal/expect"
	"github.com/fairlead-k8s/fairlead/test/internal/lbservice"
	"github.com/fairlead-k8s/fairlead/test/internal/nodepool"
)

// When a node joins, the daemon adds it to the load balancers of many Services with a few
// calls (S3 c).
func TestNodeJoinsManyServices(t *testing.T) {
	const size = 30
	b := onOwn(t)
	p := nodepool.New(t, b, 3)
	s := lbservice.Services{Bed: b, Cloud: p.Cloud}
	s.Runs(t, daemon.Setup{FastPaths: true})
	for range size {
		s.Balanced(t, "shared")
	}
	awaitAll := func() {
		t.Helper()
		expect.Within(t, 2*time.Minute, func(ctx context.Context) error {
			want, err := backendsNow(ctx, s)
			if err != nil {
				return err
			}
			return allHave(ctx, s, size, want)
		})
	}
	awaitAll()
	count := func() (shared, single int64) {
		report, err := s.Cloud.Calls(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return report.Count(simulator.SetBackends), report.Count(simulator.UpdateLoadBalancer)
	}
	shared, single := count()
	p.Newcomer(t, "joins")
	awaitAll()
	sharedAfter, singleAfter := count()
	if sharedAfter == shared || sharedAfter-shared+singleAfter-single > 5 {
		t.Errorf("%d calls about many load balancers and %d about one, want a few and hardly one", sharedAfter-shared, singleAfter-single)
	}
}
