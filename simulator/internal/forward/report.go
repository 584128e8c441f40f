package forward

import (
	"github.com/fairlead-k8s/fairlead/simulator/wire"
)

// Traffic returns the traffic of a load balancer; nil if no traffic is carried.
func (f *Forwarder) Traffic(id string) *wire.Traffic {
	plane := f.plane.Load()
	if plane == nil {
		return nil
	}
	report, ok := plane.Report(id)
	if !ok {
		return nil
	}
	t := &wire.Traffic{Listeners: []wire.ListenerTraffic{}, Backends: []wire.BackendTraffic{}}
	for _, l := range report.Listeners {
		t.Listeners = append(t.Listeners, wire.ListenerTraffic{
			Protocol: wire.Protocol(l.Protocol), Port: int(l.Port), Address: l.Address, Problem: l.Problem,
			Connections: l.Connections, Denied: l.Denied, Rejected: l.Rejected,
		})
	}
	for _, b := range report.Backends {
		t.Backends = append(t.Backends, wire.BackendTraffic{
			Instance: b.ID, Health: wire.BackendHealth(b.Health), Why: b.Why,
			Open: b.Open, Connections: b.Connections, Failures: b.Failures, BytesIn: b.BytesIn, BytesOut: b.BytesOut,
		})
	}
	return t
}
