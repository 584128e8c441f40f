package explain

import (
	"net/netip"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-k8s/fairlead/internal/controller/message"
)

// View is what was read from the cluster about one object.
type View struct {
	Object  Object
	Node    *corev1.Node                              // of a node
	Service *corev1.Service                           // of a service
	Volume  *corev1.PersistentVolume                  // of a volume
	Request *certificatesv1.CertificateSigningRequest // of a request
	CIDR    netip.Prefix                              // of a route
	// Owners are the Nodes whose pods have the CIDR of a route.
	Owners []corev1.Node
	// Events are those about the object, about the oldest of a route's Owners, or about
	// the Node that has made a request.
	Events []corev1.Event
	Daemon DaemonView
	Now    time.Time
}

// DaemonView is what was read about the daemon.
type DaemonView struct {
	Name   string // NAMESPACE/NAME of the Lease
	Lease  *coordinationv1.Lease
	Events []corev1.Event
	// Unread is why the Lease could not be read. It is empty if the Lease was read, or if
	// there is none.
	Unread string
}

// Reasons are all reasons that the daemon writes.
type Reasons []message.Reason

// find returns a reason of an object of this kind. The condition is empty for an event.
func (all Reasons) find(on, condition, name string) (message.Reason, bool) {
	for _, r := range all {
		if r.On == on && r.Condition == condition && r.Name == name {
			return r, true
		}
	}
	return message.Reason{}, false
}

// of returns the reason with this name, of a condition of any type.
func (all Reasons) of(on, name string) (message.Reason, bool) {
	for _, r := range all {
		if r.On == on && r.Condition != "" && r.Name == name {
			return r, true
		}
	}
	return message.Reason{}, false
}
