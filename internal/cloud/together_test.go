package cloud

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/fairlead-k8s/fairlead/provider"
)

// tallying is a provider that answers about a batch of nodes in one call. It counts its
// calls. Each call takes 30 ms.
type tallying struct {
	most   int
	before func(nodes []*corev1.Node) error // called before a batch is answered
	quota  *quota                           // nil: the cloud has none

	mu                     sync.Mutex
	batches, alone, exists int
}

func (c *tallying) count(n *int) {
	time.Sleep(30 * time.Millisecond)
	c.mu.Lock()
	defer c.mu.Unlock()
	*n++
}

func (c *tallying) askedAlone() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.alone
}

func (c *tallying) InstanceExists(context.Context, *corev1.Node) (bool, error) {
	c.count(&c.exists)
	return true, nil
}

func (c *tallying) InstanceShutdown(context.Context, *corev1.Node) (bool, error) { return false, nil }

func (c *tallying) InstanceMetadata(_ context.Context, n *corev1.Node) (*cloudprovider.InstanceMetadata, error) {
	c.count(&c.alone)
	return &cloudprovider.InstanceMetadata{ProviderID: "p://" + n.Name}, nil
}
func (c *tallying) MaxInstanceMetadataBatch() int { return c.most }

func (c *tallying) InstanceMetadataBatch(_ context.Context, nodes []*corev1.Node) ([]provider.InstanceMetadataAnswer, error) {
	c.count(&c.batches)
	if c.quota != nil && !c.quota.take() {
		return nil, httpError(429)
	}
	if c.before != nil {
		if err := c.before(nodes); err != nil {
			return nil, err
		}
	}
	var answers []provider.InstanceMetadataAnswer
	for _, n := range nodes {
		answers = append(answers, provider.InstanceMetadataAnswer{Metadata: &cloudprovider.InstanceMetadata{ProviderID: "p://" + n.Name}})
	}
	return answers, nil
}

// initialise asks about nodes that arrive one after the other, with this interval in
// between. It asks about at most as many nodes at the same time as the controller does.
// It returns the number of nodes that got their own answer, and not another node's.
func initialise(t *testing.T, i *Instances, nodes int, interval time.Duration) (own int) {
	t.Helper()
	return initialiseAt(t, i, nodes, func(int) time.Duration { return interval })
}

// initialiseAt is like initialise, but the function pause returns the time before each
// arrival.
func initialiseAt(t *testing.T, i *Instances, nodes int, pause func(n int) time.Duration) (own int) {
	t.Helper()
	var mu sync.Mutex
	var all sync.WaitGroup
	places := make(chan struct{}, 200)
	for n := range nodes {
		time.Sleep(pause(n))
		places <- struct{}{}
		all.Go(func() {
			defer func() { <-places }()
			name := "n" + strconv.Itoa(n)
			if got, err := i.Metadata(t.Context(), node(name)); err == nil && got.ProviderID == "p://"+name {
				mu.Lock()
				own++
				mu.Unlock()
			}
		})
	}
	all.Wait()
	return own
}

func TestNodesThatWaitAreAskedAboutTogether(t *testing.T) {
	for _, tt := range []struct {
		name        string
		nodes, most int
		interval    time.Duration // between two arrivals
		calls       int
		longest     time.Duration
	}{
		{name: "ThousandAtOnce", nodes: 1000, most: 100, calls: 12, longest: 1100 * time.Millisecond},
		{name: "FiveThousandWithinTwentySeconds", nodes: 5000, most: 100, interval: 4 * time.Millisecond, calls: 55, longest: 21 * time.Second},
		{name: "OneAloneWaitsForNobody", nodes: 1, most: 100, calls: 1, longest: 35 * time.Millisecond},
		{name: "SecondOneHardlyWaits", nodes: 2, most: 100, interval: 20 * time.Millisecond, calls: 2, longest: 75 * time.Millisecond},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := &tallying{most: tt.most}
				began := time.Now()
				own := initialise(t, gateway(t, vendor{v2: c}, Config{}).Instances(), tt.nodes, tt.interval)
				if took := time.Since(began); own != tt.nodes || took > tt.longest || c.batches > tt.calls || c.alone > 0 {
					t.Errorf("%d of %d nodes got their answers in %v and %d calls, %d of them alone; want %v and %d calls", own, tt.nodes, took, c.batches+c.alone, c.alone, tt.longest, tt.calls)
				}
			})
		})
	}
}

// Five thousand Nodes arrive over 26 s at a cloud that allows 100 calls a second.
// On a busy machine they arrive in spurts.
func TestFiveThousandNodesAreFiftyFewCalls(t *testing.T) {
	const nodes, over = 5000, 26 * time.Second
	evenly := func(int) time.Duration { return over / nodes }
	for _, tt := range []struct {
		name    string
		pause   func(n int) time.Duration
		ceiling Ceiling
		calls   int
		longest time.Duration
	}{
		{name: "Evenly", pause: evenly, calls: 56, longest: over + time.Second},
		{name: "InSpurts", pause: func(n int) time.Duration {
			if n%500 == 499 {
				return 2 * time.Second
			}
			return 1200 * time.Microsecond
		}, calls: 70, longest: over + time.Second},
		{name: "InShortSpurts", pause: func(n int) time.Duration {
			if n%100 == 99 {
				return 510 * time.Millisecond
			}
			return 100 * time.Microsecond
		}, calls: 56, longest: over + time.Second},
		// A call that waits for its turn collects the questions that come in the
		// meantime.
		{name: "TwoCallsASecond", pause: evenly, ceiling: Ceiling{PerSecond: 2}, calls: 53, longest: over + time.Second},
		{name: "OneCallASecond", pause: evenly, ceiling: Ceiling{PerSecond: 1}, calls: 52, longest: 52 * time.Second},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := &tallying{most: 100, quota: &quota{rate: 100, burst: 200, tokens: 200, last: time.Now()}}
				i := gateway(t, vendor{v2: c}, Config{Ceiling: tt.ceiling}).Instances()
				began := time.Now()
				own := initialiseAt(t, i, nodes, tt.pause)
				took := time.Since(began)
				t.Logf("%d calls in %v", c.batches, took)
				if own != nodes || c.alone > 0 || c.batches > tt.calls || took > tt.longest {
					t.Errorf("%d of %d nodes got their answers in %v and %d calls, %d of them alone; want %v and %d calls", own, nodes, took, c.batches+c.alone, c.alone, tt.longest, tt.calls)
				}
			})
		})
	}
}

func TestNodesOfACallThatFailsGetTheirAnswers(t *testing.T) {
	for name, tt := range map[string]struct {
		before func([]*corev1.Node) error
		own    int
		alone  int
	}{
		"BatchFails":    {func([]*corev1.Node) error { return errors.New("no") }, 3, 3},
		"BatchPanics":   {func([]*corev1.Node) error { panic("no") }, 3, 3},
		"BatchHangs":    {func([]*corev1.Node) error { time.Sleep(time.Hour); return nil }, 0, 3}, // Before the answers come, the callers fail with Slow. The answers are kept for the next callers.
		"OneIsDenied":   {func([]*corev1.Node) error { return httpError(403) }, 3, 3},
		"OneIsBroken":   {func([]*corev1.Node) error { return httpError(503) }, 3, 3},
		"QuotaIsUsedUp": {func([]*corev1.Node) error { return httpError(429) }, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := &tallying{most: 3, before: tt.before}
				i := gateway(t, vendor{v2: c}, Config{}).Instances()
				own := initialise(t, i, 3, 0)
				time.Sleep(time.Minute)
				if alone := c.askedAlone(); own != tt.own || alone != tt.alone {
					t.Errorf("%d nodes got their own answer, %d were asked about alone; want %d and %d", own, alone, tt.own, tt.alone)
				}
				if again := initialise(t, i, 3, 0); name == "BatchHangs" && again != 3 {
					t.Errorf("%d nodes have an answer although a call about them hangs, want 3", again)
				}
				time.Sleep(time.Hour)
			})
		})
	}
}

// Evidence for a deletion comes from a call about one Node alone, even if the
// provider offers batches (promise S1).
func TestEvidenceIsNeverAskedTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &tallying{most: 100}
		i := gateway(t, vendor{v2: c}, Config{}).Instances()
		var all sync.WaitGroup
		for n := range 20 {
			all.Go(func() {
				if _, err := i.Existence(t.Context(), node("n"+strconv.Itoa(n))); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if c.exists != 20 || c.batches+c.alone > 0 {
			t.Errorf("%d questions about existence and %d other calls, want 20 and none", c.exists, c.batches+c.alone)
		}
	})
}

func TestCallTakesAtMostAsManyQuestionsAsItMay(t *testing.T) {
	for _, tt := range []struct{ waiting, most, want int }{{5, 2, 2}, {5, 9, 3}, {1, 9, 1}} {
		q := together{most: 3, waiting: make([]*member, tt.waiting), calls: 1}
		if got := len(q.take(tt.most)); got != tt.want || len(q.waiting) != tt.waiting-tt.want || q.calls != 0 {
			t.Errorf("%d questions taken of %d, and %d left, want %d", got, tt.waiting, len(q.waiting), tt.want)
		}
	}
}

// A question that waits for a call says why that call waits: the question that made the
// call begin, and one that came later. The latter still does after the call has begun
// without it.
func TestQuestionThatWaitsForACallSaysWhy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		end := make(chan bool)
		q := together{most: 10, longestCall: time.Minute, call: func(_ context.Context, p *progress, take taker) ([]Answer, error) {
			p.set(errHeld)
			<-end
			take(1)
			<-end
			return nil, ErrAlone
		}}
		var all sync.WaitGroup
		var questions [2]progress
		for n := range questions {
			all.Go(func() { q.ask(t.Context(), &questions[n], node("a")) })
			time.Sleep(time.Second)
			if got := questions[n].get(); !errors.Is(got, errHeld) {
				t.Errorf("question %d waits because of %v, want %v", n, got, errHeld)
			}
		}
		end <- true
		synctest.Wait()
		if first, second := questions[0].get(), questions[1].get(); first != nil || !errors.Is(second, errHeld) {
			t.Errorf("after the call has begun, the questions wait because of %v and %v, want nil and %v", first, second, errHeld)
		}
		close(end)
		all.Wait()
	})
}
