package api

import (
	"context"

	"github.com/fairlead-k8s/fairlead/simulator/internal/state"
	"github.com/fairlead-k8s/fairlead/simulator/internal/view"
	"github.com/fairlead-k8s/fairlead/simulator/wire"
)

// kind is one kind of resource, as it is seen by what all kinds share.
type kind struct {
	name      string // the key in the log
	endpoints []endpoint
	// collection is all resources of the kind, for those who watch.
	collection view.Collection
	// identify adds to what a call asks for the names of the IDs and the IDs of
	// the names and tags.
	identify func(context.Context, state.Subject) state.Subject
	// note writes down what a call was about.
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
