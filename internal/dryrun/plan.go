package dryrun

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"

	"github.com/fairlead-k8s/fairlead/internal/controller/step"
	"github.com/fairlead-k8s/fairlead/internal/daemon"
	"github.com/fairlead-k8s/fairlead/internal/sleep"
)

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

func (r *refusals) hasDenied() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.denied) > 0
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
	// listedWithin is the same time if the API server refuses a request. An API server that
	// has just started may refuse requests for a moment.
	listedWithin = 15 * time.Second
)

// look is one object in a dry run, with the results of the last call of Plan.
type look struct {
	daemon.Looker

	known cache.InformerSynced // whether the controller knows all objects

	key   string
	steps []step.Step // that Plan returned last
	err   error       // that Plan returned last
	next  time.Time   // when to call Plan again; zero: never
}

// dryRun is a process that only reads.
type dryRun struct {
	*daemon.Process

	refused *refusals
	lookers []look // one for each controller, without a key
	clock   clock.WithDelayedExecution
	report  Report
}

// Options choose what a plan is about.
type Options struct {
	Node     string        // the only Node to look at; empty: all objects
	Service  string        // the only Service to look at, as NAMESPACE/NAME; empty: all objects
	For      time.Duration // how long to gather evidence; 0 looks once
	Progress func(done, all int)
}

// Plan returns a report of what the daemon would do. It reads the cluster and the
// cloud, and takes part in no election. With an error, it may return a report of the
// objects that could be looked at.
func Plan(ctx context.Context, p *daemon.Program, o Options) (*Report, error) {
	d := &dryRun{clock: clock.RealClock{}, refused: &refusals{}}
	began := d.clock.Now()
	p.OnlyLook(daemon.Spectator{Refused: d.refused.add, Denied: d.refused.deny})
	working, end := context.WithCancel(ctx)
	made, err := daemon.NewProcess(working, p)
	if err != nil {
		end()
		return nil, err
	}
	defer made.Drop()
	defer end()
	d.Process = made
	if err := d.prepare(working); err != nil {
		return nil, err
	}
	if err := d.knowAll(working); err != nil {
		return nil, err
	}
	looks, err := d.objects(o)
	if err != nil {
		return nil, err
	}
	d.lookAt(working, looks, lookPlan{until: began.Add(o.For), progress: o.Progress})
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	d.report.Refused, d.report.CloudCalls, d.report.took = d.refused.list(), d.CloudCalls(), d.clock.Since(began)
	return &d.report, d.report.add(looks)
}

// prepare makes the controllers, and lets them list all objects.
func (d *dryRun) prepare(ctx context.Context) error {
	if err := d.AwaitAPIServer(); err != nil {
		return err
	}
	if err := d.Open(ctx); err != nil {
		return err
	}
	lookers, err := d.Lookers(ctx, d.report.idle)
	if err != nil {
		return err
	}
	for _, l := range lookers {
		known, _, err := l.Follow(ctx) // The informers end with ctx.
		if err != nil {
			return fmt.Errorf("starting %q: %w", l.Name, err)
		}
		d.lookers = append(d.lookers, look{Looker: l, known: known})
	}
	d.StartInformers(ctx)
	return nil
}

// knowAll waits until the controllers know all objects.
func (d *dryRun) knowAll(ctx context.Context) error {
	var known []cache.InformerSynced
	for _, l := range d.lookers {
		known = append(known, l.known)
	}
	began := d.clock.Now()
	limited, cancel := context.WithTimeout(ctx, knownWithin)
	defer cancel()
	early := d.clock.AfterFunc(listedWithin, func() {
		if d.refused.hasDenied() {
			cancel()
		}
	})
	defer early.Stop()
	if !cache.WaitForCacheSync(limited.Done(), known...) {
		return fmt.Errorf("not all objects are known after %v: %s", d.clock.Since(began).Round(time.Second), d.refused.notListed())
	}
	return nil
}

// objects returns the objects to look at: all, or those that the flags choose.
func (d *dryRun) objects(o Options) ([]*look, error) {
	var all []*look
	for _, p := range d.lookers {
		keys := p.Keys()
		if o.Node != "" || o.Service != "" {
			chosen := map[string]string{"node": o.Node, "service": o.Service}[p.Kind]
			keys = slices.DeleteFunc(keys, func(key string) bool { return key != chosen })
		}
		slices.Sort(keys)
		for _, key := range keys {
			at := p
			at.key = key
			all = append(all, &at)
		}
	}
	for kind, key := range map[string]string{"node": o.Node, "service": o.Service} {
		if key != "" && !slices.ContainsFunc(all, func(l *look) bool { return l.Kind == kind && l.key == key }) {
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

// kindOf returns the kind of an object such as "node/worker-1".
func kindOf(object string) string {
	kind, _, _ := strings.Cut(object, "/")
	return kind
}
