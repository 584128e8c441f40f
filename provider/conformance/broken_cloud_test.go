package conformance_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-k8s/fairlead/provider/conformance"
)

// brokenPageSize is the largest number of instances in one page.
const brokenPageSize = 3

// brokenCloud is a cloud in memory. It is also the world that the suite uses.
type brokenCloud struct {
	flaw  string
	habit habit

	mu       sync.Mutex
	machines []*machine
	created  int
	faults   []*fault
	calls    conformance.Calls
	starts   int               // number of providers that were made
	labels   map[string]string // used in all answers of a provider with the flaw instances/no-alias

	answered atomic.Int64            // number of questions about instances
	last     atomic.Pointer[machine] // the machine that the last question was about
	inflight atomic.Int64            // number of questions under way
	busy     chan struct{}           // a lock around each call, for the flaw instances/others-hang

	ended     map[string]ended // the machines that were terminated, by their IDs
	log       []string         // IDs of machines that have changed
	news      chan struct{}    // closed at the next change; nil if nobody is waiting
	unusable  atomic.Bool      // the configuration of the provider cannot be used
	balancers []balancer
	groups    []group
	routes    []entry
	creations int      // number of calls of CreateRoute, for the flaw routes/two-hundred-at-once
	reserved  []string // addresses
	held      bool     // load balancers do not become ready
	warnings  map[types.UID][]string
	memory    map[types.UID]*remembered
}

// machine is an instance of the cloud.
type machine struct {
	id, name  string
	state     state
	tagged    bool
	addresses []string
}

// ended says which machine has ended, and when.
type ended struct {
	name string
	at   time.Time
}

type state string

const (
	starting state = "starting"
	running  state = "running"
	stopped  state = "stopped"
)

// fault is a fault that the suite has set.
type fault struct {
	conformance.Fault
	cleared chan struct{}
}

// newBroken returns a cloud whose provider keeps the whole contract, except for the flaw. A
// flaw has the ID of the check that must find it. If the argument is empty, the provider has
// no flaw. After a plus sign, the argument may name a habit.
func newBroken(name string) *brokenCloud {
	flaw, habits, _ := strings.Cut(name, "+")
	return &brokenCloud{
		flaw: flaw, habit: habit(habits), labels: map[string]string{"broken.example/rack": "r1"}, busy: make(chan struct{}, 1),
		warnings: map[types.UID][]string{}, memory: map[types.UID]*remembered{}, ended: map[string]ended{},
	}
}

// has reports whether the provider has the flaw.
func (c *brokenCloud) has(flaw string) bool { return c.flaw == flaw }

// apiError is an error in an answer of the cloud.
type apiError struct {
	StatusCode int
	RetryAfter time.Duration
}

func (e *apiError) Error() string { return fmt.Sprintf("the cloud answered %d", e.StatusCode) }

func isNotFound(err error) bool {
	var e *apiError
	return errors.As(err, &e) && e.StatusCode == http.StatusNotFound
}

var (
	errReset   = errors.New("connection reset by peer")
	errGarbage = errors.New("the answer is not JSON")
)

// class is the kind of an API call.
type class int

const (
	get class = iota
	list
	write
)

// call makes one call of the API. It runs f under the lock, unless a fault prevents
// that. If a fault only changes lists, the method returns the kind of that fault,
// and its caller changes the list.
func (c *brokenCloud) call(ctx context.Context, kind class, f func() error) (conformance.FaultKind, error) {
	c.mu.Lock()
	hit := c.count(kind)
	c.mu.Unlock()
	if hit != nil && hit.Kind == conformance.FaultHang {
		select {
		case <-c.done(ctx):
			return "", ctx.Err()
		case <-hit.cleared:
		}
		hit = nil
	}
	if ctx.Err() != nil {
		return "", ctx.Err()
	}
	if hit != nil {
		if err := hit.err(); err != nil {
			return "", err
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	err := f()
	switch {
	case hit == nil:
		return "", err
	case hit.Kind == conformance.FaultLostReply:
		return "", errReset
	}
	return hit.Kind, err
}

// listed is the API's call to list resources. It returns those that match.
func listed[T any](ctx context.Context, c *brokenCloud, all *[]T, match func(T) bool) (found []T, err error) {
	lies, err := c.call(ctx, list, func() error {
		found = slices.DeleteFunc(slices.Clone(*all), func(one T) bool { return !match(one) })
		return nil
	})
	if lies == conformance.FaultEmptyList || lies == conformance.FaultTruncatedList {
		found = nil
	}
	return found, err
}

// removed is the API's call to delete a resource.
func removed[T any](ctx context.Context, c *brokenCloud, all *[]T, match func(T) bool) error {
	_, err := c.call(ctx, write, func() error {
		before := len(*all)
		if *all = slices.DeleteFunc(*all, match); len(*all) == before {
			return &apiError{StatusCode: http.StatusNotFound}
		}
		return nil
	})
	return err
}

// done returns a channel that is closed when a call has to return.
func (c *brokenCloud) done(ctx context.Context) <-chan struct{} {
	if !c.has("instances/cancel") && !c.has("instances/deadline") {
		return ctx.Done()
	}
	done := make(chan struct{})
	context.AfterFunc(ctx, func() {
		if c.has("instances/cancel") == errors.Is(ctx.Err(), context.DeadlineExceeded) {
			close(done)
		}
	})
	return done
}

// count counts a call and returns the fault that hits it. The caller holds mu.
func (c *brokenCloud) count(kind class) *fault {
	if kind == write {
		c.calls.Writes++
	} else {
		c.calls.Reads++
	}
	for _, f := range c.faults {
		if !f.hits(kind) {
			continue
		}
		if f.Skip > 0 {
			f.Skip--
			continue
		}
		if f.Count > 0 {
			if f.Count--; f.Count == 0 {
				f.Count = -1 // used up
			}
		}
		if f.Kind == conformance.FaultThrottled {
			c.calls.Refused++
		}
		return f
	}
	return nil
}

// hits reports whether the fault can hit a call of this kind.
func (f *fault) hits(kind class) bool {
	switch f.Kind { //nolint:exhaustive // the others hit all calls
	case conformance.FaultEmptyList, conformance.FaultTruncatedList:
		return f.Count >= 0 && kind == list
	case conformance.FaultFailWrite, conformance.FaultLostReply:
		return f.Count >= 0 && kind == write
	}
	return f.Count >= 0
}

// err returns the error of a call that is not carried out, or nil.
func (f *fault) err() error {
	status := map[conformance.FaultKind]int{
		conformance.FaultError: http.StatusInternalServerError, conformance.FaultFailWrite: http.StatusInternalServerError,
		conformance.FaultUnavailable: http.StatusServiceUnavailable, conformance.FaultThrottled: http.StatusTooManyRequests,
		conformance.FaultUnauthenticated: http.StatusUnauthorized, conformance.FaultForbidden: http.StatusForbidden,
		conformance.FaultNotFound: http.StatusNotFound,
	}
	switch {
	case status[f.Kind] > 0:
		return &apiError{StatusCode: status[f.Kind], RetryAfter: f.RetryAfter}
	case f.Kind == conformance.FaultReset:
		return errReset
	case f.Kind == conformance.FaultGarbage:
		return errGarbage
	}
	return nil
}

// instance is the API's call for one instance.
func (c *brokenCloud) instance(ctx context.Context, id string) (found machine, err error) {
	_, err = c.call(ctx, get, func() error {
		m := c.machine(id)
		if m == nil {
			return &apiError{StatusCode: http.StatusNotFound}
		}
		found = m.clone()
		return nil
	})
	return found, err
}

// page is the API's call for one page of instances. The page begins after the given
// ID. The second result is the ID after which the next page begins, or "" if there
// is none.
func (c *brokenCloud) page(ctx context.Context, after string) (page []machine, next string, err error) {
	lies, err := c.call(ctx, list, func() error {
		for _, m := range c.machines {
			if m.id <= after {
				continue
			}
			if len(page) == brokenPageSize {
				next = page[len(page)-1].id
				break
			}
			page = append(page, m.clone())
		}
		return nil
	})
	switch lies { //nolint:exhaustive // the other faults do not change a list
	case conformance.FaultEmptyList:
		return nil, "", err
	case conformance.FaultTruncatedList:
		return page[:len(page)/2], "", err
	}
	return page, next, err
}

func (m *machine) clone() machine {
	clone := *m
	clone.addresses = slices.Clone(m.addresses)
	return clone
}

// machine returns the machine with the ID, or nil. The caller holds mu.
func (c *brokenCloud) machine(id string) *machine {
	for _, m := range c.machines {
		if m.id == id {
			return m
		}
	}
	return nil
}

func (c *brokenCloud) CreateMachine(_ context.Context, name string) (conformance.Machine, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.created++
	m := &machine{
		id: fmt.Sprintf("m-%06d", c.created), name: name, state: running, tagged: true,
		addresses: []string{fmt.Sprintf("10.0.%d.%d", c.created/250, c.created%250+1), fmt.Sprintf("203.0.113.%d", c.created%250+1)},
	}
	c.machines = append(c.machines, m)
	made := conformance.Machine{Name: name, ID: m.id, ProviderID: providerID(m.id)}
	if c.habit != addressed {
		made.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: m.addresses[0]}}
	}
	return made, nil
}

func (c *brokenCloud) TerminateMachine(_ context.Context, m conformance.Machine) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.changed(m.ID)
	c.machines = slices.DeleteFunc(c.machines, func(other *machine) bool { return other.id == m.ID })
	c.ended[m.ID] = ended{m.Name, time.Now()}
	return nil
}

// change changes a machine that exists.
func (c *brokenCloud) change(m conformance.Machine, change func(*machine)) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	found := c.machine(m.ID)
	if found == nil {
		return fmt.Errorf("there is no machine %s", m.ID)
	}
	change(found)
	return nil
}

func (c *brokenCloud) StopMachine(_ context.Context, m conformance.Machine) error {
	return c.change(m, func(m *machine) { m.state = stopped })
}

// StartMachine implements conformance.PowerSwitch. It leaves the machine in the
// state "starting".
func (c *brokenCloud) StartMachine(_ context.Context, m conformance.Machine) error {
	return c.change(m, func(m *machine) { m.state = starting })
}

func (c *brokenCloud) RenameMachine(_ context.Context, m conformance.Machine, name string) error {
	return c.change(m, func(m *machine) { m.name = name })
}

func (c *brokenCloud) UntagMachine(_ context.Context, m conformance.Machine) error {
	return c.change(m, func(m *machine) { m.tagged = false })
}

func (c *brokenCloud) Calls(context.Context) (conformance.Calls, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.calls, nil
}

func (c *brokenCloud) SetFault(_ context.Context, f conformance.Fault) (restore func(), err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	set := &fault{Fault: f, cleared: make(chan struct{})}
	c.faults = append(c.faults, set)
	return sync.OnceFunc(func() {
		close(set.cleared)
		c.mu.Lock()
		defer c.mu.Unlock()
		c.faults = slices.DeleteFunc(c.faults, func(other *fault) bool { return other == set })
	}), nil
}
