package cloud

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"sync"
	"time"
)

const (
	// A cloud, or a part of it, counts as down when calls for minDown distinct
	// objects have failed without an answer in between, and the last answer is
	// older than downAfter. If the last error can be classified, failures for
	// manyDown objects are enough, however recent the last answer is. If it cannot
	// be classified, no part counts as down because of it, and the whole cloud
	// counts as down only if the first failure is older than downAfter, too.
	minDown   = 3
	manyDown  = 32
	downAfter = time.Second
	// firstProbe and longestProbe bound the pause between two probes. The pause
	// grows by the factor probeGrowth. So the gateway notices the end of an
	// outage within 5 seconds.
	firstProbe   = 1200 * time.Millisecond
	longestProbe = 4850 * time.Millisecond
	probeGrowth  = 3
	// Some clouds lock an account after many failed logins. So if calls have been
	// denied for longer than deniedFor, the longest pause is deniedProbe.
	deniedFor   = 10 * time.Minute
	deniedProbe = 30 * time.Second
	// If an outage begins less than flapsWithin after the end of the previous outage,
	// the pause between probes stays as long as it was.
	flapsWithin = time.Minute
	// hangsAfter is the time after which a question without an answer counts as
	// failed. The time is longer if questions usually take long; see
	// limiter.hangsAfter.
	hangsAfter = 10 * time.Second
	// For parkedFor after the beginning of an outage, a question for a waiting
	// object waits in the gateway instead of failing. So an outage of a few
	// seconds does not show on objects.
	parkedFor = 5 * time.Second
	// The preferred call has rank 0. A call of rank n can become the probe n*turnStep
	// later than the preferred call.
	turnStep = 50 * time.Millisecond
	// spread is the time over which held calls are made again after a probe.
	spread = 1500 * time.Millisecond
	// waitsFor is the time during which a part counts as waiting after one of its
	// calls was held.
	waitsFor = 15 * time.Second
	// Once there are maxParts parts, no part with a region is added. Each region adds
	// parts, and a kubelet can claim any region. maxParts is enough for a dozen
	// regions. When another part needs room, the parts that were not used for
	// partsKept are forgotten.
	maxParts  = 64
	partsKept = time.Hour
)

// breaker holds calls back while the cloud, or a part of it, does not answer.
// During a hold, only one call at a time is made: the probe. The probe is the
// call of an ordinary caller, and only that caller gets the answer. The first
// answer ends the hold. The zero value is ready to use.
type breaker struct {
	mu    sync.Mutex
	cloud scope           // the calls of all parts; guarded by mu
	parts map[part]*scope // guarded by mu
}

// part is a method in a region. The calls of one part may fail while all other
// calls work. The region is empty if the call is not about a Node, or if the Node
// has no region yet.
type part struct{ method, region string }

// of returns the scope of the part that the call is about. While the cloud is down,
// an unknown region does not become a new part. Otherwise a kubelet could invent
// one region after another, and the cloud would get a call for each. The caller
// holds mu.
func (b *breaker) of(c call) *scope {
	p := part{c.method, c.region}
	if p.region != "" && b.parts[p] == nil && (b.cloud.isOpen() || !b.hasRoom(time.Now())) {
		p.region = ""
	}
	if b.parts[p] == nil {
		if b.parts == nil {
			b.parts = map[part]*scope{}
		}
		b.parts[p] = &scope{}
	}
	return b.parts[p]
}

// hasRoom reports whether one more part can be added. If there are maxParts
// already, it first forgets the parts that nobody uses any more. The caller holds
// mu.
func (b *breaker) hasRoom(now time.Time) bool {
	if len(b.parts) >= maxParts {
		maps.DeleteFunc(b.parts, func(_ part, s *scope) bool { return now.Sub(s.used()) > partsKept })
	}
	return len(b.parts) < maxParts
}

// holder returns the scope p of the call's part, and the scope s that decides whether
// the call is held back. While the whole cloud is down, s is the scope of the whole
// cloud. Otherwise s is p. The caller holds mu.
func (b *breaker) holder(c call) (s, p *scope) {
	p = b.of(c)
	if b.cloud.isOpen() {
		return &b.cloud, p
	}
	return p, p
}

// check returns an error if the call must not be made now. It does not begin a
// probe.
func (b *breaker) check(c call) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	_, err := b.admit(c, time.Now())
	return err
}

// holds reports whether calls of the same part as c are held back. It returns true even
// if the next such call would be the probe.
func (b *breaker) holds(c call) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	s, _ := b.holder(c)
	return s.isOpen()
}

// begin returns nil if the call may be made now. The call may be a probe.
func (b *breaker) begin(c call) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	scopes, err := b.admit(c, now)
	for _, s := range scopes {
		s.probe(b.object(s, c), now)
	}
	return err
}

// admit decides whether the call may be made. It returns the scopes for which the
// call is the probe. The caller holds mu.
func (b *breaker) admit(c call, now time.Time) (probed []*scope, err error) {
	s, p := b.holder(c)
	isFirst := b.isFirst(c) // The call's part may work although other parts do not.
	switch rank := b.rank(c); {
	case !s.isOpen():
		return nil, nil
	case isFirst && c.isMadeFirst(), !now.Before(s.next.Add(time.Duration(rank) * turnStep)):
		return []*scope{s, p}, nil
	default:
		p.held = now
		s.wait(b.object(s, c))
		return nil, c.held(s, b.hint(c, b.rank(c), now), s.parks(c, isFirst))
	}
}

// isFirst reports whether no call of the part was made in this outage of the whole cloud.
// The caller holds mu.
func (b *breaker) isFirst(c call) bool {
	s, p := b.holder(c)
	return s != p && p.tried.Before(s.began)
}

// isMadeFirst reports whether the call is made at once if it is the first one of its
// part in an outage. That is true for a call that an object waits for. It is also true
// for a watch, because nobody repeats a watch in time for the next probe. Any other
// call is made only as the probe.
func (c call) isMadeFirst() bool { return c.priority == highPriority || c.waits }

// rank returns 0 for the call that is preferred as the next probe, and more for other
// calls. The first call of a part in an outage is always preferred. Any other call must
// meet two conditions: its part was tried longest ago, and its object is the newest of
// those that have not failed. So objects that always fail do not keep others from being
// tried. The caller holds mu.
func (b *breaker) rank(c call) int {
	s, own := b.holder(c)
	rank, object := 0, b.object(s, c)
	switch {
	case b.isFirst(c):
		return 0
	case s.hasFailed(object):
		rank = 2
	case !s.isNewest(object):
		rank = 1
	}
	for _, p := range b.parts {
		if s == &b.cloud && p != own && time.Since(p.held) < waitsFor && p.tried.Before(own.tried) {
			return rank + 1
		}
	}
	return rank
}

// object returns the name of the call's object in this scope. In the scope of the
// whole cloud, all tenants count as one object.
func (b *breaker) object(s *scope, c call) string {
	if s == &b.cloud && c.tenant != "" {
		return "Services"
	}
	return c.object()
}

// hint returns the time to wait before the call is tried again. A preferred call comes
// back in time for the next probe. In each part, two other calls do so, too: one whose
// object has failed, and one whose object has not. Here, the first calls of a part do
// not count as preferred, because there may be hundreds of them. All remaining calls
// come back after the probe, and those for waiting objects come back first. The caller
// holds mu.
func (b *breaker) hint(c call, rank int, now time.Time) time.Duration {
	s, p := b.holder(c)
	later := time.Duration(rand.Float64() * float64(spread) / 2) //nolint:gosec // no secret
	if c.priority != highPriority {
		later += spread / 2
	}
	later += 4 * turnStep // after all calls that come back for the probe
	if s.probing {
		return later
	}
	at := max(s.next.Add(time.Duration(rank)*turnStep).Sub(now), turnStep)
	if rank == 0 && !b.isFirst(c) {
		return at
	}
	promised := &p.promised[0]
	if s.hasFailed(b.object(s, c)) {
		promised = &p.promised[1]
	}
	if promised.Equal(s.next) {
		return at + later
	}
	*promised = s.next
	return at
}

// parks reports whether the call waits in the gateway. In a short outage, a call for a
// waiting object is parked, so that the outage does not show on the object. The call is
// not parked if calls are denied. The first call of the periodic comparison is parked,
// too, because nobody would make it again in time for the next probe.
func (s *scope) parks(c call, isFirst bool) bool {
	return isFirst && c.priority == refreshPriority || c.priority == highPriority && s.kind != Denied && time.Since(s.opened) < parkedFor
}

// held returns the error of a call that is not made.
func (c call) held(s *scope, again time.Duration, parked bool) error {
	err := errHeld
	if s.kind == Denied {
		err = errDenied
	}
	if s.err != nil && c.tenant == "" {
		err = fmt.Errorf("%w: %w", err, s.err)
	}
	return &Error{Call: c.method, Kind: s.kind, RetryAfter: again, Err: err, held: true, parked: parked}
}

var (
	errHeld   = errors.New("the call was not made, because such calls fail for other objects, too; one call at a time finds out when the cloud answers again")
	errDenied = errors.New("the call was not made, because the cloud denies such calls for other objects, too; one call at a time finds out when it allows them again")
)

// effect has the consequences of the end of a call.
type effect struct {
	failed bool // the call has failed for a reason that many objects may share
	opened bool // calls are held back from now on
	// again is the time to wait before a failed call is tried again. It is 0 if
	// calls are not held back.
	again  time.Duration
	parked bool // the caller waits in the gateway
}

// mark adds the effect to the error of the call.
func (e effect) mark(err error) {
	if failed, ok := errors.AsType[*Error](err); ok && e.again > 0 {
		failed.RetryAfter, failed.held, failed.parked = max(failed.RetryAfter, e.again), true, e.parked
	}
}

// record records how a call has ended.
func (b *breaker) record(c call, started time.Time, err error) (e effect) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now, p := time.Now(), b.of(c)
	isDown := b.cloud.isOpen()
	switch meaningFor(c, err) {
	case answered:
		p.answers(b.object(p, c), now)
		b.cloud.answers(b.object(&b.cloud, c), now)
		for _, other := range b.parts {
			if isDown && other.isOpen() { // The other part may work again, too.
				other.next = now
			}
		}
	case hasFailed:
		e = b.fails(c, started, err)
	case saysNothing:
		p.tried = now
		p.ends(started, now)
		b.cloud.ends(started, now)
	}
	return e
}

// fails records a call that has failed for a reason that many objects might
// share. The caller holds mu.
func (b *breaker) fails(c call, started time.Time, err error) effect {
	now, p := time.Now(), b.of(c)
	f := failure{object: b.object(p, c), kind: KindOf(err), started: started, unread: KindOf(err) == Failed}
	if c.tenant == "" {
		f.err = errors.Unwrap(err)
	}
	isExplained := !b.cloud.isOpen() && p.isOpen() // The failure of a part that is down says nothing about other parts.
	e := effect{failed: true}
	// Suppose that all questions of a part are about Nodes of another cloud, and that
	// they always fail with errors that cannot be classified. Such failures must not
	// hold back a new Node.
	if p.tried = now; !f.unread || p.isOpen() {
		e.opened = p.fails(f, now)
	}
	if f.object = b.object(&b.cloud, c); !isExplained && b.cloud.fails(f, now) {
		e.opened = true
	}
	if s, _ := b.holder(c); s.isOpen() {
		e.again, e.parked = b.hint(c, b.rank(c), now), s.parks(c, false)
	}
	return e
}

// meaning says what the end of a call reveals about the cloud.
type meaning int

const (
	saysNothing meaning = iota
	answered
	hasFailed
)

// meaningFor returns the meaning of the end of a call. A tenant can cause errors
// of most kinds with its Services.
func meaningFor(c call, err error) meaning {
	if c.waits && err == nil {
		return saysNothing // The call began long ago, perhaps before the outage.
	}
	isTenants, evidence := c.tenant != "", EvidenceOf(err)
	switch kind := KindOf(err); kind {
	case Succeeded, NotFound, Conflict, QuotaExceeded:
		return answered
	case Pending, Invalid, Failed:
		switch { // The provider might have rejected the object without asking the cloud.
		case isTenants:
			return saysNothing
		case kind == Failed && evidence == Unread:
			return hasFailed
		}
		return answered
	case Denied:
		if !isTenants {
			return hasFailed
		}
	case Unavailable, TimedOut:
		if !isTenants || evidence == Typed {
			return hasFailed
		}
	case Throttled, NotImplemented, Elsewhere, Panicked, Slow, Canceled:
	case NoAnswer: // Some providers return nil for unknown Nodes.
	}
	return saysNothing
}

// hangs records a question that has been under way for too long.
func (b *breaker) hangs(c call, started time.Time) effect {
	return b.record(c, started, &Error{Call: c.method, Kind: TimedOut, Err: errSlow})
}

// state describes the holds in words.
func (b *breaker) state() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.cloud.isOpen() {
		return fmt.Sprintf("is down for %v (%s), and is asked by one call at a time", time.Since(b.cloud.opened).Truncate(time.Second), b.cloud.kind)
	}
	down := 0
	for _, p := range b.parts {
		if p.isOpen() {
			down++
		}
	}
	if down > 0 {
		return fmt.Sprintf("does not answer %d of %d kinds of calls, which are made one at a time", down, len(b.parts))
	}
	return ""
}
