package e2e

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-k8s/fairlead/simulator"
	"github.com/fairlead-k8s/fairlead/test/internal/bed"
	"github.com/fairlead-k8s/fairlead/test/internal/lbservice"
	"github.com/fairlead-k8s/fairlead/test/internal/nodes"
)

// TestServicesSideBySide runs the tests of Services that mostly wait. They share a bed
// and its Nodes. Each test has a load balancer class and a cloud of its own.
func TestServicesSideBySide(t *testing.T) {
	b := onOwn(t)
	registerHosts(t, b)
	for _, c := range []struct {
		name string
		run  func(*testing.T, *bed.Bed)
	}{
		{"LostReplyAtEachCall", testFaultAtEachCall(simulator.FaultLostReply)},
		{"ErrorAtEachCall", testFaultAtEachCall(simulator.FaultError)},
		{"HangAtEachCall", testFaultAtEachCall(simulator.FaultHang)},
		{"HandOverWaitsForTheCloud", testHandOverWaitsForTheCloud},
		{"CloudThatIsNeverDoneKeepsTheLease", testCloudThatIsNeverDoneKeepsTheLease},
		{"CallPastItsDeadlineKeepsTheLease", testCallPastItsDeadlineKeepsTheLease},
		{"LeaderIsKilledWhileTheCloudIsAtIt", testLeaderIsKilledWhileTheCloudIsAtIt},
		{"LeaderIsCutOff", testLeaderIsCutOff},
		{"LeaderCannotRenew", testLeaderCannotRenew},
		{"LocalTrafficPolicy", testLocalTrafficPolicy},
		{"ProvidedElsewhere", testProvidedElsewhere},
		{"ContestedStatus", testContestedStatus},
		{"ContestedFinalizer", testContestedFinalizer},
		{"QuotaIsExhausted", testQuotaIsExhausted},
		{"ProviderPanics", testProviderPanics},
		{"ProviderReturnsNil", testProviderReturnsNil},
		{"ProviderHangs", testProviderHangs},
		{"ProviderHangsForAll", testProviderHangsForAll},
		{"TwoClustersInOneAccount", testTwoClustersInOneAccount},
		{"DriftIsFound", testDriftIsFound},
		{"RecreatedUnderItsName", testRecreatedUnderItsName},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.run(t, b)
		})
	}
}

// registerHosts registers the Nodes behind the load balancers of all classes.
func registerHosts(t *testing.T, b *bed.Bed) {
	t.Helper()
	for n := range hostIDs() {
		node := nodes.New(b.Name("host"))
		node.Spec = corev1.NodeSpec{ProviderID: nodes.ProviderID(simulator.Instance{Region: "sim-1", ID: hostIDs()[n]})}
		b.Register(t, node)
	}
}

// hostIDs returns the first two instance IDs that every new cloud gives.
func hostIDs() []string { return []string{"i-00000001", "i-00000002"} }

// newClass returns Services of a new class, in a new cloud that has the instances of
// the bed's Nodes.
func newClass(t *testing.T, b *bed.Bed, flags ...string) lbservice.Services {
	t.Helper()
	s := lbservice.Services{Bed: b, Cloud: b.NewCloudWithoutTraffic(t, flags...), Class: "e2e/" + b.Name("class")}
	for _, id := range hostIDs() {
		i, err := s.Cloud.CreateInstance(t.Context(), simulator.Instance{Name: "host-" + id}) // it ends with the cloud
		if err != nil || i.ID != id {
			t.Fatalf("the cloud gives the ID %s, want %s; error %v", i.ID, id, err)
		}
		s.Hosts = append(s.Hosts, i)
	}
	return s
}

// inClass returns a change that puts a Service into the class.
func inClass(class string) func(*corev1.Service) {
	return func(service *corev1.Service) { service.Spec.LoadBalancerClass = &class }
}
