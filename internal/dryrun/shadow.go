package dryrun

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"k8s.io/client-go/tools/cache"
	"k8s.io/component-base/metrics"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/fairlead-k8s/fairlead/internal/controller/nodefact"
	"github.com/fairlead-k8s/fairlead/internal/controller/step"
	"github.com/fairlead-k8s/fairlead/internal/daemon"
	"github.com/fairlead-k8s/fairlead/internal/daemon/settings"
	"github.com/fairlead-k8s/fairlead/internal/dryrun/ledger"
	"github.com/fairlead-k8s/fairlead/internal/loop"
	"github.com/fairlead-k8s/fairlead/internal/printable"
)

// Shadow changes the program into one that runs beside the present manager. It looks
// at objects until it is stopped, changes nothing, and then writes its report to out.
func Shadow(ctx context.Context, p *daemon.Program, out io.Writer) {
	logger := klog.FromContext(ctx)
	refused := &refusals{tell: func(what string) {
		logger.Info("Warning: the provider tried this itself, and it was refused", "what", printable.Line(what, maxLine))
	}}
	p.OnlyLook(daemon.Spectator{Refused: refused.add, Denied: refused.deny, Look: func(ctx context.Context, p *daemon.Process) {
		s := &shadowing{
			dryRun: &dryRun{Process: p, clock: clock.RealClock{}, refused: refused},
			ledger: ledger.New(), metrics: newMetrics(p.Registry.MustRegister), out: out, fail: p.Fail,
		}
		s.run(ctx)
	}})
	logger.Info("Only looking: no election, no event, no write, no call that changes the cloud")
}

const (
	// lookAgain is the longest time before a controller looks at an object again.
	lookAgain = 5 * time.Minute
	// leastPause is the shortest time before a controller looks at an object again.
	leastPause = time.Second
)

// shadowing is the process of a daemon with --shadow.
type shadowing struct {
	*dryRun

	ledger  *ledger.Ledger
	metrics shadowMetrics
	out     io.Writer
	fail    func(error) // ends the process

	mu    sync.Mutex
	blind []string // controllers that do not know their objects yet; guarded by mu
	late  int      // number of controllers that were logged as late; guarded by mu
}

// run looks until ctx ends, and then prints the report. It never assumes that a
// decision was carried out: each decision is made from the present state of the
// cluster and the cloud.
func (s *shadowing) run(ctx context.Context) {
	began := s.clock.Now()
	if err := s.prepare(ctx); err != nil {
		s.fail(err)
		return
	}
	logger := klog.FromContext(ctx)
	for _, i := range s.report.Idle {
		logger.Info("Not looked at", "controller", i.Controller, "why", i.Why)
	}
	var all sync.WaitGroup
	for _, l := range s.lookers {
		s.blind = append(s.blind, l.Name)
	}
	for _, l := range s.lookers {
		s.ShowLive(l.Looker)
		all.Go(func() {
			if !s.knows(ctx, l) {
				return
			}
			logger.Info("Controller looks", "controller", l.Name)
			named := klog.NewContext(ctx, klog.LoggerWithName(logger, l.Name))
			_ = l.Shadow(named, s.looks(l)) // Shadow ends with ctx, without an error.
		})
	}
	all.Wait()
	if err := s.print(began); err != nil {
		logger.Error(err, "The report was not printed")
	}
}

// knows waits until a controller knows all its objects, and reports whether it does. If
// the wait is longer than knownWithin, knows logs that once, because a right may be
// missing. The other controllers do not wait, because they may not need that right.
func (s *shadowing) knows(ctx context.Context, l look) bool {
	limited, cancel := context.WithTimeout(ctx, knownWithin)
	defer cancel()
	if !cache.WaitForCacheSync(limited.Done(), l.known) && ctx.Err() == nil {
		s.isLate(ctx, l.Name)
	}
	if !cache.WaitForCacheSync(ctx.Done(), l.known) {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.blind = slices.DeleteFunc(s.blind, func(name string) bool { return name == l.Name })
	return true
}

// isLate logs that a controller does not know its objects. If no controller knows its
// objects, nothing can be looked at, and the process ends.
func (s *shadowing) isLate(ctx context.Context, name string) {
	klog.FromContext(ctx).Info("Warning: not looked at until its objects are listed", "controller", name, "why", s.refused.notListed())
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.late++; s.late == len(s.lookers) {
		s.fail(fmt.Errorf("no controller knows its objects after %v: %s", knownWithin, s.refused.notListed()))
	}
}

// looks returns the function that looks at the object of a key and records the
// controller's decision.
func (s *shadowing) looks(l look) loop.Reconcile {
	return func(ctx context.Context, key string) (loop.Result, error) {
		steps, err := l.Plan(ctx, key)
		if err != nil {
			return loop.Result{}, err
		}
		for n := range steps {
			steps[n].Controller = l.Name
		}
		news := s.ledger.Note(ledger.Look{Controller: l.Name, Key: key, At: s.clock.Now(), Facts: s.facts(l.Looker, key), Steps: steps})
		s.tell(ctx, news)
		s.metrics.objects.WithLabelValues(l.Name).Set(float64(news.Keys))
		return loop.Result{After: pause(steps), Retry: retries(l.Name, steps)}, nil
	}
}

// retries reports whether the controller of Nodes would ask again after a growing
// delay. In that case, a daemon with --shadow looks at the Node again after the same
// delays. If it looked later, the present manager might have initialised the Node in
// the meantime. The report would then say that this daemon would have let the Node
// wait. In truth, this daemon would have been as fast as the present manager.
func retries(controller string, steps []step.Step) bool {
	return controller == settings.NodeController && slices.ContainsFunc(steps, func(s step.Step) bool {
		return s.Effect == step.Wait && s.Do == "wait" && s.After == 0
	})
}

// facts returns the present state of a key's object in the cluster. It is called
// after the decision, so a Node that was initialised in the meantime no longer
// waits.
func (s *shadowing) facts(l daemon.Looker, key string) ledger.Facts {
	f := ledger.Facts{}
	switch l.Name {
	case settings.NodeLifecycleController:
		f.Deletes = "node"
	case settings.RouteController:
		f.Deletes = "route"
	}
	if l.Kind != "node" {
		return f
	}
	if node, ok := s.Node(key); ok {
		f.UID, f.Waits = node.UID, l.Name == settings.NodeController && nodefact.IsUninitialized(node)
	}
	return f
}

// tell logs and counts the new decisions and differences.
func (s *shadowing) tell(ctx context.Context, news ledger.News) {
	logger := klog.FromContext(ctx)
	for _, d := range news.Decided {
		about := []any{"object", printable.Line(d.Object, maxName), "action", printable.Line(d.Do, maxName), "reason", d.Reason, "why", printable.Line(d.Why, maxLine)}
		if d.Effect == step.None {
			logger.Info("Would do nothing any more", about...)
			continue
		}
		logger.Info("Would act", append(about, "effect", d.Effect)...)
		s.metrics.actions.WithLabelValues(d.Controller, string(d.Effect)).Inc()
	}
	for _, d := range news.Differs {
		logger.Info("Another fate", "object", printable.Line(d.Decision.Object, maxName), "what", d.What, "message", d.What.Why(),
			"action", printable.Line(d.Decision.Do, maxName), "reason", d.Decision.Reason, "why", printable.Line(d.Decision.Why, maxLine))
	}
	for _, what := range ledger.All {
		s.metrics.differences.WithLabelValues(string(what)).Set(float64(s.ledger.Count(what)))
	}
}

// pause returns the longest time until the controller looks at the object again.
func pause(steps []step.Step) time.Duration {
	if len(steps) == 0 {
		return 0 // The object is gone.
	}
	next := lookAgain
	for _, s := range steps {
		if s.After > 0 {
			next = min(next, s.After)
		}
	}
	return max(next, leastPause)
}

// print prints the report as one line of JSON.
func (s *shadowing) print(began time.Time) error {
	r := s.ledger.Report()
	r.Since, r.Refused = began, s.refused.list()
	for _, i := range s.report.Idle {
		r.Idle = append(r.Idle, i.Controller+": "+i.Why)
	}
	s.mu.Lock()
	for _, name := range s.blind {
		r.Idle = append(r.Idle, name+": "+s.refused.notListed())
	}
	s.mu.Unlock()
	slices.Sort(r.Idle)
	text, err := json.Marshal(r)
	if err == nil {
		_, err = fmt.Fprintf(printable.JSON(s.out), "%s\n", text)
	}
	return err
}

// shadowMetrics count the decisions and the differences of a daemon with --shadow.
type shadowMetrics struct {
	actions     *metrics.CounterVec
	differences *metrics.GaugeVec
	objects     *metrics.GaugeVec
}

func newMetrics(register func(...metrics.Registerable)) shadowMetrics {
	m := shadowMetrics{
		actions: metrics.NewCounterVec(&metrics.CounterOpts{
			Name:           "fairlead_shadow_actions_total",
			Help:           "With --shadow: decisions that the daemon would carry out, by what they would do to the object. A decision is counted again only if it has changed",
			StabilityLevel: metrics.ALPHA,
		}, []string{"controller", "action"}),
		differences: metrics.NewGaugeVec(&metrics.GaugeOpts{
			Name:           "fairlead_shadow_differences",
			Help:           "With --shadow: objects that this daemon would have treated otherwise. deleted and initialized are counts since its start, not_deleted and not_made are the present counts",
			StabilityLevel: metrics.ALPHA,
		}, []string{"what"}),
		objects: metrics.NewGaugeVec(&metrics.GaugeOpts{
			Name:           "fairlead_shadow_objects",
			Help:           "With --shadow: objects that the controller has looked at and that exist. The route controller counts the whole route table as one object",
			StabilityLevel: metrics.ALPHA,
		}, []string{"controller"}),
	}
	register(m.actions, m.differences, m.objects)
	return m
}

// RegisterMetrics registers the metrics of a daemon with --shadow, without starting it.
// The reference page of the metrics is made with it.
func RegisterMetrics(register func(...metrics.Registerable)) { newMetrics(register) }
