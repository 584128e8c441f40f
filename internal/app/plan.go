package app

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"

	"github.com/fairlead-k8s/fairlead/internal/app/internal/election"
	"github.com/fairlead-k8s/fairlead/internal/controller/step"
	"github.com/fairlead-k8s/fairlead/internal/sleep"
)

// planner is the part of a controller that says what the controller would do.
type planner interface {
	// Follow begins to list and watch all objects. The caller must call stop after
	// ctx has ended. The returned function, known, reports whether the planner
	// knows all objects.
	Follow(ctx context.Context) (known cache.InformerSynced, stop func(), err error)
	// Keys returns the keys that can be passed to Plan.
	Keys() []string
	// Plan returns the steps that the controller would take for an object, as far as
	// it can know these steps without taking them. It may ask the cloud, and writes
	// nothing.
	Plan(ctx context.Context, key string) ([]step.Step, error)
}

// refusals records the writes to the cluster and to the cloud that were refused,
// because the process may only read.
type refusals struct {
	mu  sync.Mutex
	all []string // guarded by mu
	// denied are the requests that the API server has refused, because a right is missing.
	denied []string // guarded by mu
	// If tell is not nil, it is called with each text that is added to the list of
	// refusals.
	tell func(what string)
}

// maxRefusals is the maximum number of refusals that are remembered.
const maxRefusals = 100

func (r *refusals) add(what string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.all) < maxRefusals && !slices.Contains(r.all, what) {
		r.all = append(r.all, what)
		if r.tell != nil {
			r.tell(what)
		}
	}
}

func (r *refusals) deny(what string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.denied) < maxRefusals && !slices.Contains(r.denied, what) {
		r.denied = append(r.denied, what)
	}
}

// notListed names the requests that the API server has refused. It explains why the
// list of objects is missing.
func (r *refusals) notListed() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.denied) == 0 {
		return "the API server has not listed its objects; the log says why if -v=2 is set"
	}
	return "the API server has not listed its objects; it refuses " + strings.Join(slices.Sorted(slices.Values(r.denied)), ", ") +
		", because the user has no right to that"
}

func (r *refusals) list() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Sorted(slices.Values(r.all))
}

const (
	// lookers is the maximum number of concurrent calls of Plan. The gateway and the
	// controllers bound the number of calls to the cloud.
	lookers = 64
	// knownWithin is the time within which the API server should have listed all
	// objects.
	knownWithin = 2 * time.Minute
)

// look is one object in a dry run, with the results of the last call of Plan.
type look struct {
	registration
	planner

	known cache.InformerSynced // whether the planner knows all objects

	key   string
	steps []step.Step // that Plan returned last
	err   error       // that Plan returned last
	next  time.Time   // when to call Plan again; zero: never
}

// dryRun is a process that only reads.
type dryRun struct {
	*process

	planners []look // one for each controller, without a key
	clock    clock.PassiveClock
	report   report
}

// plan returns a report of what the daemon would do. It reads the cluster and the
// cloud, and takes part in no election.
func (p *program) plan(ctx context.Context, f planFlags, progress func(done, all int)) (*report, error) {
	realClock := clock.RealClock{}
	began := realClock.Now()
	p.readOnly(&refusals{})
	working, end := context.WithCancel(ctx)
	made, err := newProcess(working, p)
	if err != nil {
		end()
		return nil, err
	}
	defer made.current.Drop()
	defer end()
	made.provider = made.current.Take()
	d := &dryRun{process: made, clock: realClock}
	if err := d.prepare(working); err != nil {
		return nil, err
	}
	if err := d.knowAll(working); err != nil {
		return nil, err
	}
	looks, err := d.objects(f)
	if err != nil {
		return nil, err
	}
	d.lookAt(working, looks, lookPlan{until: began.Add(f.lookFor), progress: progress})
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	d.report.Refused, d.report.CloudCalls, d.report.took = p.dry.list(), d.calls(), realClock.Since(began)
	return &d.report, d.report.add(looks)
}

// prepare makes the planners, and lets them list all objects.
func (d *dryRun) prepare(ctx context.Context) error {
	client, err := d.clients.informers()
	if err != nil {
		return err
	}
	if _, err := client.Discovery().ServerVersion(); err != nil {
		return fmt.Errorf("the API server does not answer: %w", err)
	}
	if err := d.initialize(ctx); err != nil {
		return err
	}
	for _, r := range d.enabled() {
		if d.place(r.Name) == election.Elsewhere {
			d.report.idle(r.Name, "leader migration gives it to another manager")
			continue
		}
		made, err := d.planner(ctx, r)
		if err != nil {
			return err
		}
		if made == nil {
			continue
		}
		known, _, err := made.Follow(ctx) // The informers end with ctx.
		if err != nil {
			return fmt.Errorf("starting %q: %w", r.Name, err)
		}
		d.planners = append(d.planners, look{registration: r, planner: made, known: known})
	}
	d.startInformers(ctx)
	return nil
}

// knowAll waits until the planners know all objects.
func (d *dryRun) knowAll(ctx context.Context) error {
	var known []cache.InformerSynced
	for _, l := range d.planners {
		known = append(known, l.known)
	}
	limited, cancel := context.WithTimeout(ctx, knownWithin)
	defer cancel()
	if !cache.WaitForCacheSync(limited.Done(), known...) {
		return fmt.Errorf("not all objects are known after %v: %s", knownWithin, d.dry.notListed())
	}
	return nil
}

// planner makes the planner of a controller. It returns nil if the controller would
// not run or cannot say what it would do. In that case it adds the reason to the
// report.
func (d *dryRun) planner(ctx context.Context, r registration) (planner, error) {
	if !r.ours {
		d.report.idle(r.Name, "the program has added it, and it cannot say what it would do")
		return nil, nil //nolint:nilnil // see above
	}
	made, err := d.startController(ctx, ctx, r)
	var why skip
	var missing notOffered
	var broken misconfigured
	switch {
	case errors.As(err, &missing), errors.As(err, &why), errors.As(err, &broken) && !d.settings.Controllers.Names(r.Name):
		d.report.idle(r.Name, err.Error())
		return nil, nil //nolint:nilnil // see above
	case err != nil:
		return nil, fmt.Errorf("starting %q: %w", r.Name, err)
	}
	return made.(planner), nil
}

// objects returns the objects to look at: all, or those that the flags choose.
func (d *dryRun) objects(f planFlags) ([]*look, error) {
	var all []*look
	for _, p := range d.planners {
		keys := p.Keys()
		if f.node != "" || f.service != "" {
			chosen := map[string]string{"node": f.node, "service": f.service}[p.kind]
			keys = slices.DeleteFunc(keys, func(key string) bool { return key != chosen })
		}
		slices.Sort(keys)
		for _, key := range keys {
			at := p
			at.key = key
			all = append(all, &at)
		}
	}
	for kind, key := range map[string]string{"node": f.node, "service": f.service} {
		if key != "" && !slices.ContainsFunc(all, func(l *look) bool { return l.kind == kind && l.key == key }) {
			return nil, fmt.Errorf("there is no %s %q that a controller is responsible for%s", kind, key, namespaceOf[kind])
		}
	}
	return all, nil
}

// namespaceOf maps a kind to the end of the error about an object that was not found.
// For kinds with a namespace, this text says how their objects are named.
var namespaceOf = map[string]string{"service": "; a Service is named NAMESPACE/NAME"}

// lookPlan has the time until which lookAt may call Plan again, and a function to which
// lookAt reports how many objects are done.
type lookPlan struct {
	until    time.Time
	progress func(done, all int)
}

// lookAt calls Plan for each object. While there is time, it calls Plan again for
// the objects whose evidence grows.
func (d *dryRun) lookAt(ctx context.Context, looks []*look, p lookPlan) {
	for due := looks; len(due) > 0; {
		d.lookOnce(ctx, due, p.progress)
		var next time.Time
		for _, l := range looks {
			if !l.next.IsZero() && (next.IsZero() || l.next.Before(next)) {
				next = l.next
			}
		}
		if next.IsZero() || next.After(p.until) || !sleep.For(ctx, next.Sub(d.clock.Now())) {
			return
		}
		due = slices.DeleteFunc(slices.Clone(looks), func(l *look) bool { return l.next.IsZero() || l.next.After(d.clock.Now()) })
	}
}

// lookOnce calls Plan once for each object, and for several objects at the same
// time.
func (d *dryRun) lookOnce(ctx context.Context, due []*look, progress func(done, all int)) {
	var all sync.WaitGroup
	var mu sync.Mutex
	done := 0
	free := make(chan struct{}, lookers)
	for _, l := range due {
		free <- struct{}{}
		all.Go(func() {
			defer func() { <-free }()
			l.look(ctx, d.clock)
			mu.Lock()
			defer mu.Unlock()
			done++
			progress(done, len(due))
		})
	}
	all.Wait()
}

func (l *look) look(ctx context.Context, c clock.PassiveClock) {
	l.steps, l.err = l.Plan(ctx, l.key)
	l.next = time.Time{}
	for n := range l.steps {
		l.steps[n].Controller = l.Name
		if after := l.steps[n].After; after > 0 && l.steps[n].Effect == step.Wait {
			l.next = c.Now().Add(after)
		}
	}
}

// calls returns the number of calls to the cloud.
func (d *dryRun) calls() int {
	families, err := d.registry.Gather()
	if err != nil {
		return 0 // Nothing depends on the number, which is only shown.
	}
	calls := 0.0
	for _, family := range families {
		if family.GetName() == "fairlead_cloud_calls_total" {
			for _, m := range family.GetMetric() {
				calls += m.GetCounter().GetValue()
			}
		}
	}
	return int(calls)
}

// kindOf returns the kind of an object such as "node/worker-1".
func kindOf(object string) string {
	kind, _, _ := strings.Cut(object, "/")
	return kind
}
