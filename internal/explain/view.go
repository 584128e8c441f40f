package explain

import (
	"net/netip"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-k8s/fairlead/internal/controller/message"
)

// View has the data that was read from the cluster about one object.
type View struct {
	Object  Object
	Node    *corev1.Node                              // for a node
	Service *corev1.Service                           // for a service
	Volume  *corev1.PersistentVolume                  // for a volume
	Request *certificatesv1.CertificateSigningRequest // for a request
	CIDR    netip.Prefix                              // for a route
	// Owners has the Nodes that use the CIDR of the route for their pods.
	Owners []corev1.Node
	// Events are the events about the object. For a route, they are about the oldest
	// Node in Owners. For a request, they are about the Node that has made it.
	Events []corev1.Event
	Daemon DaemonView
	Now    time.Time
}

// kindOfEvents returns the kind of the object that the events are about.
func (v View) kindOfEvents() string {
	switch {
	case v.Service != nil:
		return "Service"
	case v.Volume != nil:
		return "PersistentVolume"
	default:
		return "Node"
	}
}

// DaemonView has the data that was read about the daemon.
type DaemonView struct {
	Name   string // NAMESPACE/NAME of the Lease
	Lease  *coordinationv1.Lease
	Events []corev1.Event
	// Unread is the reason why the Lease could not be read. It is empty if the Lease was
	// read, or if there is none.
	Unread string
}

// Reasons has all reasons that the daemon writes.
type Reasons []message.Reason

// find returns the reason with this name for this kind of object and this condition.
// The condition is empty for an event.
func (all Reasons) find(on, condition, name string) (message.Reason, bool) {
	for _, r := range all {
		if r.On == on && r.Condition == condition && r.Name == name {
			return r, true
		}
	}
	return message.Reason{}, false
}

// of returns the reason with this name that a condition of this kind of object can
// have. The type of the condition does not matter.
func (all Reasons) of(on, name string) (message.Reason, bool) {
	for _, r := range all {
		if r.On == on && r.Condition != "" && r.Name == name {
			return r, true
		}
	}
	return message.Reason{}, false
}
