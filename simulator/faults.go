package simulator

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
)

// tenure says who may clear a fault.
type tenure int

const (
	clearable tenure = iota
	standing         // it is part of the cloud
)

// faults are the faults that are set. They decide what becomes of a call.
type faults struct {
	seed uint64

	mu     sync.Mutex
	active []*activeFault // guarded by mu; in the order in which they act
}

// activeFault is a fault that is set, and what it has to remember.
type activeFault struct {
	Fault
	tenure  tenure
	random  *rand.Rand
	bucket  *rate.Limiter // of throttle
	cleared chan struct{} // closed when the fault is cleared
	skipped int           // calls that were spared because of Skip
}

// fate is what becomes of a call.
type fate struct {
	delay time.Duration
	// holds are what the call hangs on, one after the other.
	holds []<-chan struct{}
	reset bool
	// answer is given instead of carrying the call out.
	answer     *APIError
	view       view
	losesReply bool
}

func newFaults(seed uint64) *faults { return &faults{seed: seed} }

// set switches a fault on. One of the same name is cleared.
func (s *faults) set(f Fault, t tenure) error {
	f, err := f.checked()
	if err != nil {
		return err
	}
	a := &activeFault{
		Fault:   f,
		tenure:  t,
		random:  rand.New(rand.NewPCG(s.seed, nameHash(f.Name))),
		cleared: make(chan struct{}),
	}
	if f.Kind == FaultThrottle {
		a.bucket = rate.NewLimiter(rate.Limit(f.Rate), f.Burst)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.remove(func(other *activeFault) bool { return other.tenure == t && other.Name == f.Name })
	s.active = append(s.active, a)
	slices.SortFunc(s.active, func(x, y *activeFault) int {
		kinds := FaultKinds()
		return cmp.Or(cmp.Compare(slices.Index(kinds, x.Kind), slices.Index(kinds, y.Kind)), cmp.Compare(x.Name, y.Name))
	})
	return nil
}

// nameHash gives each fault random numbers of its own, so that one fault does
// not change what another one does.
func nameHash(name string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(name))
	return h.Sum64()
}

// clear switches one fault off.
func (s *faults) clear(name string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.remove(func(a *activeFault) bool { return a.tenure == clearable && a.Name == name }) == 0 {
		return &APIError{StatusCode: http.StatusNotFound, Code: CodeNotFound, Message: fmt.Sprintf("fault %s is not set", name)}
	}
	return nil
}

// clearAll switches all faults off that do not belong to the cloud.
func (s *faults) clearAll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.remove(func(a *activeFault) bool { return a.tenure == clearable })
}

// remove lets go what hangs on the faults that it removes. s.mu is held.
func (s *faults) remove(which func(*activeFault) bool) (removed int) {
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

// list returns the faults that are set, by name.
func (s *faults) list() faultList {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := faultList{Items: []Fault{}}
	for _, a := range s.active {
		switch a.tenure {
		case clearable:
			all.Items = append(all.Items, a.Fault)
		case standing:
			all.Standing = append(all.Standing, a.Fault)
		}
	}
	for _, faults := range [][]Fault{all.Items, all.Standing} {
		slices.SortFunc(faults, func(x, y Fault) int { return cmp.Compare(x.Name, y.Name) })
	}
	return all
}

// decide says what becomes of a call, and counts it where it is hit.
func (s *faults) decide(call Call, about subject, now time.Time) fate {
	s.mu.Lock()
	defer s.mu.Unlock()
	var f fate
	for _, a := range s.active {
		if !a.aimsAt(call, about) || a.skips() || a.exhausted() || a.spares() {
			continue
		}
		if !a.befall(&f, now) {
			continue
		}
		a.Hits++
		if f.reset || f.answer != nil {
			break // the call gets no further
		}
	}
	return f
}

func (a *activeFault) aimsAt(call Call, about subject) bool {
	if !a.Kind.hits(call) || len(a.Calls) > 0 && !slices.Contains(a.Calls, call) {
		return false
	}
	return a.Match == "" || about.matches(a.Match) || a.Kind.setsView() && about.everything()
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

// befall adds the fault to a call's fate; false means that it did not hit.
func (a *activeFault) befall(f *fate, now time.Time) bool {
	switch a.Kind {
	case FaultLatency:
		f.delay += time.Duration(a.Latency) + time.Duration(a.random.Float64()*float64(a.Jitter))
	case FaultHang:
		f.holds = append(f.holds, a.cleared)
	case FaultReset:
		f.reset = true
	case FaultThrottle:
		wait := a.wait(now)
		if wait == 0 {
			return false
		}
		f.answer = a.failure(http.StatusTooManyRequests, CodeThrottled, "the request quota is used up")
		f.answer.RetryAfter = wait
	case FaultOutage:
		f.answer = a.failure(http.StatusServiceUnavailable, CodeUnavailable, "the service is unavailable")
	case FaultDenied:
		f.answer = a.failure(http.StatusForbidden, CodeForbidden, "not allowed to do this")
		if a.Status == http.StatusUnauthorized {
			f.answer = a.failure(http.StatusUnauthorized, CodeUnauthorized, "credentials are missing or wrong")
		}
	case FaultError:
		f.answer = a.failure(http.StatusInternalServerError, CodeInternal, "internal error")
	case FaultNotFound:
		f.answer = a.failure(http.StatusNotFound, CodeNotFound, "no such resource")
	case FaultStale, FaultInvisible, FaultEmptyList, FaultTruncatedList:
		f.view = f.view.through(a.Fault)
	case FaultLostReply:
		f.losesReply = true
	}
	return true
}

func (a *activeFault) failure(status int, code, message string) *APIError {
	return &APIError{StatusCode: status, Code: code, Message: fmt.Sprintf("%s (fault %q)", message, a.Name)}
}

// wait takes a token from the bucket. If there is none it returns how long it
// takes until there is, in whole seconds, since that is all Retry-After can say.
func (a *activeFault) wait(now time.Time) time.Duration {
	token := a.bucket.ReserveN(now, 1)
	delay := token.DelayFrom(now)
	if delay == 0 {
		return 0
	}
	token.CancelAt(now)
	return time.Duration(math.Ceil(delay.Seconds())) * time.Second
}
