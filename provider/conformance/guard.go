package conformance

import (
	"context"
	"fmt"
	"runtime/debug"
	"strings"
	"time"
)

// grace is the time that a check gets after its deadline to end by itself.
const grace = 5 * time.Second

// guard calls f in a new goroutine. A panic fails the check. If f does not return
// soon after the end of the context, the check fails and guard returns true.
func (t *trial) guard(ctx context.Context, what string, f func()) (hung bool) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		t.caught(what, f)
	}()
	select {
	case <-done:
		return false
	case <-ctx.Done():
	}
	late := time.NewTimer(min(grace, t.timeout))
	defer late.Stop()
	select {
	case <-done:
	case <-late.C:
		hung = true
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case hung: // The report ignores everything that the goroutine does later.
		t.decide(Failed, fmt.Sprintf("%s: has not returned, although its context has ended: %v", what, context.Cause(ctx)))
		t.abandoned = true
	case t.found.Outcome == "" || t.found.Outcome == Failed && !t.explained: // An earlier failure may be expected, so it must not hide this one.
		t.decide(Failed, fmt.Sprintf("%s: not finished in time: %v", what, context.Cause(ctx)))
	}
	return hung
}

// caught calls f. A panic fails the check. A call of runtime.Goexit also fails the
// check, unless the check itself has made that call.
func (t *trial) caught(what string, f func()) {
	t.explain(false)
	returned := false
	defer func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		if !returned && !t.explained {
			t.decide(Failed, what+": the provider has ended the goroutine of its caller (runtime.Goexit)")
			t.explained = true
		}
	}()
	defer func() {
		if p := recover(); p != nil {
			t.panicked(what, p)
			t.explain(true)
		}
	}()
	f()
	returned = true
}

// explain records whether the report already says why the function of the check has
// ended early.
func (t *trial) explain(explained bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.explained = explained
}

// recovered makes a panic a failure of the check. It must be deferred.
func (t *trial) recovered(what string) {
	if p := recover(); p != nil {
		t.panicked(what, p)
	}
}

func (t *trial) panicked(what string, p any) {
	t.errorf("%s: panic: %v\n%s", what, p, culprit(string(debug.Stack())))
}

// culprit returns the part of a stack that shows the function that has panicked.
func culprit(stack string) string {
	lines := strings.Split(stack, "\n")
	for n, line := range lines {
		if strings.HasPrefix(line, "panic(") {
			return strings.Join(lines[n+2:min(n+8, len(lines))], "\n")
		}
	}
	return stack
}
