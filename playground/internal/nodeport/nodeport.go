// Package nodeport answers on the node ports of Services, like kube-proxy and the pods on a real
// node. It watches Nodes, Services and EndpointSlices, plans at which addresses each node has to
// listen, and opens and closes the sockets. There are no containers, so the node itself answers,
// with its own name in the answer. The rules are those of kube-proxy; they are in rules.go.
package nodeport

import (
	"context"
	"fmt"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
)

// Log is the name of the log that Run writes to.
const Log = "node-ports"

// period is the interval at which the running machines are listed. Failed attempts to open a port
// are repeated at the same interval.
const period = time.Second

// Cluster gives access to the cluster of the nodes.
type Cluster interface {
	Client() kubernetes.Interface
	// RunningNodes returns the names of the nodes whose machines run.
	RunningNodes() []string
}

// Responder answers on node ports.
type Responder struct {
	cluster Cluster
	clock   clock.WithTicker
	note    func(format string, args ...any)

	open     map[door]*socket
	problems map[door]string // the reported errors, by the port that could not be opened
}

// New returns a responder for the nodes of cluster. The responder calls note to report problems
// to the user.
func New(cluster Cluster, clock clock.WithTicker, note func(format string, args ...any)) *Responder {
	return &Responder{
		cluster: cluster, clock: clock, note: note,
		open: map[door]*socket{}, problems: map[door]string{},
	}
}

// Run answers until ctx ends. It logs each port that it opens or closes, with the logger
// of ctx.
func (r *Responder) Run(ctx context.Context) error {
	w, err := newWatch(r.cluster)
	if err != nil {
		return fmt.Errorf("node ports: %w", err)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer w.factory.Shutdown()
	defer cancel()
	defer r.apply(ctx, nil)
	w.factory.Start(ctx.Done()) // the older client libraries that skew.sh builds with have no StartWithContext
	w.factory.WaitForCacheSync(ctx.Done())
	ticker := r.clock.NewTicker(period)
	defer ticker.Stop()
	for ctx.Err() == nil {
		s, err := w.observe()
		if err != nil {
			return fmt.Errorf("node ports: %w", err)
		}
		r.apply(ctx, wanted(s))
		select {
		case <-ctx.Done():
		case <-ticker.C():
		case <-w.changed:
		}
	}
	return nil
}

// apply opens the wanted ports and closes the others.
func (r *Responder) apply(ctx context.Context, wanted map[door]answer) {
	for _, a := range plan(wanted, r.answers(ctx)) {
		switch a.do {
		case listen:
			r.openDoor(ctx, a)
		case say:
			r.open[a.door].answer.Store(&a.answer)
			logged(ctx, a).Info("Answer changed", "status", a.answer.status, "why", a.why)
		case leave:
			if err := r.open[a.door].close(); err != nil {
				logged(ctx, a).Error(err, "Closed, with an error", "why", a.why)
			}
			delete(r.open, a.door)
			logged(ctx, a).Info("Closed", "why", a.why)
		}
	}
	for d := range r.problems {
		if w, still := wanted[d]; !still || w.closed != "" {
			delete(r.problems, d)
		}
	}
}

// answers returns the open ports with their answers. A port whose socket has failed counts as
// closed.
func (r *Responder) answers(ctx context.Context) map[door]answer {
	all := map[door]answer{}
	for d, s := range r.open {
		select {
		case <-s.ended:
			klog.FromContext(ctx).Error(s.err, "A socket has failed", "address", d.at, "protocol", d.protocol)
			_ = s.close() // an error does not matter: the socket has failed already
			delete(r.open, d)
		default:
			all[d] = *s.answer.Load()
		}
	}
	return all
}

// openDoor opens a port. If this fails, the next pass tries again. The same error is reported
// only once.
func (r *Responder) openDoor(ctx context.Context, a action) {
	s, err := open(ctx, a.door, a.answer)
	told := r.problems[a.door]
	switch {
	case err == nil:
		r.open[a.door] = s
		logged(ctx, a).Info("Listening", "why", a.why)
		if told != "" {
			r.note("%s listens at %s now (%s)", a.answer.node, a.door.at, a.answer.about)
		}
		delete(r.problems, a.door)
	case err.Error() != told && ctx.Err() == nil:
		r.problems[a.door] = err.Error()
		logged(ctx, a).Error(err, "Cannot listen, will retry", "pause", period)
		r.note("%s cannot listen at %s (%s) and tries again: %v", a.answer.node, a.door.at, a.answer.about, err)
	}
}

func logged(ctx context.Context, a action) klog.Logger {
	return klog.FromContext(ctx).WithValues("node", a.answer.node, "protocol", a.door.protocol, "address", a.door.at)
}
