package certificate

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	certificatesv1 "k8s.io/api/certificates/v1"

	"github.com/fairlead-k8s/fairlead/internal/controller/requestfact"
	"github.com/fairlead-k8s/fairlead/internal/controller/step"
)

func TestRecall(t *testing.T) {
	made := noon.Add(-time.Second)
	for name, row := range map[string]struct {
		o    observed
		want step.Memory
	}{
		"AddressThatTheCloudDoesNotKnow": {
			situation(csr(t), unasked, func(o *observed) { o.memory = memory{uid: o.request.UID, reason: addressUnproven.Name, vain: 3} }),
			step.Memory{Do: "ask the cloud", Reason: "AddressUnproven", Since: made, Attempts: 3},
		},
		"NodeThatIsMissing": {
			situation(csr(t), unasked, func(o *observed) {
				o.node, o.memory = nil, memory{uid: o.request.UID, reason: noNode.Name}
			}),
			step.Memory{Do: "wait", Reason: "NoNode", Text: `There is no Node "a".`, Since: made, NextLook: made.Add(requestfact.LongestPending)},
		},
		"RequestThatIsDecided": {
			situation(csr(t, stored(func(r *certificatesv1.CertificateSigningRequest) {
				r.Status.Conditions = []certificatesv1.CertificateSigningRequestCondition{{Type: certificatesv1.CertificateApproved}}
			})), unasked, func(o *observed) { o.memory = memory{uid: o.request.UID, reason: noNode.Name} }),
			step.Memory{Do: "nothing", Reason: "NoNode", Since: made},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if d := cmp.Diff(row.want, row.o.recall()); d != "" {
				t.Errorf("-want +got:\n%s", d)
			}
		})
	}
}

// Recall returns nothing for a request that is approved or gone, and nothing for a new
// request with the name of an earlier one.
func TestRecallOfRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := begin(t, DefaultLimits(), node("a"))
		l.create(csr(t))
		l.create(csr(t, named("csr-2"), addresses("10.0.0.9")))
		time.Sleep(3 * time.Second) // Two questions about one Node are at least half a second apart.
		for name, want := range map[string]bool{"csr-1": false, "csr-2": true, "gone": false} {
			m, ok := l.made.Recall(name)
			if ok != want || ok && (m.Reason != addressUnproven.Name || m.Attempts == 0) {
				t.Errorf("%s: %+v, remembered %v", name, m, ok)
			}
		}
		questions := l.cloud.questions()
		l.made.mu.Lock()
		l.made.remembered.requests["csr-2"] = memory{uid: "another", reason: noNode.Name}
		l.made.mu.Unlock()
		if m, ok := l.made.Recall("csr-2"); ok || l.cloud.questions() != questions {
			t.Errorf("a new request of the same name: %+v, remembered %v, %d questions", m, ok, l.cloud.questions()-questions)
		}
	})
}
