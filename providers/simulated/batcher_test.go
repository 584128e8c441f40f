package simulated

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
)

// held is a cloud in which each call waits until the test releases it.
type held struct {
	mu     sync.Mutex
	calls  map[string]chan error // guarded by mu; the key has the questions of the call, joined by +
	causes []string              // guarded by mu; the reasons why calls were canceled
}

func newHeld(most int) (*held, *batcher[string, string]) {
	h := &held{calls: map[string]chan error{}}
	return h, &batcher[string, string]{call: h.call, most: most}
}

func (h *held) call(ctx context.Context, questions []string) ([]answer[string], error) {
	released := make(chan error)
	h.mu.Lock()
	h.calls[strings.Join(questions, "+")] = released
	h.mu.Unlock()
	select {
	case err := <-released:
		if err != nil {
			return nil, err
		}
	case <-ctx.Done():
		h.mu.Lock()
		defer h.mu.Unlock()
		h.causes = append(h.causes, context.Cause(ctx).Error())
		return nil, context.Cause(ctx)
	}
	answers := make([]answer[string], len(questions))
	for n, q := range questions {
		answers[n] = answer[string]{value: strings.ToUpper(q)}
		if strings.HasPrefix(q, "bad") {
			answers[n] = answer[string]{err: errors.New(q)}
		}
	}
	return answers, nil
}

func (h *held) release(call string, err error) {
	synctest.Wait()
	h.mu.Lock()
	released := h.calls[call]
	h.mu.Unlock()
	released <- err
}

// made returns the calls that were made, in alphabetical order.
func (h *held) made() []string {
	synctest.Wait()
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Sorted(maps.Keys(h.calls))
}

// inquiry is one question and its answer.
type inquiry struct {
	leave context.CancelCauseFunc
	got   chan string // gets the answer or the error
}

func inquire(t *testing.T, b *batcher[string, string], question string) inquiry {
	ctx, cancel := context.WithCancelCause(t.Context())
	i := inquiry{leave: cancel, got: make(chan string, 1)}
	go func() {
		value, err := b.ask(ctx, question)
		if err != nil {
			value = "error: " + err.Error()
		}
		i.got <- value
	}()
	synctest.Wait()
	return i
}

// pending reports whether there is no answer yet.
func (i inquiry) pending() bool {
	synctest.Wait()
	return len(i.got) == 0
}

// busy starts maxSharedCalls calls. Any other question then has to wait.
func busy(t *testing.T, b *batcher[string, string]) []string {
	first := []string{"first0", "first1", "first2", "first3"}
	diff(t, "calls at the same time", maxSharedCalls, len(first))
	for _, question := range first {
		inquire(t, b, question)
	}
	return first
}

// errEnough is the reason for which a caller gives up.
var errEnough = errors.New("enough")

func TestWhoAsksMeanwhileSharesACall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, b := newHeld(2)
		first := busy(t, b)
		diff(t, "the first questions are sent alone and at once", first, h.made())
		one, bad, two := inquire(t, b, "a"), inquire(t, b, "bad"), inquire(t, b, "c")
		diff(t, "no further call while all are running", first, h.made())
		for _, call := range first {
			h.release(call, nil)
		}
		diff(t, "the waiting questions are sent together, up to the maximum of a call", append([]string{"a+bad", "c"}, first...), h.made())
		h.release("a+bad", nil)
		h.release("c", nil)
		diff(t, "each has its own answer", []string{"A", "error: bad", "C"}, []string{<-one.got, <-bad.got, <-two.got})
		late := inquire(t, b, "late")
		h.release("late", nil)
		diff(t, "a later question", "LATE", <-late.got)
	})
}

func TestOneCallThatHangsHoldsUpNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, b := newHeld(10)
		hangs, second := inquire(t, b, "hangs"), inquire(t, b, "second")
		h.release("second", nil)
		diff(t, "another caller", "SECOND", <-second.got)
		hangs.leave(errEnough)
		diff(t, "the caller that has given up", "error: enough", <-hangs.got)
	})
}

func TestAnErrorOfACallIsEverybodys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, b := newHeld(10)
		first := busy(t, b)
		one, two := inquire(t, b, "a"), inquire(t, b, "b")
		for _, call := range first {
			h.release(call, nil)
		}
		h.release("a+b", errors.New("outage"))
		diff(t, "answers", []string{"error: outage", "error: outage"}, []string{<-one.got, <-two.got})
	})
}

func TestWhoLeavesIsNotAskedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, b := newHeld(10)
		first := busy(t, b)
		leaves, stays := inquire(t, b, "leaves"), inquire(t, b, "stays")
		leaves.leave(errEnough)
		diff(t, "a caller that gives up returns at once", "error: enough", <-leaves.got)
		for _, call := range first {
			h.release(call, nil)
		}
		diff(t, "calls", append(first, "stays"), h.made())
		h.release("stays", nil)
		diff(t, "who stays", "STAYS", <-stays.got)
	})
}

func TestACallLastsAsLongAsSomebodyWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, b := newHeld(10)
		first := busy(t, b)
		one, two := inquire(t, b, "one"), inquire(t, b, "two")
		for _, call := range first {
			h.release(call, nil)
		}
		diff(t, "calls", append(first, "one+two"), h.made())
		one.leave(errEnough)
		diff(t, "a caller that gives up returns at once", "error: enough", <-one.got)
		diff(t, "the other one waits", true, two.pending())
		two.leave(errors.New("too long"))
		diff(t, "the last one ends the call", "error: too long", <-two.got)
		diff(t, "the cause of the canceled call", []string{"too long"}, h.causes)
	})
}

func TestWhoHasLeftAsksNothing(t *testing.T) {
	h, b := newHeld(10)
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errEnough)
	_, err := b.ask(ctx, "late")
	diff(t, "error", "enough", text(err))
	diff(t, "calls", 0, len(h.calls))
}

// The last caller that gives up may be too late to cancel the call.
func TestWhoLeavesTooLateHasTheAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		deaf := make(chan struct{})
		b := &batcher[string, string]{most: 1, call: func(context.Context, []string) ([]answer[string], error) {
			<-deaf
			return []answer[string]{{value: "done"}}, nil
		}}
		late := inquire(t, b, "late")
		late.leave(errEnough)
		diff(t, "it waits for the end of the call", true, late.pending())
		close(deaf)
		diff(t, "answer", "done", <-late.got)
	})
}
