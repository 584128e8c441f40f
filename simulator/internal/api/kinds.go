package api

import (
	"context"

	"github.com/fairlead-k8s/fairlead/simulator/internal/state"
	"github.com/fairlead-k8s/fairlead/simulator/internal/view"
	"github.com/fairlead-k8s/fairlead/simulator/wire"
)

// kind describes one kind of resource to the code that serves all kinds.
type kind struct {
	name      string // the key in the log
	endpoints []endpoint
	// collection returns all resources of the kind, for watchers.
	collection view.Collection
	// identify completes the subject of a call: it adds the ID and the name of each
	// resource that the subject selects.
	identify func(context.Context, state.Subject) state.Subject
	// note writes the ID or name of the resource into a record.
	note func(*wire.CallRecord, string)
}

// kinds returns all kinds of resources.
func (s *Server) kinds() []kind {
	return []kind{
		s.instances(),
		s.loadBalancers(),
		s.routes(),
		s.staticIPs(),
		s.volumes(),
	}
}

func (s *Server) collections() []view.Collection {
	var all []view.Collection
	for _, k := range s.kinds() {
		all = append(all, k.collection)
	}
	return all
}
