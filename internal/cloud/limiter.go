package cloud

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"
)

// limiter decides when each call may begin. Each class of calls has its own rate, width
// and hold. Only the bounds that flags set, and the probes, are shared by all.
type limiter struct {
	mu       sync.Mutex
	classes  []*class  // about maxClasses at most; guarded by mu
	answered time.Time // when the cloud last answered any call; guarded by mu
	probes   probes    // guarded by mu
	ceiling  ceiling   // guarded by mu
	share    share     // guarded by mu
	// timer fires when the next of the waiting calls can start; guarded by mu.
	timer *time.Timer
}

// wait returns the class of the call when the call may start. The error is an *Error if
// calls are held back, and the error of ctx if ctx ends first. If there is no error, the
// caller must report the end of the call with the method ended.
func (l *limiter) wait(ctx context.Context, c call) (*class, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	own, err := l.enter(c)
	if err != nil {
		return nil, err
	}
	select {
	case <-own.begun:
	case <-ctx.Done():
	}
	if err := ctx.Err(); err != nil {
		l.leave(own)
		return nil, err
	}
	return own.class, own.err
}

// enter makes the call wait for its turn. While calls are held back, a call for a new
// object always waits: it may have been created just now, and objects that always fail
// must not keep it from being tried. Of the others, only one waits for the next probe.
func (l *limiter) enter(c call) (*turn, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	of := l.classOf(c, now)
	of.used, c.class = now, of
	if err := of.paused(c, now); err != nil {
		return nil, err
	}
	own := &turn{call: c, begun: make(chan struct{}), isNew: !of.failures.knows(c.object(), now)}
	if of.hold.isOpen() {
		of.failures.add(c.object(), failed{last: now})
		held := of.hold.heldBack(c, l.probes.again(c, now))
		waits := own.isNew || of.turns.count(refreshPriority) == 0
		if of.hold.kind == Denied {
			waits = l.probes.delay(&of.hold, now) <= 0
		}
		if !waits && !of.hold.parks(c, now) {
			return nil, held
		}
		c.progress.set(held)
	}
	of.turns.add(own)
	l.serve()
	return own, nil
}

// leave removes a waiting call that will not be made.
func (l *limiter) leave(own *turn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case <-own.begun:
		if own.err == nil {
			l.finish(own.class)
		}
	default:
		own.class.turns.remove(own)
	}
}

// ended records the end of a call for which wait has returned nil.
func (l *limiter) ended(of *class) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.finish(of)
}

// finish records that a call is no longer under way. The caller holds mu.
func (l *limiter) finish(of *class) {
	of.underWay--
	l.ceiling.underWay--
	l.serve()
}

// lasts records that a question has been under way for long, until the returned function
// is called. It does not count against the width any more, and counts as failed.
func (l *limiter) lasts(a attempt, started time.Time) (until func()) {
	l.record(a.call, started, a.failed(TimedOut, errSlow))
	add := func(n int) {
		l.mu.Lock()
		defer l.mu.Unlock()
		a.class.lasting += n
		l.serve()
	}
	add(1)
	return func() { add(-1) }
}

// hangsAfter returns the time after which a question counts as hanging.
func (l *limiter) hangsAfter(of *class) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return max(recently, time.Duration(4*of.usual*float64(time.Second)))
}

// serve starts the calls whose turn has come, and sets the timer for the next one. The
// caller holds mu.
func (l *limiter) serve() {
	for {
		now := time.Now()
		c, delay := l.next(now)
		switch {
		case c == nil:
			return
		case delay <= 0:
			l.begin(c, now)
			continue
		case l.timer == nil:
			l.timer = time.AfterFunc(delay, func() {
				l.mu.Lock()
				defer l.mu.Unlock()
				l.serve()
			})
		default:
			l.timer.Reset(delay)
		}
		return
	}
}

// next returns the class whose next call begins first, and the time until then. Classes
// take turns. It returns nil if no call waits. The caller holds mu.
func (l *limiter) next(now time.Time) (first *class, delay time.Duration) {
	for _, c := range l.classes {
		if c.hold.isOpen() && !c.hold.parks(call{priority: highPriority}, now) {
			for _, t := range c.turns.beyond(few) {
				t.err = c.hold.heldBack(t.call, l.probes.again(t.call, now))
				close(t.begun)
			}
		}
		if c.turns.count(refreshPriority) == 0 {
			continue
		}
		d := max(l.delay(c, now), 0)
		if first == nil || d < delay || d == delay && c.began.Before(first.began) {
			first, delay = c, d
		}
	}
	return first, delay
}

// delay returns the time that the next call of the class has to wait, and records what it
// waits for. The caller holds mu.
func (l *limiter) delay(c *class, now time.Time) time.Duration {
	bound := l.ceiling.delay(now)
	if c.hold.isOpen() {
		return max(l.probes.delay(&c.hold, now), bound)
	}
	quota, running := c.rate.delay(now), c.running()
	switch {
	case bound > 0:
		c.waits.add(CeilingLimits, now)
	case quota > 0:
		c.waits.add(QuotaLimits, now)
	}
	if c.key.kind == loadBalancerCalls {
		running = 0 // The workers bound these calls, which can take minutes.
	}
	return max(quota, bound, c.width.delay(now, running))
}

// begin starts the next call of the class. The caller holds mu.
func (l *limiter) begin(c *class, now time.Time) {
	var t *turn
	if c.hold.isOpen() {
		t = c.turns.newest()
		l.probes.begin(&c.hold, now)
	} else {
		t = c.turns.next()
	}
	c.underWay++
	c.began, c.used = now, now
	c.rate.begin(now, 1)
	l.ceiling.begin(now)
	if t.priority == refreshPriority {
		l.share.begin(now, l.shareOf(c.key.kind, now))
	}
	close(t.begun)
}

// record records how a call has ended. After a call about many objects, it is called for
// each object that has an error of its own.
func (l *limiter) record(c call, started time.Time, err error) (e effect) {
	l.mu.Lock()
	defer l.mu.Unlock()
	defer l.serve()
	now := time.Now()
	of := l.classOf(c, now)
	of.used = now
	m := meaningFor(c, err)
	l.probed(of, m, started, now)
	switch m {
	case answered:
		l.answer(of, c, started, now)
	case returned:
		if started.After(of.hold.opened) {
			of.close(now)
		}
	case refused, unreadable, hasFailed, failedForTenant:
		again := of.failures.hasFailed(c.object(), now)
		if m != refused {
			l.fail(of, c, err, now)
		}
		switch {
		case m == unreadable && again:
			of.failsAgain(started, now)
		case m == refused || m == unreadable && now.Sub(of.refuted) > lately:
			e.changed = l.refuse(of, c, started, err)
		}
		if of.hold.isOpen() && of.hold.kind != Throttled {
			e.again, e.parked = l.probes.again(c, now), of.hold.parks(c, now)
		}
		of.hold.after = now.Add(min(RetryAfter(err), recently))
	case saysNothing:
	}
	return e
}

// probed records how a call has ended, if it was a probe. The caller holds mu.
func (l *limiter) probed(of *class, m meaning, started, now time.Time) {
	if !of.hold.isOpen() || started.Before(of.hold.probed) {
		return
	}
	l.probes.underWay = false
	if of.hold.probe(m) {
		of.close(now)
	}
}

// answer records an answer of the cloud. The caller holds mu.
func (l *limiter) answer(of *class, c call, started, now time.Time) {
	took := now.Sub(started)
	of.usual += (took.Seconds() - of.usual) / 8
	of.width.answer(now, took, of.running())
	if h := of.hold; h.isOpen() {
		if held := now.Sub(h.opened); h.kind == Throttled || h.unread && held < longestPause {
			of.rate.resume(held, now)
		}
		l.probes.next = now // Other classes may work again, too.
	}
	if !c.split || !of.single { // Otherwise each of its objects counts.
		of.rate.answer(now)
	}
	of.again = 0
	if c.priority == refreshPriority && took < freeAnswer {
		l.share.refund(l.shareOf(of.key.kind, now))
	}
	of.close(now)
	of.answered, l.answered = now, now
	of.failures.answer(c.object(), now)
	for _, other := range l.classes {
		if other.hold.unread {
			other.close(now) // The cloud can be reached, so these errors have another reason.
		}
		if other != of && other.rate.hasRested(now) && other.rate.waited.After(of.rate.refused) && other.rate.waited.After(of.rate.anew) {
			of.rate.measure(now) // The cloud may count both classes together, and has more for this one now.
		}
	}
}

// fail records a call that has failed for a reason that many objects may share, and holds
// calls back if they do. The caller holds mu.
func (l *limiter) fail(of *class, c call, err error, now time.Time) {
	m, unread := meaningFor(c, err), KindOf(err) == Failed
	if c.tenant != "" && unread {
		m = failedForTenant
	}
	of.width.fail(now)
	of.failures.add(c.object(), failed{first: now, last: now, says: m})
	kind := Unavailable
	if KindOf(err) == Denied {
		kind = Denied
	}
	all := []*class{of}
	if down := l.down(of, unread, now); len(down) > 0 {
		all = append(all, down...)
	} else if m != hasFailed || !of.isDown(now) {
		return
	}
	for _, held := range all {
		l.open(held, hold{kind: kind, unread: unread, err: errors.Unwrap(err)}, c, now)
	}
}

// down returns the classes of the calls that have failed since the cloud last answered any
// call, if these failures show that the whole cloud is down. Errors that nobody can read
// show that only if calls of several classes fail, or if no other class was answered
// lately. All tenants count as one object. The caller holds mu.
func (l *limiter) down(of *class, unread bool, now time.Time) (classes []*class) { //nolint:revive // flag-parameter: it is a fact, not a mode
	objects, elsewhere := map[string]bool{}, false
	for _, c := range l.classes {
		elsewhere = elsewhere || c != of && now.Sub(c.answered) < lately
		failed := c.failures.since(l.answered, hasFailed, unreadable)
		for _, object := range failed {
			if strings.HasPrefix(object, namespace) {
				object = namespace
			}
			objects[object] = true
		}
		if len(failed) > 0 {
			classes = append(classes, c)
		}
	}
	quiet := now.Sub(l.answered) >= moment || !unread && len(objects) >= many
	if unread && (elsewhere && len(classes) == 1 || now.Sub(of.refuted) < lately) || len(objects) < few || !quiet {
		return nil
	}
	return classes
}

// open holds the calls of a class back from now on, and tells those that wait. The caller
// holds mu.
func (l *limiter) open(of *class, h hold, c call, now time.Time) {
	if of.hold.isOpen() {
		return
	}
	if !slices.ContainsFunc(l.classes, func(c *class) bool { return c.hold.isOpen() }) {
		l.probes = probes{pause: firstPause, next: now.Add(firstPause)}
	}
	if h.opened = now; c.tenant != "" {
		h.err = nil
	}
	of.hold = h
	for _, waiting := range of.turns.waiting {
		for _, t := range waiting {
			t.progress.set(of.hold.heldBack(t.call, l.probes.again(t.call, now)))
		}
	}
}

// refuse records a call that was refused, or may have been. If it limits the calls of the
// class from now on, refuse returns the reason. The caller holds mu.
func (l *limiter) refuse(of *class, c call, started time.Time, err error) (why string) {
	now, weak, limited := time.Now(), EvidenceOf(err) != Typed, of.rate.perSecond > 0
	isHeld := of.hold.isOpen()
	if weak && KindOf(err) == Throttled {
		of.failures.add(c.object(), failed{first: now, last: now})
	}
	if !of.failures.refuse(c, weak, limited, now) && !isHeld {
		if c.tenant != "" && !weak {
			of.failures.pause(c.object(), RetryAfter(err), now)
		}
		return ""
	}
	if isHeld && of.hold.kind != Throttled && !weak {
		of.close(now) // The cloud can be reached.
	}
	recent := 0.0
	if of.usual > 0 {
		recent = float64(max(of.running(), 1)) / of.usual
	}
	switch still := of.rate.usedUp(started, now, RetryAfter(err), recent); {
	case still && KindOf(err) == Failed: // They may be the errors of some objects only.
		of.rate.pause(now, firstPause)
	case still:
		l.open(of, hold{kind: Throttled, err: errors.Unwrap(err)}, c, now)
	}
	switch {
	case limited || isHeld:
		return ""
	case weak:
		return "many objects fail at once, as they would if the request quota of the cloud were used up"
	}
	return "the cloud says that the request quota is used up"
}
