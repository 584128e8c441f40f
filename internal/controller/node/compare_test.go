package node

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/fairlead-k8s/fairlead/internal/cloud"
	"github.com/fairlead-k8s/fairlead/provider"
)

// hints is the state of a vendor's list and watch of instances, with their faults. All
// fields are guarded by the vendor's mu.
type hints struct {
	pageSize       int
	pageTakes      time.Duration
	log            []string // names of the instances that have changed
	more           chan struct{}
	inBatches      bool // questions go in batches
	lists, watches int  // calls
	batches        int  // calls

	// The function list puts a fault into a page of the list. The function watch puts a
	// fault into an answer of the watch. If a function is nil, it puts in no fault.
	list  func(token string, page *provider.InstancePage) error
	watch func(ctx context.Context, answer *provider.InstanceChanges) error
}

func newHints() *hints { return &hints{pageSize: 10, more: make(chan struct{})} }

// hinted is a vendor's cloud with a list and a watch.
type hinted struct{ machines }

// ListInstances implements provider.InstanceLister.
func (h hinted) ListInstances(_ context.Context, token string) (provider.InstancePage, error) {
	v := h.vendor
	var takes time.Duration
	v.set(func(h *hints) { takes = h.pageTakes })
	time.Sleep(takes)
	v.mu.Lock()
	defer v.mu.Unlock()
	v.hints.lists++
	names := slices.Sorted(maps.Keys(v.instances))
	from, _ := strconv.Atoi(token)
	to := min(from+v.hints.pageSize, len(names))
	var page provider.InstancePage
	if to < len(names) {
		page.Next = strconv.Itoa(to)
	}
	for _, name := range names[min(from, to):to] {
		page.Instances = append(page.Instances, v.instances[name])
	}
	if v.hints.list != nil {
		if err := v.hints.list(token, &page); err != nil {
			return provider.InstancePage{}, err
		}
	}
	return page, nil
}

// WatchInstances implements provider.InstanceWatcher.
func (h hinted) WatchInstances(ctx context.Context, token string) (provider.InstanceChanges, error) {
	answer, wrong, err := h.vendor.watch(ctx, token)
	if err == nil && wrong != nil {
		err = wrong(ctx, &answer)
	}
	return answer, err
}

// watch returns the correct answer, and the function that spoils the answer. The
// function is nil if nothing goes wrong.
func (v *vendor) watch(ctx context.Context, token string) (answer provider.InstanceChanges, wrong func(context.Context, *provider.InstanceChanges) error, err error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.hints.watches++
	since, err := strconv.Atoi(token)
	if token == "" {
		since, err = len(v.hints.log), nil
	}
	if err != nil || since > len(v.hints.log) {
		return answer, nil, fmt.Errorf("since %q: %w", token, provider.ErrWatchExpired)
	}
	if token != "" && since == len(v.hints.log) {
		more := v.hints.more
		v.mu.Unlock()
		timer := time.NewTimer(2 * time.Minute)
		select {
		case <-more:
		case <-timer.C:
		case <-ctx.Done():
		}
		timer.Stop()
		v.mu.Lock()
	}
	answer = provider.InstanceChanges{Resume: strconv.Itoa(len(v.hints.log))}
	for _, name := range v.hints.log[since:] {
		answer.Changed = append(answer.Changed, provider.InstanceRef{ProviderID: "p://" + name})
	}
	return answer, v.hints.watch, nil
}

// change sets the label "rack" of an instance.
func (v *vendor) change(name, rack string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	of := v.instances
	if _, hidden := v.hidden[name]; hidden {
		of = v.hidden
	}
	i := of[name]
	i.AdditionalLabels = map[string]string{"rack": rack}
	of[name] = i
	v.hints.log = append(v.hints.log, name)
	close(v.hints.more)
	v.hints.more = make(chan struct{})
}

// set calls edit with the hints while mu is locked.
func (v *vendor) set(edit func(*hints)) {
	v.mu.Lock()
	defer v.mu.Unlock()
	edit(v.hints)
}

// takeCalls returns three counts since its last call: the listed pages, the calls of
// the watch, and the questions.
func (q *quirky) takeCalls() (lists, watches, asked int) {
	asked = len(q.takeAsked())
	q.vendor.set(func(h *hints) {
		lists, watches, h.lists, h.watches = h.lists, h.watches, 0, 0
	})
	return lists, watches, asked
}

// beginHinted starts a controller with a list and a watch, for the given number of
// Nodes. It returns once all Nodes are initialised.
func beginHinted(t *testing.T, nodes int) *quirky {
	t.Helper()
	var joined []*corev1.Node
	for n := range nodes {
		joined = append(joined, joins(nameOf(n)))
	}
	q := beginWith(t, &vendor{hints: newHints()}, Config{}, nil, joined...)
	q.after(10 * time.Second)
	for n := range nodes {
		if !isReleased(q.node(nameOf(n))) {
			t.Fatalf("Node %s is not initialised", nameOf(n))
		}
	}
	q.takeCalls()
	q.takeWrites()
	return q
}

func nameOf(n int) string { return fmt.Sprintf("n%03d", n) }

const hintedPeriod = 5 * time.Minute // Config.Refresh of beginWith

func TestListSparesQuestions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := beginHinted(t, 95)
		defer func() { q.stop() }()
		q.vendor.set(func(h *hints) {
			h.watch = func(context.Context, *provider.InstanceChanges) error { return errors.New("no") }
		})
		q.after(3 * hintedPeriod)
		q.takeCalls()
		q.after(4 * hintedPeriod)
		// A round reads ten pages, and asks one question to test the list.
		lists, _, asked := q.takeCalls()
		if lists < 30 || lists > 50 || asked > 5 || q.takeWrites() > 0 {
			t.Errorf("in four periods %d pages and %d questions, want 40 and 4 and no writes", lists, asked)
		}
	})
}

func TestWatchMakesComparisonsRare(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := beginHinted(t, 95)
		defer func() { q.stop() }()
		q.after(2 * longer * hintedPeriod)
		q.takeCalls()
		q.after(longer * hintedPeriod)
		lists, watches, asked := q.takeCalls()
		if lists < 8 || lists > 12 || watches > 16 || asked > 2 || q.takeWrites() > 0 {
			t.Errorf("in six periods %d pages, %d calls of the watch and %d questions, want 10, 15 and 1 and no writes", lists, watches, asked)
		}
	})
}

func TestChangeThatTheWatchNamesIsShownSoon(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := beginHinted(t, 30)
		defer func() { q.stop() }()
		q.after(time.Hour)
		for n := range 30 {
			q.vendor.change(nameOf(n), "b")
			q.after(100 * time.Millisecond)
		}
		q.after(2 * time.Second)
		for n := range 30 {
			if rack := q.node(nameOf(n)).Labels["rack"]; rack != "b" {
				t.Errorf("2 seconds later the rack of Node %s is %q", nameOf(n), rack)
			}
		}
	})
}

// A Node waits because it has no instance yet. When the watch names the instance, the
// cloud is asked at once.
func TestWatchWakesANodeThatWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := beginHinted(t, 1)
		defer func() { q.stop() }()
		late := joins("late")
		if _, err := q.cluster.CoreV1().Nodes().Create(t.Context(), late, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		q.after(20 * time.Minute) // The next question is up to 15 minutes away.
		q.vendor.mu.Lock()
		q.vendor.instances["late"] = instanceOf("late")
		q.vendor.mu.Unlock()
		q.vendor.set(func(h *hints) {
			h.watch = func(_ context.Context, answer *provider.InstanceChanges) error {
				for n := range answer.Changed {
					answer.Changed[n].NodeName = strings.TrimPrefix(answer.Changed[n].ProviderID, "p://")
				}
				return nil
			}
		})
		q.vendor.change("late", "a")
		q.after(2 * time.Second)
		if !isReleased(q.node("late")) {
			t.Error("the Node still waits 2 seconds after the watch has named its instance")
		}
	})
}

// Whatever is wrong with a list, no Node gets a label that its instance does not have,
// and a change is shown within two periods.
func TestFaultsOfAList(t *testing.T) {
	old := instanceOf(nameOf(0))
	old.AdditionalLabels = map[string]string{"rack": "wrong"}
	for name, wrong := range map[string]func(token string, page *provider.InstancePage) error{
		"Partial": func(_ string, p *provider.InstancePage) error {
			p.Instances = p.Instances[:len(p.Instances)/2]
			return nil
		},
		"CutOff": func(_ string, p *provider.InstancePage) error { p.Next = ""; return nil },
		"Empty":  func(_ string, p *provider.InstancePage) error { *p = provider.InstancePage{}; return nil },
		"Fails":  func(string, *provider.InstancePage) error { return errors.New("no") },
		"FailsLater": func(token string, _ *provider.InstancePage) error {
			return map[bool]error{true: errors.New("no")}[token != ""]
		},
		"Endless":              func(_ string, p *provider.InstancePage) error { p.Next = "0"; return nil },
		"EndlessWithNewTokens": func(token string, p *provider.InstancePage) error { p.Next = token + "0"; return nil },
		"OutOfOrder":           func(_ string, p *provider.InstancePage) error { slices.Reverse(p.Instances); return nil },
		"Doubled": func(_ string, p *provider.InstancePage) error {
			p.Instances = append(p.Instances, p.Instances...)
			return nil
		},
		"DoubledAndDifferent": func(_ string, p *provider.InstancePage) error { p.Instances = append(p.Instances, old); return nil },
		"SaysThatItIsOld": func(_ string, p *provider.InstancePage) error {
			p.Instances, p.AsOf = []cloudprovider.InstanceMetadata{old}, time.Now().Add(-time.Hour)
			return nil
		},
		"IsOld": func(_ string, p *provider.InstancePage) error {
			for n := range p.Instances {
				p.Instances[n].AdditionalLabels = map[string]string{"rack": "wrong"}
			}
			return nil
		},
		"WithoutLabels": func(_ string, p *provider.InstancePage) error {
			for n := range p.Instances {
				p.Instances[n].AdditionalLabels = nil
			}
			return nil
		},
		"WithoutAddresses": func(_ string, p *provider.InstancePage) error {
			for n := range p.Instances {
				p.Instances[n].NodeAddresses = nil
			}
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				q := beginHinted(t, 30)
				defer func() { q.stop() }()
				q.vendor.set(func(h *hints) {
					h.list = wrong
					h.watch = func(context.Context, *provider.InstanceChanges) error { return errors.New("no") }
				})
				q.after(2 * hintedPeriod)
				if writes := q.takeWrites(); writes > 0 {
					t.Errorf("%d writes because of a list", writes)
				}
				_, _, asked := q.takeCalls()
				if asked > 3*30+10 { // Three rounds can begin within two periods.
					t.Errorf("%d questions about 30 Nodes in two periods", asked)
				}
				q.vendor.change(nameOf(0), "b")
				q.after(2*hintedPeriod + time.Second)
				if rack := q.node(nameOf(0)).Labels["rack"]; rack != "b" {
					t.Errorf("the rack is %q two periods after it became b", rack)
				}
			})
		})
	}
}

// A list that is always out of date confirms Nodes whose instances have changed since.
// The sample of confirmed Nodes finds this out.
func TestListThatConfirmsWhatIsNotTrueIsLeftOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := beginHinted(t, 30)
		defer func() { q.stop() }()
		q.vendor.set(func(h *hints) {
			h.watch = func(context.Context, *provider.InstanceChanges) error { return errors.New("no") }
			h.list = func(_ string, p *provider.InstancePage) error {
				for n := range p.Instances {
					p.Instances[n].AdditionalLabels = map[string]string{"rack": "a"} // the label that all instances had at first
				}
				return nil
			}
		})
		q.after(hintedPeriod)
		for n := range 30 {
			q.vendor.change(nameOf(n), "b")
		}
		q.after(4 * hintedPeriod)
		for n := range 30 {
			if rack := q.node(nameOf(n)).Labels["rack"]; rack != "b" {
				t.Errorf("the rack of Node %s is %q four periods after it became b", nameOf(n), rack)
			}
		}
	})
}

// Whatever is wrong with a watch, a change is shown in time.
func TestFaultsOfAWatch(t *testing.T) {
	for _, tt := range []struct {
		name   string
		wrong  func(ctx context.Context, answer *provider.InstanceChanges) error
		within time.Duration
	}{
		{"Fails", func(context.Context, *provider.InstanceChanges) error { return errors.New("no") }, hintedPeriod},
		{"Panics", func(context.Context, *provider.InstanceChanges) error { panic("no") }, hintedPeriod},
		{"Stalls", func(ctx context.Context, _ *provider.InstanceChanges) error { <-ctx.Done(); return ctx.Err() }, hintedPeriod + 5*time.Minute},
		{"ForgetsItsPlace", func(context.Context, *provider.InstanceChanges) error { return provider.ErrWatchExpired }, hintedPeriod},
		{"NamesNothing", func(_ context.Context, a *provider.InstanceChanges) error { a.Changed = nil; return nil }, longer*hintedPeriod + hintedPeriod},
		{"NamesOthers", func(_ context.Context, a *provider.InstanceChanges) error {
			a.Changed = []provider.InstanceRef{{ProviderID: "p://n017"}, {NodeName: "unknown"}, {}}
			return nil
		}, longer*hintedPeriod + hintedPeriod},
		{"RepeatsItself", func(_ context.Context, a *provider.InstanceChanges) error {
			a.Changed = append(slices.Clone(a.Changed), slices.Clone(a.Changed)...)
			return nil
		}, 2 * time.Second},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				q := beginHinted(t, 30)
				defer func() { q.stop() }()
				q.after(2 * longer * hintedPeriod)
				q.vendor.set(func(h *hints) { h.watch = tt.wrong })
				q.vendor.change(nameOf(29), "x") // The change ends the call under way.
				q.after(10 * time.Second)
				q.vendor.change(nameOf(0), "b")
				q.after(tt.within)
				if rack := q.node(nameOf(0)).Labels["rack"]; rack != "b" {
					t.Errorf("the rack is %q %v after it became b", rack, tt.within)
				}
			})
		})
	}
}

// A watch may name all instances again and again. This costs a bounded number of calls.
func TestWatchThatNeverRestsIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := beginHinted(t, 10)
		defer func() { q.stop() }()
		q.vendor.set(func(h *hints) {
			h.watch = func(_ context.Context, a *provider.InstanceChanges) error {
				for n := range 10 {
					a.Changed = append(a.Changed, provider.InstanceRef{ProviderID: "p://" + nameOf(n)})
				}
				a.Resume = "0" // The next call returns at once.
				return nil
			}
		})
		q.vendor.change(nameOf(0), "a")
		q.after(time.Minute)
		q.takeCalls()
		q.after(10 * time.Minute)
		if _, watches, asked := q.takeCalls(); watches > 601 || asked > 10*10+10*3 {
			t.Errorf("in 10 minutes %d calls of the watch and %d questions about 10 Nodes, want one each second and one for each Node each minute", watches, asked)
		}
	})
}

// A watch that names a waiting Node all the time causes a bounded number of passes over
// it. Each pass asks the cloud or writes to the API server.
func TestWatchThatNeverRestsDoesNotHurryANodeThatWaits(t *testing.T) {
	for name, refusal := range map[string]error{
		"WebhookRejects": apierrors.NewForbidden(corev1.Resource("nodes"), "n000", errors.New("a webhook says no")),
		"Conflicts":      apierrors.NewConflict(corev1.Resource("nodes"), "n000", errors.New("changed")),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				q := beginHinted(t, 1)
				defer func() { q.stop() }()
				q.vendor.set(func(h *hints) {
					h.watch = func(_ context.Context, a *provider.InstanceChanges) error {
						a.Changed, a.Resume = []provider.InstanceRef{{ProviderID: "p://waits", NodeName: "waits"}}, "0"
						return nil
					}
				})
				q.vendor.change(nameOf(0), "a")
				q.refusing(func(string) error { return refusal })
				waits := joins("waits")
				q.vendor.mu.Lock()
				q.vendor.instances["waits"] = instanceOf("waits")
				q.vendor.mu.Unlock()
				if _, err := q.cluster.CoreV1().Nodes().Create(t.Context(), waits, metav1.CreateOptions{}); err != nil {
					t.Fatal(err)
				}
				q.after(10 * time.Minute)
				_, _, asked := q.takeCalls()
				if writes := q.takeWrites(); writes > 500 || asked > 40 {
					t.Errorf("in 10 minutes %d writes and %d questions about a Node that cannot be written", writes, asked)
				}
				q.refusing(nil)
				q.after(2 * time.Minute)
				if !isReleased(q.node("waits")) {
					t.Error("the Node still waits two minutes after the API server accepts writes")
				}
			})
		})
	}
}

// While a watch works, the period is long. If the list proves wrong, the comparison
// must not wait for another long period.
func TestWrongListDoesNotDelayTheComparison(t *testing.T) {
	for name, wrong := range map[string]func(string, *provider.InstancePage) error{
		"Fails": func(string, *provider.InstancePage) error { return errors.New("no") },
		"HasNoEnd": func(_ string, p *provider.InstancePage) error {
			*p = provider.InstancePage{Next: strconv.Itoa(int(time.Now().Unix()))}
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				q := beginHinted(t, 10)
				defer func() { q.stop() }()
				q.after(longer * hintedPeriod)
				q.takeCalls()
				for lists := 0; lists == 0; lists, _, _ = q.takeCalls() {
					q.after(time.Second)
				}
				q.vendor.set(func(h *hints) {
					h.list = wrong
					h.watch = func(_ context.Context, a *provider.InstanceChanges) error { a.Changed = nil; return nil }
				})
				q.vendor.change(nameOf(9), "b") // The cloud is asked about this Node last.
				q.after(longer*hintedPeriod + 3*hintedPeriod)
				if rack := q.node(nameOf(9)).Labels["rack"]; rack != "b" {
					t.Errorf("the rack is %q 45 minutes after it became b", rack)
				}
				q.takeCalls()
				q.after(4 * longer * hintedPeriod)
				if lists, _, asked := q.takeCalls(); lists > 4*40 || asked > 4*10 {
					t.Errorf("in two hours %d pages and %d questions about 10 Nodes", lists, asked)
				}
			})
		})
	}
}

// A list can have many more instances than the cluster has Nodes. The first round does
// not take a period for each additional page, and the next round reads all pages within
// one period.
func TestListOfManyOtherInstances(t *testing.T) {
	for _, tt := range []struct {
		name          string
		nodes, others int
		first         string // prefix of the names of the other instances; the list is in the order of names
		takes         time.Duration
	}{
		{"BeforeAllNodes", 3, 70, "a", 0},
		{"BeforeAllNodesAndSlow", 3, 70, "a", time.Second},
		{"AfterTheFirstNode", 100, 300, "n000-", 0},
		{"AfterTheFirstNodeAndSlow", 100, 300, "n000-", time.Second},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				q := beginHinted(t, tt.nodes)
				defer func() { q.stop(); q.after(time.Minute) }() // The last call ends.
				q.vendor.set(func(h *hints) {
					h.watch = func(context.Context, *provider.InstanceChanges) error { return errors.New("no") }
					h.pageTakes = tt.takes
				})
				q.vendor.mu.Lock()
				for n := range tt.others {
					name := fmt.Sprintf("%s%03d", tt.first, n)
					q.vendor.instances[name] = instanceOf(name)
				}
				q.vendor.mu.Unlock()
				last := nameOf(tt.nodes - 1)
				q.vendor.change(last, "b")
				q.after(4 * hintedPeriod)
				if rack := q.node(last).Labels["rack"]; rack != "b" {
					t.Errorf("the rack is %q four periods after it became b", rack)
				}
				q.takeCalls()
				q.after(4 * hintedPeriod)
				pages := (tt.nodes + tt.others + 9) / 10
				if lists, _, asked := q.takeCalls(); lists < 3*pages || lists > 5*pages || asked > 5 {
					t.Errorf("in four periods %d pages and %d questions, want %d and 4", lists, asked, 4*pages)
				}
			})
		})
	}
}

// A list can have many pages because its pages are small.
func TestListOfSmallPages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := beginHinted(t, 200)
		defer func() { q.stop() }()
		q.after(4 * hintedPeriod)
		if _, _, asked := q.takeCalls(); asked > 3 {
			t.Errorf("%d questions about Nodes that the list confirms", asked)
		}
	})
}

// The watch can name the same Node by ID and by name.
func TestNodeThatIsNamedTwiceGetsOnePass(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := beginHinted(t, 1)
		defer func() { q.stop() }()
		waits := joins("waits")
		waits.Spec.ProviderID = "p://waits"
		if _, err := q.cluster.CoreV1().Nodes().Create(t.Context(), waits, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		q.after(time.Second)
		now := time.Now()
		q.control.wakeChanged(cloud.Changes{ProviderIDs: []string{"p://waits"}, NodeNames: []string{"waits"}})
		if n := q.control.woken.nodes["waits"]; n.passes.IsWhole(now) || !n.passes.IsWhole(now.Add(wokenLimit.Every)) {
			t.Errorf("remembered %+v, want one pass", n)
		}
	})
}

// The watch causes passes while a Node waits. These passes do not reduce the number of
// questions about the Node once it is initialised.
func TestWokenNodeHasTwoAllowances(t *testing.T) {
	w := woken{more: make(chan struct{}, 1), nodes: map[string]wokenNode{}}
	for n := range wokenLimit.Burst + 1 {
		now := noon.Add(time.Duration(n) * time.Second)
		if wait, want := w.untilPass("n1", now), n == wokenLimit.Burst; (wait > 0) != want {
			t.Errorf("naming %d: the pass waits %v, want a wait: %v", n+1, wait, want)
		}
	}
	w.add("n1", noon.Add(10*time.Second))
	if names, _ := w.take(noon.Add(10 * time.Second)); len(names) != 1 {
		t.Error("the initialised Node is not asked about at once")
	}
}

// inBatches is a vendor's cloud with all fast paths. Each call for a batch takes 30 ms.
type inBatches struct{ hinted }

// MaxInstanceMetadataBatch implements provider.InstanceMetadataBatcher.
func (inBatches) MaxInstanceMetadataBatch() int { return 100 }

// InstanceMetadataBatch implements provider.InstanceMetadataBatcher.
func (b inBatches) InstanceMetadataBatch(_ context.Context, nodes []*corev1.Node) ([]provider.InstanceMetadataAnswer, error) {
	time.Sleep(30 * time.Millisecond)
	v := b.vendor
	v.mu.Lock()
	defer v.mu.Unlock()
	v.hints.batches++
	answers := make([]provider.InstanceMetadataAnswer, len(nodes))
	for n, node := range nodes {
		if i, ok := v.instances[node.Name]; ok {
			answers[n].Metadata = &i
		} else {
			answers[n].Err = cloudprovider.InstanceNotFound
		}
	}
	return answers, nil
}

// With all fast paths, many Nodes cost few calls (P1, P2).
func TestCallsForManyNodes(t *testing.T) {
	const size = 500
	synctest.Test(t, func(t *testing.T) {
		var joined []*corev1.Node
		for n := range size {
			joined = append(joined, joins(nameOf(n)))
		}
		h := newHints()
		h.pageSize, h.inBatches = 100, true
		q := beginWith(t, &vendor{hints: h}, Config{Reads: 16}, nil, joined...)
		defer func() { q.stop() }()
		calls := func() (all int) {
			q.vendor.set(func(h *hints) {
				all = h.lists + h.watches + h.batches
				h.lists, h.watches, h.batches = 0, 0, 0
			})
			return all + len(q.takeAsked())
		}
		q.after(20 * time.Second)
		if n := calls(); n > size/100+10 {
			t.Errorf("%d calls to initialise %d Nodes, want at most %d", n, size, size/100+10)
		}
		list, err := q.cluster.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for _, node := range list.Items {
			if !isReleased(&node) {
				t.Fatalf("Node %s is not initialised after 20 seconds", node.Name)
			}
		}
		q.after(2 * hintedPeriod)
		q.takeWrites()
		calls()
		q.after(30 * time.Minute)
		if n, writes := calls(), q.takeWrites(); n > 3*30 || writes > 0 {
			t.Errorf("%d calls and %d writes in 30 minutes without a change, want at most 3 calls a minute and no writes", n, writes)
		}
		q.vendor.change(nameOf(17), "b")
		q.after(2 * time.Second)
		if rack := q.node(nameOf(17)).Labels["rack"]; rack != "b" {
			t.Errorf("the rack is %q 2 seconds after it became b", rack)
		}
	})
}
