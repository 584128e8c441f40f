// Package faults holds the faults that are set. It decides what they do to a
// call, and returns the decision as a Fate. Package api applies the Fate.
//
// It also has the request quotas of well-known clouds, and reads the files of other
// quotas. A quota is a set of buckets, and each bucket is a fault of the kind "throttle".
//
// It imports wire, input and state. Packages view and api and the root may import it.
package faults

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/fairlead-k8s/fairlead/simulator/internal/state"
	"github.com/fairlead-k8s/fairlead/simulator/wire"
)

// tenure is the permanence of a fault: it can be cleared, or it is permanent.
type tenure int

const (
	clearable tenure = iota
	standing         // part of the cloud, cannot be cleared
)

// Set has the faults that are set. Decide returns their effect on a call.
type Set struct {
	seed uint64

	mu     sync.Mutex
	active []*activeFault // guarded by mu; in the order in which they act
}

// activeFault is a fault that is set, with its state between calls.
type activeFault struct {
	wire.Fault
	tenure  tenure
	random  *rand.Rand
	bucket  *rate.Limiter // only for kind throttle
	cleared chan struct{} // closed when the fault is cleared or replaced
	skipped int           // calls that were spared because of Skip
}

// Fate says what the faults do to a call.
type Fate struct {
	Delay time.Duration
	// The call waits until all channels in Holds are closed.
	Holds []<-chan struct{}
	Reset bool
	// If Answer is not nil, it is sent, and the call is not carried out.
	Answer     *wire.APIError
	Seen       state.Distortions
	LosesReply bool

	taken []*rate.Reservation // the call's tokens, which go back if another bucket is empty
}

// New returns a set without faults. With the same seed and the same calls in the same
// order, the faults hit the same calls.
func New(seed uint64) *Set { return &Set{seed: seed} }

// Set switches a fault on. It replaces a fault with the same name.
func (s *Set) Set(f wire.Fault, now time.Time) error { return s.set(f, clearable, now) }

// SetStanding switches on a fault that cannot be cleared.
func (s *Set) SetStanding(f wire.Fault, now time.Time) error { return s.set(f, standing, now) }

func (s *Set) set(f wire.Fault, t tenure, now time.Time) error {
	f, err := checked(f)
	if err != nil {
		return err
	}
	a := &activeFault{
		Fault:   f,
		tenure:  t,
		random:  rand.New(rand.NewPCG(s.seed, nameHash(f.Name))), //nolint:gosec // repeatable on purpose
		cleared: make(chan struct{}),
	}
	if f.Kind == wire.FaultThrottle {
		a.bucket = newBucket(f, now)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.remove(func(other *activeFault) bool { return other.tenure == t && other.Name == f.Name })
	s.active = append(s.active, a)
	slices.SortFunc(s.active, func(x, y *activeFault) int {
		kinds := wire.FaultKinds()
		return cmp.Or(cmp.Compare(slices.Index(kinds, x.Kind), slices.Index(kinds, y.Kind)), cmp.Compare(x.Name, y.Name))
	})
	return nil
}

// newBucket returns the bucket of a fault of the kind "throttle".
func newBucket(f wire.Fault, now time.Time) *rate.Limiter {
	bucket := rate.NewLimiter(rate.Limit(f.Rate), f.Burst)
	if f.Tokens != nil {
		bucket.AllowN(now, f.Burst-*f.Tokens)
	}
	return bucket
}

// nameHash returns a part of the seed of a fault's random numbers. Each fault
// has its own numbers, so that one fault does not influence another.
func nameHash(name string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(name)) // Writing to a hash never fails.
	return h.Sum64()
}

// Clear switches one fault off.
func (s *Set) Clear(name string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.remove(func(a *activeFault) bool { return a.tenure == clearable && a.Name == name }) == 0 {
		return &wire.APIError{StatusCode: http.StatusNotFound, Code: wire.CodeNotFound, Message: fmt.Sprintf("fault %s is not set", name)}
	}
	return nil
}

// ClearAll switches off all faults, except the standing ones.
func (s *Set) ClearAll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.remove(func(a *activeFault) bool { return a.tenure == clearable })
}

// remove removes the selected faults. Calls that wait until such a fault is cleared
// then continue. s.mu is held.
func (s *Set) remove(which func(*activeFault) bool) (removed int) {
	before := len(s.active)
	s.active = slices.DeleteFunc(s.active, func(a *activeFault) bool {
		if !which(a) {
			return false
		}
		close(a.cleared)
		return true
	})
	return before - len(s.active)
}

// List returns the faults that are set, by name.
func (s *Set) List(now time.Time) wire.FaultList {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := wire.FaultList{Items: []wire.Fault{}}
	for _, a := range s.active {
		switch a.tenure {
		case clearable:
			all.Items = append(all.Items, a.shown(now))
		case standing:
			all.Standing = append(all.Standing, a.shown(now))
		}
	}
	for _, faults := range [][]wire.Fault{all.Items, all.Standing} {
		slices.SortFunc(faults, func(x, y wire.Fault) int { return cmp.Compare(x.Name, y.Name) })
	}
	return all
}

// shown returns the fault as the operator sees it.
func (a *activeFault) shown(now time.Time) wire.Fault {
	f := a.Fault
	if a.bucket != nil {
		left := int(a.bucket.TokensAt(now))
		f.Tokens = &left
	}
	return f
}

// Decide returns the Fate of a call. It counts a hit for each fault that hits
// the call.
func (s *Set) Decide(call wire.Call, about state.Subject, now time.Time) Fate {
	s.mu.Lock()
	defer s.mu.Unlock()
	var f Fate
	for _, a := range s.active {
		if !a.aimsAt(call, about) || a.skips() || a.exhausted() || a.spares() {
			continue
		}
		if !a.apply(&f, now) {
			continue
		}
		a.Hits++
		if f.Reset || f.Answer != nil {
			break // the later faults do not act on the call
		}
	}
	return f
}

func (a *activeFault) aimsAt(call wire.Call, about state.Subject) bool {
	if !hits(a.Kind, call) || len(a.Calls) > 0 && !slices.Contains(a.Calls, call) {
		return false
	}
	return a.Match == "" || about.Matches(a.Match) || distorts(a.Kind) && about.IsEverything()
}

func (a *activeFault) skips() bool {
	if a.skipped == a.Skip {
		return false
	}
	a.skipped++
	return true
}

func (a *activeFault) exhausted() bool { return a.Count > 0 && a.Hits >= a.Count }

func (a *activeFault) spares() bool { return a.Probability > 0 && a.random.Float64() >= a.Probability }

// apply adds the effect of the fault to a call's Fate. It reports whether the
// fault hit the call.
func (a *activeFault) apply(f *Fate, now time.Time) bool {
	switch a.Kind {
	case wire.FaultLatency:
		f.Delay += time.Duration(a.Latency) + time.Duration(a.random.Float64()*float64(a.Jitter))
	case wire.FaultHang:
		f.Holds = append(f.Holds, a.cleared)
	case wire.FaultReset:
		f.Reset = true
	case wire.FaultThrottle:
		wait := a.wait(f, now)
		if wait == 0 {
			return false
		}
		f.Answer = a.failure(http.StatusTooManyRequests, wire.CodeThrottled, "the request quota is used up")
		f.Answer.RetryAfter = wait
	case wire.FaultOutage:
		f.Answer = a.failure(http.StatusServiceUnavailable, wire.CodeUnavailable, "the service is unavailable")
	case wire.FaultDenied:
		f.Answer = a.failure(http.StatusForbidden, wire.CodeForbidden, "not allowed to do this")
		if a.Status == http.StatusUnauthorized {
			f.Answer = a.failure(http.StatusUnauthorized, wire.CodeUnauthorized, "credentials are missing or wrong")
		}
	case wire.FaultError:
		f.Answer = a.failure(http.StatusInternalServerError, wire.CodeInternal, "internal error")
	case wire.FaultNotFound:
		f.Answer = a.failure(http.StatusNotFound, wire.CodeNotFound, "no such resource")
	case wire.FaultStale, wire.FaultInvisible, wire.FaultEmptyList, wire.FaultTruncatedList, wire.FaultDoubledList:
		f.Seen = f.Seen.With(a.Fault)
	case wire.FaultLostReply:
		f.LosesReply = true
	}
	return true
}

func (a *activeFault) failure(status int, code, message string) *wire.APIError {
	return &wire.APIError{StatusCode: status, Code: code, Message: fmt.Sprintf("%s (fault %q)", message, a.Name)}
}

// wait takes a token from the bucket. If the bucket is empty, it returns the time until
// the next token, and gives back what the call has taken from other buckets. It rounds
// this time up, because Retry-After is in whole seconds.
func (a *activeFault) wait(f *Fate, now time.Time) time.Duration {
	token := a.bucket.ReserveN(now, 1)
	f.taken = append(f.taken, token)
	delay := token.DelayFrom(now)
	if delay == 0 {
		return 0
	}
	for _, t := range f.taken {
		t.CancelAt(now)
	}
	return time.Duration(math.Ceil(delay.Seconds())) * time.Second
}
