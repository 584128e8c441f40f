package route

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-k8s/fairlead/internal/controller/ownership"
)

func TestWake(t *testing.T) {
	unavailable := func(change func(*corev1.NodeCondition)) func(*corev1.Node) {
		return func(n *corev1.Node) { change(&n.Status.Conditions[0]) }
	}
	for _, tt := range []struct {
		name   string
		change func(*corev1.Node)
		want   wake
	}{
		{"SameNodeWakesNothing", func(*corev1.Node) {}, noWake},
		{"ReplacedNodeWakesRoutes", func(n *corev1.Node) { n.UID = "other" }, wakeRoutes},
		{"CIDRWakesRoutes", withCIDR("fd00:0:0:1::/64"), wakeRoutes},
		{"AddressWakesRoutes", func(n *corev1.Node) { n.Status.Addresses[0].Address = "10.0.0.9" }, wakeRoutes},
		{"DeletionWakesRoutes", beingDeleted, wakeRoutes},
		{"ExclusionWakesRoutes", label(""), wakeRoutes},
		{"ExclusionWithValueFalseWakesNothing", label("false"), noWake},
		{"LostConditionWakesConditions", noCondition, wakeConditions},
		{"StatusOfTheConditionWakesConditions", unavailable(func(c *corev1.NodeCondition) { c.Status = corev1.ConditionTrue }), wakeConditions},
		{"ReasonOfTheConditionWakesConditions", unavailable(func(c *corev1.NodeCondition) { c.Reason = "CalicoIsUp" }), wakeConditions},
		{"HeartbeatOfTheConditionWakesNothing", unavailable(func(c *corev1.NodeCondition) { c.LastHeartbeatTime = metav1.NewTime(at(1)) }), noWake},
		{"OtherConditionWakesNothing", func(n *corev1.Node) {
			n.Status.Conditions = append(n.Status.Conditions, corev1.NodeCondition{Type: corev1.NodeReady, Status: corev1.ConditionTrue})
		}, noWake},
		{"OtherLabelWakesNothing", func(n *corev1.Node) { n.Labels = map[string]string{"a": "b"} }, noWake},
	} {
		t.Run(tt.name, func(t *testing.T) {
			before, now := newNode(1), newNode(1)
			tt.change(now)
			if got := wakeOf(ownership.Claim{}, before, now); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// nodeChanges are changes of one field of a Node. Some of them change fields
// that no rule reads.
var nodeChanges = []func(*rand.Rand, *corev1.Node){
	func(r *rand.Rand, n *corev1.Node) { n.UID = newNode(1 + r.IntN(9)).UID },
	func(r *rand.Rand, n *corev1.Node) { n.Spec.PodCIDRs = newNode(1 + r.IntN(4)).Spec.PodCIDRs },
	func(r *rand.Rand, n *corev1.Node) { withCIDR(fmt.Sprintf("10.244.%d.0/24", 1+r.IntN(5)))(n) },
	func(_ *rand.Rand, n *corev1.Node) { n.Spec.PodCIDRs = nil },
	func(_ *rand.Rand, n *corev1.Node) { n.Spec.PodCIDRs = []string{"10.9.0.0/24"} },
	func(r *rand.Rand, n *corev1.Node) { n.Status.Addresses = newNode(1 + r.IntN(4)).Status.Addresses },
	func(_ *rand.Rand, n *corev1.Node) { n.Status.Addresses = nil },
	func(_ *rand.Rand, n *corev1.Node) { beingDeleted(n) },
	func(r *rand.Rand, n *corev1.Node) { label([]string{"", "true", "false"}[r.IntN(3)])(n) },
	func(_ *rand.Rand, n *corev1.Node) { noCondition(n) },
	anyCondition,
	func(r *rand.Rand, n *corev1.Node) {
		for i := range n.Status.Conditions {
			n.Status.Conditions[i].LastTransitionTime = metav1.NewTime(at(float64(r.IntN(900))))
		}
	},
	func(_ *rand.Rand, n *corev1.Node) {
		for i := range n.Status.Conditions {
			n.Status.Conditions[i].LastHeartbeatTime, n.Status.Conditions[i].Message = metav1.NewTime(at(1)), "other"
		}
	},
	func(_ *rand.Rand, n *corev1.Node) { n.Labels = map[string]string{"other": ""} },
	func(_ *rand.Rand, n *corev1.Node) { n.Annotations = map[string]string{"other": ""} },
	func(_ *rand.Rand, n *corev1.Node) { n.Spec.Unschedulable = true },
	func(_ *rand.Rand, n *corev1.Node) { n.Spec.ProviderID = "other://1" },
	func(_ *rand.Rand, n *corev1.Node) { n.Spec.Taints = []corev1.Taint{{Key: "other"}} },
	func(_ *rand.Rand, n *corev1.Node) { n.Finalizers = []string{"other"} },
	func(_ *rand.Rand, n *corev1.Node) {
		n.Status.Conditions = append(n.Status.Conditions, corev1.NodeCondition{Type: corev1.NodeReady, Status: corev1.ConditionTrue})
	},
}

func anyCondition(r *rand.Rand, n *corev1.Node) {
	status := []corev1.ConditionStatus{corev1.ConditionTrue, corev1.ConditionFalse, corev1.ConditionUnknown}[r.IntN(3)]
	condition(status, []string{"RouteCreated", "NoRouteCreated", "PodCIDRRejected", "CalicoIsUp"}[r.IntN(4)])(n)
}

// anyTable returns a random table. It can contain every case that the rules
// distinguish.
func anyTable(r *rand.Rand) observed {
	o := given(4)
	for range r.IntN(3) {
		unlisted(fmt.Sprintf("r%d", 1+r.IntN(4)))(&o)
	}
	for range r.IntN(3) {
		listed([]route{
			unknown, gateway, broken, unclaimed, duplicate, moved,
			addressed(newRoute("a", "node-1", "10.244.1.0/24"), fmt.Sprintf("10.0.0.%d", 1+r.IntN(2))),
		}[r.IntN(7)])(&o)
	}
	for _, n := range o.nodes {
		switch r.IntN(4) {
		case 0:
			nodeChanges[r.IntN(len(nodeChanges))](r, n)
		case 1:
			anyCondition(r, n)
		}
	}
	cidr := fmt.Sprintf("10.244.%d.0/24", 1+r.IntN(2))
	switch r.IntN(8) {
	case 0:
		failing(cidr, newNode(1+r.IntN(2)).UID, 900, 998, []float64{990, 1001}[r.IntN(2)])(&o)
	case 1:
		nodeDeleted("node-1", cidr)(&o)
	case 2:
		listingFailing(at(1001))(&o)
	case 3:
		strayFor(unknown, time.Minute)(&o)
		strayFor(broken, time.Minute)(&o)
	case 4:
		created(cidr, "uid-1")(&o)
	case 5:
		pending(cidr, []float64{900, 999}[r.IntN(2)])(&o)
	case 6:
		patchedFalse(990)(&o)
	}
	return o
}

// whole returns all parts of a plan that the function apply uses, as text.
func whole(p plan) string {
	lines := digest(p)
	for _, j := range p.jobs {
		if j.create != nil {
			lines = append(lines, fmt.Sprint(j.create.hint, j.create.node.UID, j.create.node.Status.Addresses, j.create.replacesBlackhole))
		}
		lines = append(lines, fmt.Sprint(j.cidr, j.remove))
	}
	for _, c := range p.patches {
		if !c.foreign { // The line of the digest has what counts.
			lines = append(lines, fmt.Sprint(c.node.UID, *c.condition))
		}
	}
	slices.SortFunc(p.resolved, netip.Prefix.Compare)
	return strings.Join(append(lines, fmt.Sprint(p.do, p.held, p.overBudget, p.strays, p.resolved, p.counts, p.after)), "\n")
}

// If a change of a Node changes the plan, it also requests a pass.
func TestWhateverChangesThePlanWakes(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2)) // the test has to be repeatable
	changed := make([]int, len(nodeChanges))
	for range 20_000 {
		o := anyTable(r)
		before := whole(decide(o))
		i, k := r.IntN(len(o.nodes)), r.IntN(len(nodeChanges))
		was := o.nodes[i]
		o.nodes[i] = was.DeepCopy()
		nodeChanges[k](r, o.nodes[i])
		after := whole(decide(o))
		if after == before {
			continue
		}
		changed[k]++
		if wakeOf(ownership.Claim{}, was, o.nodes[i]) == noWake {
			t.Fatalf("change %d of %s changes the plan and does not wake:\n%s\n\n%s", k, was.Name, before, after)
		}
	}
	for k, n := range changed[:12] {
		if n == 0 {
			t.Errorf("change %d never changed a plan: the test does not try what the rule is for", k)
		}
	}
}
