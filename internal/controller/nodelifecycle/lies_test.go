package nodelifecycle

import (
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// machine is a Node of the cluster of TestCloudThatLiesDeletesNothing.
type machine struct {
	region, zone, n int
	name            string
}

// machines returns 60 Nodes in two regions with three zones each.
func machines() (all []machine) {
	for region := range 2 {
		for zone := range 3 {
			for n := range 10 {
				all = append(all, machine{region, zone, n, fmt.Sprintf("r%d-z%d-%d", region, zone, n)})
			}
		}
	}
	return all
}

func (p machine) node(edits ...func(*corev1.Node)) *corev1.Node {
	node := old(p.name, append(edits, located(corev1.LabelTopologyRegion, fmt.Sprint("r", p.region)), located(corev1.LabelTopologyZone, fmt.Sprint("z", p.zone)))...)
	node.UID = types.UID(strconv.FormatUint(uint64(p.hash()), 16))
	return node
}

func (p machine) hash() uint32 {
	h := fnv.New32a()
	_, _ = h.Write([]byte(p.name))
	return h.Sum32() * 2654435761 >> 8
}

// lacks says which instances a list lacks that has lost this percentage of them.
func lacks(percent uint32) func(machine) bool {
	return func(p machine) bool { return p.hash()%100 < percent }
}

func firstOfZone(n int) func(machine) bool { return func(p machine) bool { return p.n < n } }
func all(machine) bool                     { return true }

// No machine has ended, but kubelets are silent, and the cloud denies instances that
// exist. Before, the cloud was right: it has confirmed Nodes when a machine ended. No
// Node may be deleted.
func TestCloudThatLiesDeletesNothing(t *testing.T) {
	const beforeTheWaitEnds, afterIt = 9 * time.Minute, 25 * time.Minute
	inZone := func(p machine) bool { return p.region == 0 && p.zone == 0 }
	inRegion := func(p machine) bool { return p.region == 0 }
	ofAccount := func(p machine) bool { return p.n%2 == 0 }
	for _, tt := range []struct {
		name           string
		silent, denied func(machine) bool
		lasts          time.Duration
		comeBack       bool // after ten minutes, the kubelets report again one by one
	}{
		{"ListLacks50Percent", firstOfZone(1), lacks(50), afterIt, false},
		{"ListLacks50PercentAndManyAreSilent", firstOfZone(4), lacks(50), afterIt, false},
		{"ListLacks90Percent", firstOfZone(1), lacks(90), afterIt, false},
		{"ListLacks90PercentAndManyAreSilent", firstOfZone(4), lacks(90), afterIt, false},
		{"ListLacks99Percent", firstOfZone(1), lacks(99), afterIt, false},
		{"ListLacks99PercentAndManyAreSilent", firstOfZone(4), lacks(99), afterIt, false},
		{"ListLacksAZone", firstOfZone(1), inZone, afterIt, false},
		{"ListLacksAZoneAndManyAreSilent", firstOfZone(4), inZone, afterIt, false},
		{"ListLacksARegion", firstOfZone(1), inRegion, afterIt, false},
		{"ListLacksARegionAndManyAreSilent", firstOfZone(4), inRegion, afterIt, false},
		{"ListLacksAnAccount", firstOfZone(1), ofAccount, afterIt, false},
		{"ListLacksAnAccountAndManyAreSilent", firstOfZone(4), ofAccount, afterIt, false},
		{"TokenSeesAnotherProject", firstOfZone(4), all, afterIt, false},
		{"HalfOfEachZoneIsSilentAndDenied", firstOfZone(5), firstOfZone(5), beforeTheWaitEnds, false},
		{"ZoneIsSilentAndDenied", inZone, inZone, beforeTheWaitEnds, false},
		{"RegionIsSilentAndDenied", inRegion, inRegion, beforeTheWaitEnds, false},
		{"RegionIsSilentAndDeniedForLong", inRegion, inRegion, afterIt, false},
		{"AllAreSilentAndHalfAreDenied", all, lacks(50), afterIt, false},
		{"AllAreSilentAndDenied", all, all, afterIt, false},
		{"AllWereSilentAndHalfAreDenied", all, lacks(50), afterIt, true},
		{"AllWereSilentAndAZoneIsDenied", all, inZone, afterIt, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				nodes := []*corev1.Node{old("dead-1"), old("dead-2", located(corev1.LabelTopologyRegion, "r0"), located(corev1.LabelTopologyZone, "z0"))}
				for _, p := range machines() {
					nodes = append(nodes, p.node(reports))
				}
				r := beginRemovals(t, DefaultLimits(), nodes...)
				defer func() { r.stop() }()
				r.change(func() { r.absent["dead-1"], r.absent["dead-2"] = true, true })
				r.after(time.Minute)
				if got := r.count("dead"); got != 0 {
					t.Fatalf("%d of 2 Nodes of dead machines are left", got)
				}
				for _, p := range machines() {
					r.change(func() { r.absent[p.name] = tt.denied(p) })
				}
				for _, p := range machines() {
					if tt.silent(p) {
						r.update(p.name, ready(corev1.ConditionUnknown, time.Minute))
					}
				}
				if tt.comeBack {
					r.after(10 * time.Minute)
					for _, p := range machines() {
						r.after(5 * time.Second)
						if slices.Contains(r.names(), p.name) {
							r.update(p.name, reports)
						}
					}
				}
				r.after(tt.lasts)
				if got := r.count("r"); got != 60 {
					t.Errorf("%d healthy Nodes deleted", 60-got)
				}
			})
		})
	}
}

// The cloud answers from what it knew a minute ago, so it denies an instance in the
// first minute of its life.
func TestCloudThatIsAMinuteBehindDeletesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := beginRemovals(t, DefaultLimits(), aliveAnd()...)
		defer func() { r.stop() }()
		r.after(time.Second)
		r.change(func() { r.absent["n1"] = true })
		node := old("n1")
		node.CreationTimestamp = metav1.NewTime(time.Now())
		if _, err := r.cluster.CoreV1().Nodes().Create(t.Context(), node, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		r.after(time.Minute)
		r.change(func() { r.absent["n1"] = false })
		r.after(time.Hour)
		r.expect("after an hour", "n1", "w1", "w2", "w3")
	})
}

// Before the cloud lies, kubelets have been silent for a while, or the cloud has lied before.
func TestLaterLieDeletesNothing(t *testing.T) {
	silent := ready(corev1.ConditionUnknown, time.Minute)
	for _, tt := range []struct {
		name   string
		denied int
		before func(r *removals, lies func(bool))
		then   func(r *removals)
	}{
		{"HalfOfTheZoneWasSilent", 5, func(r *removals, _ func(bool)) {
			for n := range 5 {
				r.update(fmt.Sprint("n", n), silent)
				r.after(23 * time.Second)
			}
			r.after(10 * time.Minute)
		}, func(*removals) {}},
		{"AllWereSilentAndOneReports", 3, func(r *removals, _ func(bool)) {
			for n := range 10 {
				r.update(fmt.Sprint("n", n), silent)
			}
			r.after(10 * time.Minute)
		}, func(r *removals) {
			r.after(2 * time.Minute)
			r.update("n5", reports)
		}},
		{"ContradictionOfAnEarlierLie", 2, func(r *removals, lies func(bool)) {
			lies(true)
			r.update("n0", silent)
			r.after(time.Minute)
			lies(false)
			r.update("n0", reports)
			r.after(20 * time.Minute)
		}, func(r *removals) { r.update("n0", silent) }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var nodes []*corev1.Node
				for n := range 10 {
					nodes = append(nodes, old(fmt.Sprint("n", n), reports))
				}
				r := beginRemovals(t, DefaultLimits(), nodes...)
				defer func() { r.stop() }()
				lies := func(does bool) {
					r.change(func() {
						for n := range tt.denied {
							r.absent[fmt.Sprint("n", n)] = does
						}
					})
				}
				tt.before(r, lies)
				lies(true)
				tt.then(r)
				r.after(6 * time.Minute)
				if got := r.count("n"); got != 10 {
					t.Errorf("%d healthy Nodes deleted", 10-got)
				}
			})
		})
	}
}
