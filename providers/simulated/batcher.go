package simulated

import (
	"context"
	"slices"
	"sync"
)

// maxSharedCalls is the maximum number of calls that a batcher makes at the
// same time. It is greater than 1, so that a call that hangs does not hold up
// all questions.
const maxSharedCalls = 4

// batcher lets callers share calls. While fewer than maxSharedCalls are running,
// a question is sent at once. Otherwise the question waits until one of the
// calls ends. It is then sent together with the questions that have arrived in
// the meantime. A question is never delayed just to combine it with others. Under
// more load, each call has more questions.
type batcher[Q, A any] struct {
	// call sends questions to the cloud. It returns one answer to each question,
	// in the same order, or an error for all of them.
	call func(context.Context, []Q) ([]answer[A], error)
	most int // maximum number of questions in a call

	mu       sync.Mutex
	waiting  []*asked[Q, A] // guarded by mu; the questions that are not sent yet
	underWay int            // guarded by mu; the number of running calls
}

type answer[A any] struct {
	value A
	err   error
}

// asked is a question whose caller waits for the answer.
type asked[Q, A any] struct {
	question Q
	call     *sharedCall // nil until the question is sent; guarded by the batcher's mu

	answered chan struct{} // closed when the answer has arrived
	answer   answer[A]
}

// sharedCall is a call with the questions of one or more callers. It is canceled
// when no caller waits for it any more.
type sharedCall struct {
	askers int // guarded by the batcher's mu
	cancel context.CancelCauseFunc
}

// ask sends one question and returns its answer. If the context ends first, the
// cloud might have carried out the request or not, as with any call.
func (b *batcher[Q, A]) ask(ctx context.Context, question Q) (A, error) {
	var none A
	if ctx.Err() != nil {
		return none, context.Cause(ctx) // the context has ended: send nothing
	}
	a := &asked[Q, A]{question: question, answered: make(chan struct{})}
	b.mu.Lock()
	b.waiting = append(b.waiting, a)
	b.send(ctx)
	b.mu.Unlock()
	select {
	case <-a.answered:
	case <-ctx.Done():
		if !b.leave(a, context.Cause(ctx)) {
			return none, context.Cause(ctx)
		}
		<-a.answered // leave has canceled the call, because this caller was the last; wait for the end of the call
	}
	return a.answer.value, a.answer.err
}

// send sends the waiting questions until maxSharedCalls are running. b.mu is
// held.
func (b *batcher[Q, A]) send(ctx context.Context) {
	for b.underWay < maxSharedCalls && len(b.waiting) > 0 {
		n := min(len(b.waiting), b.most)
		together := slices.Clone(b.waiting[:n])
		b.waiting = slices.Delete(b.waiting, 0, n)
		// The call must go on if the context of one caller ends, because other callers
		// share the call.
		ctx, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
		call := &sharedCall{askers: n, cancel: cancel}
		for _, a := range together {
			a.call = call
		}
		b.underWay++
		go func() {
			defer cancel(nil)
			b.carryOut(ctx, together)
		}()
	}
}

func (b *batcher[Q, A]) carryOut(ctx context.Context, together []*asked[Q, A]) {
	questions := make([]Q, len(together))
	for n, a := range together {
		questions[n] = a.question
	}
	answers, err := b.call(ctx, questions)
	b.mu.Lock()
	b.underWay--
	b.send(ctx)
	b.mu.Unlock()
	for n, a := range together {
		if err != nil {
			a.answer.err = err
		} else {
			a.answer = answers[n]
		}
		close(a.answered)
	}
}

// leave withdraws the question of a caller that gives up. If no other caller
// waits for the same call, leave cancels the call and returns true.
func (b *batcher[Q, A]) leave(a *asked[Q, A], why error) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if a.call == nil {
		b.waiting = slices.DeleteFunc(b.waiting, func(other *asked[Q, A]) bool { return other == a })
		return false
	}
	a.call.askers--
	if a.call.askers > 0 {
		return false
	}
	a.call.cancel(why)
	return true
}
