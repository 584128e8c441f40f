package app

import (
	"context"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-k8s/fairlead/internal/app/internal/skeleton"
	"github.com/fairlead-k8s/fairlead/internal/cloud"
)

// seen records the cloud's answers in a dry run, for the comparison with the
// skeleton. A nil seen records nothing.
type seen struct {
	mu       sync.Mutex
	nodes    map[types.UID]told // guarded by mu
	routes   []cloud.Route      // of the last list; guarded by mu
	isListed bool               // guarded by mu
}

// told has the cloud's answers about one Node.
type told struct {
	asked     bool // the cloud was asked whether the instance exists, even if it did not answer
	existence skeleton.Existence
	described *skeleton.Description
}

func newSeen() *seen { return &seen{nodes: map[types.UID]told{}} }

func (s *seen) about(node *corev1.Node) told {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.nodes[node.UID]
}

func (s *seen) note(node *corev1.Node, change func(*told)) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	a := s.nodes[node.UID]
	change(&a)
	s.nodes[node.UID] = a
}

// exists records an answer about a Node if the skeleton would also have asked about
// the Node. After the first "absent", the skeleton would delete the Node, so a later
// answer does not replace it.
func (s *seen) exists(node *corev1.Node, said skeleton.Existence) {
	if skeleton.Asks(node) {
		s.note(node, func(a *told) {
			a.asked = true
			if a.existence != skeleton.Absent && said != skeleton.Unknown {
				a.existence = said
			}
		})
	}
}

// listed returns the last list of routes, and whether there is one.
func (s *seen) listed() ([]cloud.Route, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.routes, s.isListed
}

// seenInstances asks the provider's instances and records their answers.
type seenInstances struct {
	*cloud.Instances

	seen *seen
}

func (i seenInstances) Metadata(ctx context.Context, node *corev1.Node) (cloud.Metadata, error) {
	m, err := i.Instances.Metadata(ctx, node)
	i.seen.note(node, func(a *told) { a.described = &skeleton.Description{Instance: m, Err: err} })
	return m, err
}

func (i seenInstances) Existence(ctx context.Context, node *corev1.Node) (cloud.Existence, error) {
	e, err := i.Instances.Existence(ctx, node)
	switch {
	case err != nil: // The skeleton only logs the error.
		i.seen.exists(node, skeleton.Unknown)
	case e.Present:
		i.seen.exists(node, skeleton.Running)
	default:
		i.seen.exists(node, skeleton.Absent)
	}
	return e, err
}

func (i seenInstances) Shutdown(ctx context.Context, node *corev1.Node) (bool, error) {
	down, err := i.Instances.Shutdown(ctx, node)
	if err == nil && down {
		i.seen.exists(node, skeleton.Down)
	}
	return down, err
}

// seenRoutes lists the provider's routes and records the last list.
type seenRoutes struct {
	*cloud.Routes

	seen *seen
}

func (r seenRoutes) List(ctx context.Context) ([]cloud.Route, error) {
	routes, err := r.Routes.List(ctx)
	if s := r.seen; s != nil && err == nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.routes, s.isListed = routes, true
	}
	return routes, err
}
