package node

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/fairlead-k8s/fairlead/provider"
)

// cachedFor is the time for which a provider keeps its list of all instances.
const cachedFor = 10 * time.Second

// listCache is a provider's list of all instances. The provider fetches it if a question
// comes and the list is too old. Other questions wait for the list in the meantime.
type listCache struct {
	lock   chan struct{} // has an element while a question reads or fetches the list; a mutex would stop the clock of testing/synctest
	takes  time.Duration // the time that it takes to fetch the list
	filled time.Time     // guarded by lock
	fills  int           // guarded by lock
}

// ask is the part of a question that waits for the list.
func (l *listCache) ask() error {
	l.lock <- struct{}{}
	defer func() { <-l.lock }()
	if l.filled.IsZero() || time.Since(l.filled) > cachedFor {
		time.Sleep(l.takes)
		l.fills, l.filled = l.fills+1, time.Now()
	}
	return nil
}

func (l *listCache) takeFills() int {
	l.lock <- struct{}{}
	defer func() { <-l.lock }()
	n := l.fills
	l.fills = 0
	return n
}

// inStep returns initialised Nodes that agree with their instances.
func inStep(n int) []*corev1.Node {
	var all []*corev1.Node
	for n := range n {
		name := nameOf(n)
		all = append(all, settled(named("p://"+name), label("rack", "a"), annotation(AnnotationLabels, `{"rack":"a"}`), addresses(internal, hostname), func(n *corev1.Node) {
			n.Name, n.UID = name, types.UID("u-"+name)
		}))
	}
	return all
}

// Some providers fetch a list of all instances for the first question, and then answer
// from this list for some seconds. The skeleton asks about all Nodes at once in each
// period, so it causes one fetch in a period. So do we.
func TestListCacheIsFilledOnceAWalk(t *testing.T) {
	const (
		size    = 1000
		periods = 2
	)
	for _, tt := range []struct {
		name     string
		takes    time.Duration
		parallel int
	}{
		{"FilledAtOnce", 0, 1},
		{"TwentyPagesOf20Milliseconds", 400 * time.Millisecond, 1},
		{"OthersWaitForIt", 400 * time.Millisecond, 16},
		{"FilledSlowly", 5 * time.Second, 16},
		{"FilledSlowlyOneCallAtATime", 5 * time.Second, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				list := &listCache{lock: make(chan struct{}, 1), takes: tt.takes}
				q := beginWith(t, &vendor{before: list.ask}, Config{Reads: 16, Refreshers: tt.parallel}, nil, inStep(size)...)
				defer func() { q.stop() }()
				q.after(time.Minute)
				if fills := list.takeFills(); fills != 1 {
					t.Errorf("at the start the list is fetched %d times, want once", fills)
				}
				q.takeAsked()
				q.after(periods * hintedPeriod)
				if fills, asked := list.takeFills(), len(q.takeAsked()); fills > periods || asked != periods*size {
					t.Errorf("in %d periods %d fetches of the list and %d questions about %d Nodes, want %d and %d", periods, fills, asked, size, periods, periods*size)
				}
			})
		})
	}
}

// Whether a cloud is slow, even slower than the pauses between two questions, or fails at
// once: the questions are spread evenly, and all Nodes are asked about in each period.
func TestAnswersThatCostSomethingAreSpread(t *testing.T) {
	for _, tt := range []struct {
		name   string
		size   int
		answer func() error
	}{
		{"FasterThanThePauses", 300, func() error { time.Sleep(50 * time.Millisecond); return nil }},
		{"SlowerThanThePauses", 900, func() error { time.Sleep(2 * time.Second); return nil }},
		{"JustNotACache", 300, func() error { time.Sleep(cachedWithin); return nil }},
		{"FailsAtOnce", 300, func() error { return cloudprovider.InstanceNotFound }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				asked := make(chan struct{}, 10000)
				q := beginWith(t, &vendor{before: func() error { asked <- struct{}{}; return tt.answer() }}, Config{Reads: 16, Refreshers: 16}, nil, inStep(tt.size)...)
				defer func() { q.stop(); q.after(time.Minute) }() // The last calls end.
				q.after(hintedPeriod)
				for len(asked) > 0 {
					<-asked
				}
				all, even := 0, tt.size/int(hintedPeriod/time.Second)
				for second := range int(2 * hintedPeriod / time.Second) {
					q.after(time.Second)
					n := len(asked)
					for range n {
						<-asked
					}
					if all += n; n > even+1 {
						t.Fatalf("%d questions in second %d, want %d", n, second, even)
					}
				}
				if all < 2*tt.size-2*even || all > 2*tt.size+2*even {
					t.Errorf("%d questions about %d Nodes in two periods", all, tt.size)
				}
			})
		})
	}
}

// The pages of a list are read at once if they come from a cache, and otherwise evenly.
func TestPagesOfAList(t *testing.T) {
	for _, tt := range []struct {
		name       string
		takes      time.Duration
		labels     map[string]string // on the list
		mostAtOnce int               // pages in a second
	}{
		{"FromACache", 0, map[string]string{"rack": "a"}, 10},
		{"OverTheNetwork", 20 * time.Millisecond, map[string]string{"rack": "a"}, 1},
		{"OnlyQuestionsFromACache", 20 * time.Millisecond, nil, 1}, // The list confirms no Node.
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				q := beginHinted(t, 100)
				defer func() { q.stop(); q.after(time.Minute) }() // The last call ends.
				q.vendor.set(func(h *hints) {
					h.pageTakes = tt.takes
					h.list = func(_ string, p *provider.InstancePage) error {
						for n := range p.Instances {
							p.Instances[n].AdditionalLabels = tt.labels
						}
						return nil
					}
					h.watch = func(context.Context, *provider.InstanceChanges) error { return errors.New("no") }
				})
				q.after(2 * hintedPeriod)
				q.takeCalls()
				all, atOnce := 0, 0
				for range int(2 * hintedPeriod / time.Second) {
					q.after(time.Second)
					lists, _, _ := q.takeCalls()
					all, atOnce = all+lists, max(atOnce, lists)
				}
				if all < 19 || all > 21 || atOnce != tt.mostAtOnce {
					t.Errorf("%d pages in two periods, at most %d in a second, want 20 and %d", all, atOnce, tt.mostAtOnce)
				}
			})
		})
	}
}

// A comparison of no Nodes does not count as a round: the first round begins when there
// are Nodes.
func TestFirstRoundBeginsWhenThereAreNodes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := beginWith(t, &vendor{before: func() error { time.Sleep(20 * time.Millisecond); return nil }}, Config{}, nil)
		defer func() { q.stop(); q.after(time.Minute) }() // The last call ends.
		q.after(time.Second)
		q.vendor.mu.Lock()
		for n := range 2 {
			q.vendor.instances[nameOf(n)] = instanceOf(nameOf(n))
		}
		q.vendor.mu.Unlock()
		for _, node := range inStep(2) {
			if _, err := q.cluster.CoreV1().Nodes().Create(t.Context(), node, metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
		}
		q.after(2 * idle)
		if asked := q.takeAsked(); len(asked) > 0 {
			t.Errorf("asked about %v at once, although their initialisation has just asked", asked)
		}
		q.after(hintedPeriod)
		if asked := q.takeAsked(); len(asked) < 2 || !slices.Equal(asked[:2], []string{nameOf(0), nameOf(1)}) {
			t.Errorf("asked about %v in a period, want each of the two Nodes", asked)
		}
	})
}

// The comparison waits for its turn before each question and each page of a list. A
// Node that the watch names is asked about meanwhile.
func TestComparisonWaitsForItsTurn(t *testing.T) {
	for _, tt := range []struct {
		name   string
		hinted bool
	}{{"Questions", false}, {"List", true}} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				v := &vendor{turn: make(chan struct{}), hints: newHints()}
				if !tt.hinted {
					v.hints = nil
				}
				q := beginWith(t, v, Config{}, nil, inStep(20)...)
				defer func() { q.stop() }()
				q.after(3 * hintedPeriod)
				if asked := q.takeAsked(); len(asked) > 0 {
					t.Errorf("asked about %v before it was the comparison's turn", asked)
				}
				if tt.hinted {
					v.change(nameOf(7), "b")
					q.after(2 * time.Second)
					if rack := q.node(nameOf(7)).Labels["rack"]; rack != "b" {
						t.Errorf("the rack is %q 2 seconds after the watch has named the Node", rack)
					}
					if lists, _, _ := q.takeCalls(); lists > 0 {
						t.Errorf("%d pages of the list before it was the comparison's turn", lists)
					}
				}
				v.mu.Lock()
				moved := instanceOf(nameOf(3))
				moved.NodeAddresses = []corev1.NodeAddress{internal, external}
				v.instances[nameOf(3)] = moved
				v.mu.Unlock()
				close(v.turn)
				q.after(2 * hintedPeriod)
				if got := q.node(nameOf(3)).Status.Addresses; !slices.Contains(got, external) {
					t.Errorf("addresses %v two periods after the comparison's turn, want the new one", got)
				}
			})
		})
	}
}
