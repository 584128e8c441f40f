package api

import (
	"net/http"

	"github.com/fairlead-k8s/fairlead/simulator/wire"
)

func (s *Server) volumes() kind {
	return kind{
		name:       "volume",
		endpoints:  s.volumeEndpoints(),
		collection: collection("volumes", s.store.ListVolumes),
		identify:   s.store.IdentifyVolumes,
		note:       func(r *wire.CallRecord, word string) { r.Volume = word },
	}
}

func (s *Server) volumeEndpoints() []endpoint {
	one := "/volumes/{id}"
	name := func(v wire.Volume) string { return v.Name }
	return []endpoint{
		{http.MethodGet, "/volumes", wire.ListVolumes, listing(s, s.store.ListVolumes)},
		{http.MethodPost, "/volumes", wire.CreateVolume, creating(name, s.store.CreateVolume)},
		{http.MethodGet, one, wire.GetVolume, onOne(s.store.Volume)},
		{http.MethodDelete, one, wire.DeleteVolume, withoutBody(onOne(s.store.DeleteVolume))},
	}
}
