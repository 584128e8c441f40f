package certificate

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-k8s/fairlead/internal/controller/requestfact"
)

func requestOf(node, name string, age int) *certificatesv1.CertificateSigningRequest {
	return &certificatesv1.CertificateSigningRequest{
		ObjectMeta: metav1.ObjectMeta{Name: name, CreationTimestamp: metav1.NewTime(noon.Add(time.Duration(-age) * time.Second))},
		Spec:       certificatesv1.CertificateSigningRequestSpec{Username: requestfact.NodePrefix + node, Groups: []string{requestfact.NodeGroup}},
	}
}

func decided(r *certificatesv1.CertificateSigningRequest) *certificatesv1.CertificateSigningRequest {
	r = r.DeepCopy()
	r.Status.Conditions = []certificatesv1.CertificateSigningRequestCondition{{Type: certificatesv1.CertificateApproved, Status: corev1.ConditionTrue}}
	return r
}

// TestPendingIsARecount makes random changes. After each change, it compares pending
// with a count of all requests.
func TestPendingIsARecount(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 14))
	var p pending
	all := map[string]*certificatesv1.CertificateSigningRequest{}
	for range 3000 {
		name := fmt.Sprint("r", random.IntN(40))
		r, ok := all[name]
		switch {
		case !ok:
			all[name] = requestOf([]string{"a", "b", ""}[random.IntN(3)], name, random.IntN(10))
			p.set(all[name])
		case random.IntN(3) == 0:
			p.set(decided(r))
			delete(all, name)
		case random.IntN(2) == 0:
			p.remove(r)
			delete(all, name)
		default:
			p.set(r)
		}
		for _, node := range []string{"a", "b", "c"} {
			checkPending(t, &p, node, all)
		}
	}
	for _, r := range all {
		p.remove(r)
	}
	if len(p.byNode) > 0 {
		t.Errorf("%d Nodes are remembered after their last request", len(p.byNode))
	}
}

func checkPending(t *testing.T, p *pending, node string, all map[string]*certificatesv1.CertificateSigningRequest) {
	t.Helper()
	var own []*certificatesv1.CertificateSigningRequest
	for _, r := range all {
		if requestfact.RequesterOf(r) == node {
			own = append(own, r)
		}
	}
	slices.SortFunc(own, func(a, b *certificatesv1.CertificateSigningRequest) int {
		return cmp.Or(b.CreationTimestamp.Compare(a.CreationTimestamp.Time), cmp.Compare(b.Name, a.Name))
	})
	var want []string
	for n, r := range own {
		if n < 3 {
			want = append(want, r.Name)
		}
		if got := p.newer(r, 3); got != min(n, 3) {
			t.Errorf("%d requests are newer than %s, want %d", got, r.Name, min(n, 3))
		}
	}
	if got := p.newest(node, 3); !slices.Equal(got, want) {
		t.Errorf("newest requests of %q: %v, want %v", node, got, want)
	}
}

// TestManyRequestsOfOneKubelet checks that a pass and a change of the Node do not go
// through all requests of a kubelet. It counts allocations, because a list of all
// requests would need many.
func TestManyRequestsOfOneKubelet(t *testing.T) {
	work := func(requests int) float64 {
		var p pending
		for n := range requests {
			p.set(requestOf("a", fmt.Sprint("r", n), n))
		}
		oldest := requestOf("a", fmt.Sprint("r", requests-1), requests-1)
		return testing.AllocsPerRun(10, func() {
			p.newer(oldest, 3)
			p.newest("a", 3)
		})
	}
	if few, many := work(10), work(20_000); many > few {
		t.Errorf("%v allocations with 20,000 requests, %v with 10", many, few)
	}
}
