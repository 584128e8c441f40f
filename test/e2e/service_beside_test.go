package e2e

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-k8s/fairlead/simulator"
)

// TestServicesSideBySide has what mostly waits: daemons that share a bed and
// its Nodes, each with a class of Services and a cloud of its own.
func TestServicesSideBySide(t *testing.T) {
	b := onOwn(t)
	b.hosts(t)
	for _, c := range []struct {
		name string
		run  func(*testing.T, *bed)
	}{
		{"LostReplyAtEachCall", faultAtEachCall(simulator.FaultLostReply)},
		{"ErrorAtEachCall", faultAtEachCall(simulator.FaultError)},
		{"HangAtEachCall", faultAtEachCall(simulator.FaultHang)},
		{"HandOverWaitsForTheCloud", handOverWaitsForTheCloud},
		{"CloudThatIsNeverDoneKeepsTheLease", cloudThatIsNeverDoneKeepsTheLease},
		{"CallPastItsDeadlineKeepsTheLease", callPastItsDeadlineKeepsTheLease},
		{"LeaderIsKilledWhileTheCloudIsAtIt", leaderIsKilledWhileTheCloudIsAtIt},
		{"LocalTrafficPolicy", localTrafficPolicy},
		{"ProvidedElsewhere", providedElsewhere},
		{"ContestedStatus", contestedStatus},
		{"ContestedFinalizer", contestedFinalizer},
		{"QuotaIsExhausted", quotaIsExhausted},
		{"ProviderPanics", providerPanics},
		{"ProviderReturnsNil", providerReturnsNil},
		{"ProviderHangs", providerHangs},
		{"TwoClustersInOneAccount", twoClustersInOneAccount},
		{"DriftIsFound", driftIsFound},
		{"RecreatedUnderItsName", recreatedUnderItsName},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.run(t, b)
		})
	}
}

// hosts registers the Nodes behind the load balancers of all classes.
func (b *bed) hosts(t *testing.T) {
	t.Helper()
	for n := range hostIDs() {
		node := plain(b.name("host"))
		node.Spec = corev1.NodeSpec{ProviderID: providerID(simulator.Instance{Region: "sim-1", ID: hostIDs()[n]})}
		b.register(t, node)
	}
}

// hostIDs are those that each cloud gives first.
func hostIDs() []string { return []string{"i-00000001", "i-00000002"} }

// classed are Services of a class of their own, in a cloud of their own that
// has the instances of the bed's Nodes.
func (b *bed) classed(t *testing.T, flags ...string) services {
	t.Helper()
	s := services{bed: b, cloud: b.idleCloud(t, flags...), class: "e2e/" + b.name("class")}
	for _, id := range hostIDs() {
		i, err := s.cloud.CreateInstance(t.Context(), simulator.Instance{Name: "host-" + id}) // it ends with the cloud
		if err != nil || i.ID != id {
			t.Fatalf("the cloud gives the ID %s, want %s; error %v", i.ID, id, err)
		}
		s.hosts = append(s.hosts, i)
	}
	return s
}

// idleCloud is one whose load balancers carry no traffic.
func (b *bed) idleCloud(t *testing.T, flags ...string) *cloud {
	t.Helper()
	return b.bareCloud(t, append([]string{"--traffic=false"}, flags...)...)
}

// inClass puts a Service into another class.
func inClass(class string) func(*corev1.Service) {
	return func(service *corev1.Service) { service.Spec.LoadBalancerClass = &class }
}
