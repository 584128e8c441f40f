package api

import (
	"net/http"

	"github.com/fairlead-k8s/fairlead/simulator/wire"
)

func (s *Server) instances() kind {
	return kind{
		name:       "instance",
		endpoints:  s.instanceEndpoints(),
		collection: collection("instances", s.store.ListInstances),
		identify:   s.store.IdentifyInstances,
		note:       func(r *wire.CallRecord, word string) { r.Instance = word },
	}
}

func (s *Server) instanceEndpoints() []endpoint {
	one := "/instances/{id}"
	name := func(i wire.Instance) string { return i.Name }
	return []endpoint{
		{http.MethodGet, "/instances", wire.ListInstances, listing(s, s.store.ListInstances)},
		{http.MethodPost, "/instances", wire.CreateInstance, creating(name, s.store.CreateInstance)},
		{http.MethodGet, one, wire.GetInstance, onOne(s.store.Instance)},
		{http.MethodPatch, one, wire.UpdateInstance, patching(s.store.UpdateInstance)},
		{http.MethodPost, one + "/start", wire.StartInstance, onOne(s.store.StartInstance)},
		{http.MethodPost, one + "/stop", wire.StopInstance, onOne(s.store.StopInstance)},
		{http.MethodDelete, one, wire.TerminateInstance, withoutBody(onOne(s.store.TerminateInstance))},
	}
}
