package cloud

import (
	"context"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
)

const (
	// collectFor is how long a question waits for others. While questions keep
	// coming, the time between two calls doubles up to longestBetween, so that few
	// calls are half empty.
	collectFor     = 5 * time.Millisecond
	longestBetween = 500 * time.Millisecond
)

// together collects questions about nodes and asks several of them in one call.
// No question waits for others longer than longestBetween, and a question that
// comes alone no longer than collectFor.
type together struct {
	most int // nodes in a call
	// longestCall is how long a call may be under way until each of its nodes is asked
	// about alone, because one of them may be why it hangs.
	longestCall time.Duration
	call        func(context.Context, *progress, []*corev1.Node) ([]Answer, error)

	mu      sync.Mutex
	waiting []*member     // guarded by mu
	timer   *time.Timer   // begins the next call; nil while nothing waits; guarded by mu
	sent    time.Time     // when the last call began; guarded by mu
	between time.Duration // guarded by mu
}

// member is a question that is asked together with others.
type member struct {
	node     *corev1.Node
	progress *progress
	answered chan Answer // has room for one
	failed   error       // of the whole call; written before answered
}

// ask returns the answer about one node. It returns false if the node has to be
// asked about alone. The context is that of the controller. Its end ends the call.
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

func (t *together) add(ctx context.Context, own *member) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.waiting = append(t.waiting, own)
	switch {
	case len(t.waiting) == t.most:
		t.send(ctx)
	case t.timer == nil:
		t.timer = time.AfterFunc(t.pause(time.Now()), func() {
			t.mu.Lock()
			defer t.mu.Unlock()
			if len(t.waiting) > 0 { // Otherwise the call has become full in this moment.
				t.send(ctx)
			}
		})
	}
}

// pause returns how long the first question of a call waits for others. The caller
// holds mu.
func (t *together) pause(now time.Time) time.Duration {
	since := now.Sub(t.sent)
	if since > longestBetween {
		t.between = collectFor
		return collectFor
	}
	t.between = min(2*t.between, longestBetween)
	return max(t.between-since, collectFor)
}

// send begins a call with all questions that wait. The caller holds mu.
func (t *together) send(ctx context.Context) {
	if t.timer != nil {
		t.timer.Stop()
	}
	all := t.waiting
	t.waiting, t.timer, t.sent = nil, nil, time.Now()
	go t.carryOut(ctx, all)
}

func (t *together) carryOut(ctx context.Context, all []*member) {
	var shared progress
	nodes := make([]*corev1.Node, len(all))
	for n, m := range all {
		nodes[n] = m.node
		shared.also = append(shared.also, m.progress)
	}
	err := error(call{method: batchMethod}.failed(Panicked, errEnded)) // if the provider's code ends the goroutine
	answers := make([]Answer, len(all))
	defer func() {
		for n, m := range all {
			m.failed = err
			m.answered <- answers[n]
		}
	}()
	var theirs []Answer
	if theirs, err = t.call(ctx, &shared, nodes); err == nil {
		answers = theirs
	}
}

// hasNotBegun reports whether a call about several nodes has ended before the cloud
// looked at them. After other errors each node is asked about alone: one of them
// may be the cause, and the others must get their answers.
func hasNotBegun(err error) bool {
	kind := KindOf(err)
	return kind == Throttled || kind == Slow || kind == Canceled || HeldFor(err) > 0
}
