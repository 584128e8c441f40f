package api

import (
	"net/http"

	"github.com/fairlead-k8s/fairlead/simulator/wire"
)

func (s *Server) staticIPs() kind {
	return kind{
		name:       "staticIP",
		endpoints:  s.staticIPEndpoints(),
		collection: collection("static-ips", s.store.ListStaticIPs),
		identify:   s.store.IdentifyStaticIPs,
		note:       func(r *wire.CallRecord, word string) { r.StaticIP = word },
	}
}

func (s *Server) staticIPEndpoints() []endpoint {
	one := "/static-ips/{id}"
	name := func(s wire.StaticIP) string { return s.Name }
	return []endpoint{
		{http.MethodGet, "/static-ips", wire.ListStaticIPs, listing(s, s.store.ListStaticIPs)},
		{http.MethodPost, "/static-ips", wire.CreateStaticIP, creating(name, s.store.CreateStaticIP)},
		{http.MethodGet, one, wire.GetStaticIP, onOne(s.store.StaticIP)},
		{http.MethodDelete, one, wire.ReleaseStaticIP, withoutBody(onOne(s.store.ReleaseStaticIP))},
	}
}
