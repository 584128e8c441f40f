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
	// to longestBetween, so each call takes more questions. It becomes collectFor again
	// when no call has taken questions for longer than burstFor. burstFor is that long
	// because questions from a busy machine come in bursts.
	collectFor     = 5 * time.Millisecond
	longestBetween = 750 * time.Millisecond
	burstFor       = 5 * time.Second
)

// together collects questions about nodes and asks several of them in one call. A
// question waits for others for at most longestBetween or, if it comes alone, for at most
// collectFor. Then the call waits for its turn. Until that turn, further questions can
// join the call.
type together struct {
	most int // the maximum number of nodes in a call
	// longestCall is the longest time to wait for a call under way. After that time
	// the provider is asked about each node alone, because one of the nodes might be
	// why the call hangs.
	longestCall time.Duration
	// call makes one call, and returns an answer about each node that it has taken. The
	// error ErrAlone means that the provider has to be asked about the node alone.
	call func(ctx context.Context, p *progress, take taker) ([]Answer, error)

	mu              sync.Mutex
	waiting         []*member     // the questions that no call has taken yet; guarded by mu
	calls, underWay int           // the calls that have not taken nodes yet, and the others that have not returned; guarded by mu
	newest          *progress     // of the call that has begun last; guarded by mu
	timer           *time.Timer   // begins the next call; nil if no question needs one; guarded by mu
	sent            time.Time     // when nodes were last taken; guarded by mu
	between         time.Duration // guarded by mu
}

// taker returns the nodes that a call is about, at most so many. It is called when it is
// the call's turn, and returns the same nodes if the call is made again.
type taker func(most int) []*corev1.Node

// member is a question that is asked together with others.
type member struct {
	node     *corev1.Node
	progress *progress
	answered chan Answer // has room for one
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
			return answer, answer.Err != ErrAlone //nolint:errorlint // it is ours, and not wrapped
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
		own.progress.follow(t.newest)
	}
	t.next(ctx)
}

// next begins the next call, or sets the timer for it. The caller holds mu.
func (t *together) next(ctx context.Context) {
	left := len(t.waiting) - t.calls*t.most
	switch {
	case left >= t.most && (t.calls+t.underWay == 0 || time.Since(t.sent) >= longestBetween):
		t.begin(ctx) // One call after the other: the cloud may count each question.
	case left > 0 && t.timer == nil:
		t.timer = time.AfterFunc(t.pause(time.Now()), func() {
			t.mu.Lock()
			defer t.mu.Unlock()
			if t.timer != nil { // Otherwise enough questions came in the meantime, and a call has begun.
				t.begin(ctx)
			}
		})
	}
}

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
	t.newest = &progress{}
	t.newest.set(errQuota)
	for _, m := range t.waiting {
		m.progress.follow(t.newest)
	}
	go t.carryOut(ctx, t.newest)
}

// take returns at most so many of the questions that wait.
func (t *together) take(most int) []*member {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := min(most, t.most, len(t.waiting))
	all := slices.Clone(t.waiting[:n])
	t.waiting = slices.Delete(t.waiting, 0, n)
	t.calls, t.underWay, t.sent = t.calls-1, t.underWay+1, time.Now()
	return all
}

func (t *together) carryOut(ctx context.Context, shared *progress) {
	var all []*member
	var nodes []*corev1.Node
	full := false // whether the quota leaves room for so few questions that others may wait
	take := func(most int) []*corev1.Node {
		if all != nil { // The call is made again.
			return nodes
		}
		all = t.take(most)
		full = len(all) == most && most < 2*usualCalls
		for _, m := range all {
			nodes, shared.also = append(nodes, m.node), append(shared.also, m.progress)
		}
		shared.set(nil)
		return nodes
	}
	var answers []Answer
	err := ErrAlone // if the provider's code ends the goroutine
	defer func() {
		if all == nil { // The call was not made. Its error is that of all questions that it would have taken.
			take(t.most)
		}
		for n, m := range all {
			answer := Answer{Err: err}
			if err == nil {
				answer = answers[n]
			}
			m.answered <- answer
		}
		t.mu.Lock()
		defer t.mu.Unlock()
		t.underWay--
		if left := len(t.waiting) - t.calls*t.most; full && left > 0 {
			t.begin(ctx)
			return
		}
		t.next(ctx)
	}()
	answers, err = t.call(ctx, shared, take)
}
