package cloud

import (
	"context"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
)

const (
	// collectFor is the time that a question waits for others. While questions keep
	// coming, the time between two calls grows by a factor of four after each call, up
	// to longestBetween. So each call takes more questions. The time becomes collectFor
	// again when no call has taken questions for longer than burstFor. burstFor is that
	// long because questions from a busy machine come in bursts.
	collectFor     = 5 * time.Millisecond
	longestBetween = 750 * time.Millisecond
	burstFor       = 5 * time.Second
)

// together collects questions about nodes and asks several of them in one call. A
// question waits for others for at most longestBetween or, if it comes alone, for at
// most collectFor. Then the call waits for its turn. Until that turn, further questions
// can join the call.
type together struct {
	most int // the maximum number of nodes in a call
	// longestCall is the longest time to wait for a call under way. After that time
	// the provider is asked about each node alone, because one of the nodes might be
	// why the call hangs.
	longestCall time.Duration
	// call makes one call. When it is the call's turn, the nodes come from the function
	// take.
	call func(ctx context.Context, p *progress, take func() []*corev1.Node) ([]Answer, error)

	mu      sync.Mutex
	waiting []*member     // the questions that no call has taken yet; guarded by mu
	calls   int           // the number of calls that have begun and have not taken nodes yet; guarded by mu
	timer   *time.Timer   // begins the next call; nil if no question needs one; guarded by mu
	sent    time.Time     // when nodes were last taken; guarded by mu
	between time.Duration // guarded by mu
}

// member is a question that is asked together with others.
type member struct {
	node     *corev1.Node
	progress *progress
	answered chan Answer // has room for one
	failed   error       // the error of the whole call; written before answered
}

// ask returns the answer about one node. It returns false if the caller has to ask
// about this node alone. ctx is the controller's context. When ctx ends, the call
// ends.
func (t *together) ask(ctx context.Context, p *progress, node *corev1.Node) (Answer, bool) {
	own := &member{node: node, progress: p, answered: make(chan Answer, 1)}
	t.add(ctx, own)
	timer := time.NewTimer(t.longestCall)
	defer timer.Stop()
	for {
		select {
		case answer := <-own.answered:
			if own.failed == nil {
				return answer, true
			}
			return Answer{Err: own.failed}, hasNotBegun(own.failed)
		case <-timer.C:
			remaining := t.longestCall - p.underWay()
			if remaining <= 0 {
				return Answer{}, false
			}
			timer.Reset(remaining)
		}
	}
}

// add makes the question wait for a call. A call that waits for its turn takes the
// question if it has room.
func (t *together) add(ctx context.Context, own *member) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.waiting = append(t.waiting, own)
	if t.calls > 0 {
		own.progress.set(errQuota)
	}
	switch left := t.left(); {
	case left == t.most:
		t.begin(ctx)
	case left > 0 && t.timer == nil:
		t.timer = time.AfterFunc(t.pause(time.Now()), func() {
			t.mu.Lock()
			defer t.mu.Unlock()
			if t.left() > 0 { // Otherwise enough questions came in the meantime, and a call has begun.
				t.begin(ctx)
			}
		})
	}
}

// left returns the number of questions for which another call is needed. The caller
// holds mu.
func (t *together) left() int { return len(t.waiting) - t.calls*t.most }

// pause returns how long the first question of a call waits for others. The caller
// holds mu.
func (t *together) pause(now time.Time) time.Duration {
	since := now.Sub(t.sent)
	if since > burstFor {
		t.between = collectFor
		return collectFor
	}
	t.between = min(4*t.between, longestBetween)
	return max(t.between-since, collectFor)
}

// begin begins a call. The call takes its questions only when its turn has come. The
// caller holds mu.
func (t *together) begin(ctx context.Context) {
	if t.timer != nil {
		t.timer.Stop()
		t.timer = nil
	}
	t.calls++
	for _, m := range t.waiting {
		m.progress.set(errQuota)
	}
	go t.carryOut(ctx)
}

// take returns the questions of a call.
func (t *together) take() []*member {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := min(t.most, len(t.waiting))
	all := slices.Clone(t.waiting[:n])
	t.waiting = slices.Delete(t.waiting, 0, n)
	t.calls--
	t.sent = time.Now()
	return all
}

func (t *together) carryOut(ctx context.Context) {
	var shared progress
	var nodes []*corev1.Node
	all := sync.OnceValue(t.take)
	err := error(call{method: batchMethod}.failed(Panicked, errEnded)) // the error if the provider's code ends the goroutine
	var answers []Answer
	defer func() {
		for n, m := range all() {
			var answer Answer
			if m.failed = err; err == nil {
				answer = answers[n]
			}
			m.answered <- answer
		}
	}()
	answers, err = t.call(ctx, &shared, func() []*corev1.Node {
		if nodes == nil {
			for _, m := range all() {
				nodes = append(nodes, m.node)
				shared.also = append(shared.also, m.progress)
			}
			shared.set(nil)
		}
		return nodes
	})
}

// hasNotBegun reports whether a call about several nodes has ended before the cloud
// looked at the nodes. After any other error, one of the nodes might be the cause, so
// the provider is asked about each node alone.
func hasNotBegun(err error) bool {
	kind := KindOf(err)
	return kind == Throttled || kind == Slow || kind == Canceled || HeldFor(err) > 0
}
