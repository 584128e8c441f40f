package walks_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

const (
	// notices is the time after which kube-controller-manager shows that a kubelet is silent.
	notices = 45 * time.Second
	// lieLasts bounds a lie. After ten minutes, a Node over the budget does not wait any
	// longer, and a Node that contradicts the cloud counts as foreign.
	lieLasts = 9 * time.Minute
	// fewGoWithin and manyGoWithin are the times after a lie within which the Nodes of dead
	// machines are deleted: within the budget, and over it. Over it, they wait for ten minutes
	// if the cloud has taken back an answer, and then go at the limited rate.
	fewGoWithin, manyGoWithin = 4 * time.Minute, 14 * time.Minute
	budget                    = 3
	// inRegion bounds the machines of a region, so that each can be a witness for each other.
	inRegion = 11
)

// lie is a way in which the cloud is wrong, or in which kubelets are silent.
type lie struct {
	name string
	// shows says which machines the cloud shows. mayFallSilent says whose kubelets may fall
	// silent meanwhile.
	shows, mayFallSilent func(*machine) bool
	// all means that all these kubelets fall silent, and that none reports before the end.
	all bool
}

// TestWalkOfLies runs random paths in which machines end and kubelets fall silent, while the
// cloud is wrong in one of several ways. No Node may be deleted whose machine exists. Once
// the cloud is right again, the Nodes of all ended machines have to go. The flags are those
// of TestWalk.
func TestWalkOfLies(t *testing.T) { takePaths(t, lies) }

func lies(t *testing.T, seed uint64) *world {
	t.Helper()
	w := newWorld(t, seed)
	w.locked(func() {
		for region := range 2 {
			for range 4 + w.r.IntN(inRegion-3) {
				w.settles(region)
			}
		}
	})
	w.start()
	for range 2 {
		w.isCalm()
		w.isWrong()
		w.isRight()
	}
	w.finish()
	return w
}

// settles creates a machine and its initialised Node. The caller holds mu.
func (w *world) settles(region int) {
	number := w.next()
	m := &machine{
		name: fmt.Sprintf("m%02d", number), address: w.address(), rack: 1, reporting: true, born: time.Now(),
		region: fmt.Sprint("r", region), zone: string("ab"[w.r.IntN(2)]),
	}
	m.id = fmt.Sprintf("%08x-%s", w.r.Uint32(), m.name) // The order of the UIDs says who is asked about first.
	n := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: m.name, UID: types.UID(m.id), CreationTimestamp: metav1.Now(), Labels: map[string]string{
			corev1.LabelTopologyRegion: m.region, corev1.LabelTopologyZone: m.zone, rackLabel: rack(m.rack),
		}},
		Spec: corev1.NodeSpec{ProviderID: "p://" + m.id},
	}
	heartbeat(n, true)
	w.machines[m.id], w.nodes[n.UID] = m, &nodeTrail{name: m.name, kind: ofCloud, machine: m}
	w.happen("%s settles in %s, %s", m.name, m.region, m.zone)
	w.add(n)
}

// alive returns the machines that exist and for which the condition is true, in random
// order. The caller holds mu.
func (w *world) alive(condition func(*machine) bool) (all []*machine) {
	for _, id := range slices.Sorted(maps.Keys(w.machines)) {
		if m := w.machines[id]; !m.gone && condition(m) {
			all = append(all, m)
		}
	}
	w.r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all
}

func anyone(*machine) bool { return true }

// reports makes the Node of a machine show whether its kubelet reports. The caller holds mu.
func (w *world) reports(m *machine, does bool) {
	isNews := m.reporting != does
	if n := w.node(m.name); n != nil && isNews {
		w.happen("%s reports: %v", m.name, does)
		w.nodes[n.UID].reports(n, does)
		w.store(n)
	}
}

// end ends a machine, unless its region has only a few left. The caller holds mu.
func (w *world) end(m *machine) {
	if len(w.alive(func(o *machine) bool { return o.region == m.region })) > 3 {
		w.happen("%s ends", m.name)
		m.gone, m.ended = true, time.Now()
	}
}

// passes lets time pass. It makes kube-controller-manager notice which machines have ended.
func (w *world) passes(d time.Duration) {
	for end := time.Now().Add(d); time.Now().Before(end) && !w.hasFailed(); {
		w.after(min(5*time.Second, time.Until(end)))
		w.locked(func() {
			for _, id := range slices.Sorted(maps.Keys(w.machines)) {
				if m := w.machines[id]; m.gone && time.Since(m.ended) >= notices {
					w.reports(m, false)
				}
			}
		})
	}
}

// isCalm ends some machines while the cloud is right. Some kubelets fall silent. Sometimes it
// waits until the Nodes are gone.
func (w *world) isCalm() {
	w.passes(5 * time.Minute) // The Nodes are no longer young.
	for range w.r.IntN(6) {
		w.locked(func() {
			if m := w.alive(anyone)[0]; w.r.IntN(2) == 0 {
				w.end(m)
			} else {
				w.reports(m, false)
			}
		})
		w.passes(pauses[w.r.IntN(len(pauses)-1)])
	}
	if w.r.IntN(2) == 0 {
		w.checkEnded()
	}
}

// isWrong makes the cloud lie for a while. Machines end meanwhile, and a new leader may start.
func (w *world) isWrong() {
	var l lie
	var free func(*machine) bool
	var silent []*machine
	w.locked(func() {
		l = w.newLie()
		free = w.contradicts(l)
		silent = w.alive(free)
		if !l.all {
			silent = silent[:w.r.IntN(len(silent)+1)]
		}
	})
	early := w.r.IntN(3) == 0
	for _, m := range silent {
		w.locked(func() { w.reports(m, false) })
		if early {
			w.passes(time.Duration(w.r.Int64N(int64(time.Minute))))
		}
	}
	w.locked(func() {
		w.happen("lie: %s", l.name)
		w.weather.lie = l.shows
	})
	for end := time.Now().Add(time.Duration(w.r.Int64N(int64(lieLasts)))); time.Now().Before(end) && !w.hasFailed(); {
		w.locked(func() { w.step(l, free) })
		if w.r.IntN(10) == 0 {
			w.stop()
			w.start()
		}
		w.passes(min(pauses[w.r.IntN(len(pauses)-1)], time.Until(end)))
	}
}

// contradicts makes one denied machine report all the time in each region in which the cloud
// denies machines: if the cloud denied the silent ones only, nobody could know. It returns
// which machines may do something else. The caller holds mu.
func (w *world) contradicts(l lie) (free func(*machine) bool) {
	loud := map[string]*machine{}
	for _, m := range w.alive(anyone) {
		if !l.all && !l.shows(m) && loud[m.region] == nil {
			loud[m.region] = m
			w.reports(m, true)
		}
	}
	return func(m *machine) bool { return loud[m.region] != m && l.mayFallSilent(m) }
}

// step makes something happen while the cloud lies. The caller holds mu.
func (w *world) step(l lie, free func(*machine) bool) {
	some := w.alive(free)
	switch pick := w.r.IntN(8); {
	case len(some) == 0:
	case pick < 3:
		w.end(some[0])
	case pick < 5 && !l.all:
		w.reports(some[0], !some[0].reporting)
	case pick < 6 && !l.all && len(w.alive(func(m *machine) bool { return m.region == "r0" })) < inRegion:
		w.settles(0)
	}
}

// isRight ends the lie. The kubelets of all machines that exist report again, one by one.
// Afterwards the Nodes of all ended machines have to go.
func (w *world) isRight() {
	w.locked(func() {
		w.happen("the cloud is right again")
		w.weather = fair
	})
	var silent []*machine
	w.locked(func() { silent = w.alive(func(m *machine) bool { return !m.reporting }) })
	for _, m := range silent {
		w.locked(func() { w.reports(m, true) })
		w.passes(pauses[w.r.IntN(len(pauses)-2)])
	}
	w.checkEnded()
}

// checkEnded waits until the Nodes of all ended machines must be gone. While all other
// kubelets of a region are silent, the control plane may be cut off, so its Nodes stay.
func (w *world) checkEnded() {
	left := func() (names []string) {
		w.locked(func() {
			for _, m := range w.machines {
				reports := func(o *machine) bool { return o.region == m.region && o.reporting }
				if m.gone && w.node(m.name) != nil && len(w.alive(reports)) > 0 {
					names = append(names, m.name)
				}
			}
		})
		slices.Sort(names)
		return names
	}
	within := fewGoWithin
	isSilent := func(m *machine) bool { return !m.reporting }
	var silent int
	w.locked(func() { silent = len(w.alive(isSilent)) })
	if len(left()) > budget || silent > 1 { // If most kubelets of a region are silent, its Nodes wait for ten minutes.
		within = manyGoWithin
	}
	w.passes(notices + within)
	if names := left(); len(names) > 0 {
		w.locked(func() { w.broken("settled: %v are still there, their machines have ended", names) })
	}
}

// newLie returns a random lie. The caller holds mu.
func (w *world) newLie() lie {
	region, zone, half := fmt.Sprint("r", w.r.IntN(2)), string("ab"[w.r.IntN(2)]), w.r.IntN(2)
	lacks := func(name string, denies func(*machine) bool) lie {
		return lie{name: name, shows: func(m *machine) bool { return !m.gone && !denies(m) }, mayFallSilent: anyone}
	}
	switch pick := w.r.IntN(9); pick {
	case 0, 1, 2:
		percent := []int{50, 90, 99}[pick]
		lost := w.alive(anyone)
		lost = lost[:(len(lost)*percent+99)/100]
		return lacks(fmt.Sprintf("the list lacks %d %%", percent), func(m *machine) bool { return slices.Contains(lost, m) })
	case 3:
		return lacks("the list lacks a zone", func(m *machine) bool { return m.region == region && m.zone == zone })
	case 4:
		return lacks("the list lacks a region", func(m *machine) bool { return m.region == region })
	case 5:
		return lacks("the list lacks an account", func(m *machine) bool { return int(m.id[0])%2 == half })
	case 6:
		return lacks("the token sees another project", anyone)
	case 7:
		return lie{
			name: "the answers are a minute old", mayFallSilent: anyone,
			shows: func(m *machine) bool {
				then := time.Now().Add(-time.Minute)
				return !m.born.After(then) && (!m.gone || m.ended.After(then))
			},
		}
	default:
		return w.newSilence()
	}
}

// newSilence returns a random lie about silent kubelets: all are silent, because the API
// server was away, or in each zone half are, and the cloud denies just these. The caller
// holds mu.
func (w *world) newSilence() lie {
	if w.r.IntN(2) == 0 {
		return lie{name: "the API server is away", shows: func(m *machine) bool { return !m.gone }, mayFallSilent: anyone, all: true}
	}
	var silent []*machine
	for _, place := range []string{"r0a", "r0b", "r1a", "r1b"} {
		all := w.alive(func(m *machine) bool { return m.region+m.zone == place })
		silent = append(silent, all[:(len(all)+1)/2]...)
	}
	isSilent := func(m *machine) bool { return slices.Contains(silent, m) }
	return lie{
		name: "half of each zone is silent and denied", all: true, mayFallSilent: isSilent,
		shows: func(m *machine) bool { return !m.gone && !isSilent(m) },
	}
}
