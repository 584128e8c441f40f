package api

import (
	"context"

	"github.com/fairlead-k8s/fairlead/simulator/internal/state"
	"github.com/fairlead-k8s/fairlead/simulator/internal/view"
	"github.com/fairlead-k8s/fairlead/simulator/wire"
)

// kind is one kind of resource, as the code that is common to all kinds uses
// it.
type kind struct {
	name      string // the key in the log
	endpoints []endpoint
	// collection returns all resources of the kind, for watchers.
	collection view.Collection
	// identify completes what a call asks for: it adds the names of the IDs, and
	// the IDs of the names and tags.
	identify func(context.Context, state.Subject) state.Subject
	// note records the resource of a call.
	note func(*wire.CallRecord, string)
}

// kinds are all kinds of resources.
func (s *Server) kinds() []kind {
	return []kind{
		s.instances(),
		s.loadBalancers(),
		s.routes(),
		s.staticIPs(),
	}
}

func (s *Server) collections() []view.Collection {
	var all []view.Collection
	for _, k := range s.kinds() {
		all = append(all, k.collection)
	}
	return all
}
