package e2e

import (
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-k8s/fairlead/simulator"
	"github.com/fairlead-k8s/fairlead/test/internal/bed"
	"github.com/fairlead-k8s/fairlead/test/internal/daemon"
	"github.com/fairlead-k8s/fairlead/test/internal/expect"
	"github.com/fairlead-k8s/fairlead/test/internal/lbservice"
	"github.com/fairlead-k8s/fairlead/test/internal/nodes"
	"github.com/fairlead-k8s/fairlead/test/internal/proxy"
	"github.com/fairlead-k8s/fairlead/test/internal/replicas"
)

func servicePatches(r proxy.Request) bool {
	return r.Method == http.MethodPatch && strings.Contains(r.Path, "/services/")
}

// A leader is frozen for longer than its lease. It was in the middle of two tasks: it had
// made the first of two writes for a Node, and it had given a Service its finalizer, but
// had not yet called the cloud for the Service. Another replica takes over. When the
// frozen leader continues, it begins no more writes or calls, and exits (S7).
func TestFrozenLeaderBeginsNothing(t *testing.T) {
	b := onShared(t)
	s := lbservice.New(t, b, 1)
	leader, _ := replicas.Pair(t, b, s.Cloud, s.Of(daemon.Setup{}))
	joins(t, b, s.Cloud, expect.Soon)
	halfNode := leader.API.Trap(statusPatches, 1, proxy.After)
	i, node := b.Pair(t, s.Cloud, simulator.Instance{Name: b.Name("half")})
	bed.AwaitTrap(t, halfNode)
	halfService := leader.API.Trap(servicePatches, 1, proxy.After)
	name := s.Balanced(t, "half")
	bed.AwaitTrap(t, halfService)

	leader.Signal(syscall.SIGSTOP)
	b.AwaitNode(t, node.Name, crashHandOver+noise, nodes.As(i, nodes.AddressesOf(i)...))
	s.AwaitService(t, name, expect.Soon, lbservice.Showing(lbservice.ConditionServing, metav1.ConditionTrue, "Ready"))
	halfNode.Release()
	halfService.Release()
	woken := time.Now()
	leader.Signal(syscall.SIGCONT)
	if code := leader.AwaitExit(t, noise); code == 0 {
		t.Error("the leader that lost its lease has ended with code 0")
	}
	for _, r := range append(leader.API.Requests(mutations), leader.Cloud.Requests(ofBalancers)...) {
		if r.Began.After(woken) {
			t.Errorf("S7: the leader that was frozen began %s %s beside the other", r.Method, r.Path)
		}
	}
}
