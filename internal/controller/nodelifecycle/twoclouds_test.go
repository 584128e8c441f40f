package nodelifecycle

import (
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"
)

// Two daemons for two clouds share a cluster. One cloud knows a silent Node. The other
// cloud returns an error for the Node. The daemons must not keep overwriting each
// other's condition.
func TestDaemonsOfTwoCloudsDoNotWriteInTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		east := beginRemovals(t, DefaultLimits(), old("n1"), old("n2", reports))
		defer func() { east.stop() }()
		west := &removals{
			t: t, cluster: east.cluster, absent: map[string]bool{}, busy: map[string]bool{}, down: map[string]bool{},
			fails: map[string]error{"n1": errors.New("not an ID of this cloud"), "n2": errors.New("not an ID of this cloud")}, takes: 100 * time.Millisecond,
			serves: map[string]clienttesting.ReactionFunc{},
		}
		var patches atomic.Int64
		east.on("patch", func(clienttesting.Action) (bool, runtime.Object, error) {
			if patches.Add(1) > 1000 {
				return true, nil, errors.New("too many")
			}
			return false, nil, nil
		})
		west.start(DefaultLimits())
		defer func() { west.stop() }()
		east.after(10 * time.Minute)
		if n := patches.Load(); n > 10 {
			t.Errorf("%d patches in 10 minutes", n)
		}
	})
}
