package bed

import (
	"slices"
	"testing"

	"github.com/fairlead-k8s/fairlead/test/internal/audit"
)

// Check checks at the end of the test that the promises S6 and C1 were kept.
func (b *Bed) Check(t *testing.T) {
	t.Helper()
	mark, seen := b.Audit(t).Mark(), b.Guard.count()
	t.Cleanup(func() {
		for _, violation := range b.Guard.since(seen) {
			t.Errorf("S6: %s", violation)
		}
		all := b.Audit(t).Since(mark)
		for _, r := range all.OfUnknownUsers() {
			t.Errorf("C1: the daemon acts as %s: %s", r.User.Username, r)
		}
		for _, ours := range []func(audit.Requests) audit.Requests{audit.Requests.OfDaemons, audit.Requests.OfControllers} {
			var rights map[string]bool
			if slices.ContainsFunc(ours(all), audit.Request.IsForbidden) {
				rights = ours(b.Audit(t).Since(0)).Rights() // Of the whole log, because a watch is logged only when it ends.
			}
			for _, problem := range ours(all).OutsideEnvelope(rights) {
				t.Errorf("C1: %s", problem)
			}
		}
		b.Used.Record(t.Name(), all.OfDaemons())
		if b.playground.Ended() {
			t.Fatalf("the playground has ended:\n%s", b.playground.Tail(50))
		}
	})
}
