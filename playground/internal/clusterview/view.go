package clusterview

import (
	"cmp"
	"slices"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// View is the description of a cluster for the page.
type View struct {
	Time     time.Time `json:"time"`
	Daemon   Daemon    `json:"daemon"`
	Held     []Held    `json:"held"`
	Nodes    []Object  `json:"nodes"`
	Services []Object  `json:"services"`
	// Events are the events of the cloud-controller-manager, the newest first.
	Events []Event `json:"events"`
}

// Daemon describes the cloud-controller-manager according to its Lease.
type Daemon struct {
	// Leads reports whether a cloud-controller-manager holds the Lease and has
	// renewed it in time.
	Leads  bool   `json:"leads"`
	Leader string `json:"leader,omitempty"`
	// Since is the time at which the leader took the Lease.
	Since time.Time `json:"since,omitzero"`
}

// Held is a deletion that waits. It is either the deletion of a Node, held by the
// daemon, or the unfinished deletion of a Service.
type Held struct {
	Kind string `json:"kind"`
	Name string `json:"name"`
	// Reason and Message come from the daemon. They are empty until the daemon has given
	// a reason.
	Reason  string    `json:"reason,omitempty"`
	Message string    `json:"message,omitempty"`
	Since   time.Time `json:"since"`
}

// Object is a Node or a Service.
type Object struct {
	Name string `json:"name"` // NAMESPACE/NAME of a Service
	// ID is the provider ID of a Node.
	ID        string   `json:"id,omitempty"`
	Taints    []string `json:"taints,omitempty"`
	Addresses []string `json:"addresses,omitempty"`
	// Deleting reports whether the object is being deleted.
	Deleting   bool        `json:"deleting,omitempty"`
	Conditions []Condition `json:"conditions"`
}

// Condition is a condition of a Node or a Service.
type Condition struct {
	Type    string `json:"type"`
	Status  string `json:"status"`
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
	// Good reports whether the condition says that all is well.
	Good  bool      `json:"good"`
	Since time.Time `json:"since,omitzero"`
}

// Event is an event that the daemon has recorded.
type Event struct {
	Time    time.Time `json:"time"`
	Kind    string    `json:"kind"`
	Name    string    `json:"name"`
	Type    string    `json:"type"`
	Reason  string    `json:"reason"`
	Message string    `json:"message"`
	Count   int32     `json:"count"`
}

// These are the conditions and reasons that this package looks for. docs/reference/events.md
// explains them.
const (
	instanceMissing = "CloudInstanceMissing"
	initialized     = "CloudInitialized"
	serving         = "LoadBalancerServing"
	provisioning    = "LoadBalancerProvisioning"
	cleanupHeld     = "LoadBalancerCleanupHeld"

	deletionHeld     = "NodeDeletionHeld"
	deletionResumed  = "NodeDeletionResumed"
	deletionCanceled = "NodeDeletionCanceled"
)

// cleanup is the finalizer of a Service that has, or may have, a load balancer.
const cleanup = "service.kubernetes.io/load-balancer-cleanup"

// mostEvents is the maximum number of events that are shown.
const mostEvents = 30

// sources are the names of the components that record events: the daemon, and those of its
// controllers that are on by default.
var sources = []string{"cloud-controller-manager", "cloud-node-controller", "cloud-node-lifecycle-controller", "service-controller", "route_controller"}

// observed is the data that was read from the cluster.
type observed struct {
	nodes    []corev1.Node
	services []corev1.Service
	events   []corev1.Event
	lease    *coordinationv1.Lease // nil if there is none
	now      time.Time
}

// describe returns the View for the observed data.
func describe(o observed) View {
	v := View{Time: o.now, Daemon: daemon(o.lease, o.now), Held: []Held{}, Nodes: []Object{}, Services: []Object{}, Events: events(o.events)}
	for _, n := range o.nodes {
		v.Nodes = append(v.Nodes, node(n))
		if h, ok := heldNode(n, v.Events); ok {
			v.Held = append(v.Held, h)
		}
	}
	for _, s := range o.services {
		if s.Spec.Type != corev1.ServiceTypeLoadBalancer && !slices.Contains(s.Finalizers, cleanup) {
			continue
		}
		v.Services = append(v.Services, service(s))
		if h, ok := heldService(s); ok {
			v.Held = append(v.Held, h)
		}
	}
	v.Events = v.Events[:min(len(v.Events), mostEvents)]
	return v
}

func daemon(l *coordinationv1.Lease, now time.Time) Daemon {
	if l == nil || l.Spec.HolderIdentity == nil || l.Spec.RenewTime == nil || l.Spec.LeaseDurationSeconds == nil {
		return Daemon{}
	}
	d := Daemon{Leader: *l.Spec.HolderIdentity}
	lasts := time.Duration(*l.Spec.LeaseDurationSeconds) * time.Second
	d.Leads = d.Leader != "" && now.Sub(l.Spec.RenewTime.Time) <= lasts
	if l.Spec.AcquireTime != nil {
		d.Since = l.Spec.AcquireTime.Time
	}
	return d
}

func node(n corev1.Node) Object {
	o := Object{Name: n.Name, ID: n.Spec.ProviderID, Deleting: n.DeletionTimestamp != nil, Conditions: []Condition{}}
	for _, t := range n.Spec.Taints {
		o.Taints = append(o.Taints, t.Key+":"+string(t.Effect))
	}
	for _, c := range n.Status.Conditions {
		shown := condition(string(c.Type), string(c.Status), c.Reason, c.Message)
		shown.Since = c.LastTransitionTime.Time
		if !strings.HasSuffix(shown.Type, "Pressure") || !shown.Good {
			o.Conditions = append(o.Conditions, shown)
		}
	}
	slices.SortStableFunc(o.Conditions, func(a, b Condition) int { return cmp.Compare(a.Type, b.Type) })
	return o
}

func service(s corev1.Service) Object {
	o := Object{Name: s.Namespace + "/" + s.Name, Deleting: s.DeletionTimestamp != nil, Conditions: []Condition{}}
	for _, i := range s.Status.LoadBalancer.Ingress {
		o.Addresses = append(o.Addresses, cmp.Or(i.IP, i.Hostname))
	}
	for _, c := range s.Status.Conditions {
		shown := condition(c.Type, string(c.Status), c.Reason, c.Message)
		shown.Since = c.LastTransitionTime.Time
		o.Conditions = append(o.Conditions, shown)
	}
	return o
}

func condition(kind, status, reason, message string) Condition {
	wanted := string(metav1.ConditionFalse)
	if slices.Contains([]string{string(corev1.NodeReady), initialized, serving}, kind) {
		wanted = string(metav1.ConditionTrue)
	}
	return Condition{Type: kind, Status: status, Reason: reason, Message: message, Good: status == wanted}
}

// heldNode returns the deletion of a Node, if the daemon holds that deletion. The daemon
// sets the condition only a minute after it has recorded the event. Until then, the view
// shows the newest event, unless the Node is Ready.
func heldNode(n corev1.Node, events []Event) (Held, bool) {
	ready := false
	for _, c := range n.Status.Conditions {
		if c.Type == instanceMissing && c.Status != corev1.ConditionFalse {
			return Held{"Node", n.Name, c.Reason, c.Message, c.LastTransitionTime.Time}, true
		}
		ready = ready || c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	}
	newest := slices.IndexFunc(events, func(e Event) bool {
		isAbout := e.Kind == "Node" && e.Name == n.Name && !e.Time.Before(n.CreationTimestamp.Time)
		return isAbout && slices.Contains([]string{deletionHeld, deletionResumed, deletionCanceled}, e.Reason)
	})
	if ready || newest < 0 || events[newest].Reason != deletionHeld {
		return Held{}, false
	}
	reason, message, _ := strings.Cut(events[newest].Message, ": ")
	return Held{"Node", n.Name, reason, message, events[newest].Time}, true
}

// heldService returns the deletion of a Service, if it has begun. The conditions that the
// daemon has written say why the deletion waits.
func heldService(s corev1.Service) (Held, bool) {
	if s.DeletionTimestamp == nil {
		return Held{}, false
	}
	h := Held{Kind: "Service", Name: s.Namespace + "/" + s.Name, Since: s.DeletionTimestamp.Time}
	for _, kind := range []string{provisioning, cleanupHeld} { // the last one counts
		for _, c := range s.Status.Conditions {
			if c.Type == kind && c.Status == metav1.ConditionTrue {
				h.Reason, h.Message = c.Reason, c.Message
			}
		}
	}
	return h, true
}

// events returns the daemon's events, the newest first.
func events(all []corev1.Event) []Event {
	shown := []Event{}
	for _, e := range all {
		if !slices.Contains(sources, cmp.Or(e.ReportingController, e.Source.Component)) {
			continue
		}
		at := e.LastTimestamp.Time
		if e.Series != nil {
			at = e.Series.LastObservedTime.Time
		}
		if at.IsZero() {
			at = e.EventTime.Time
		}
		name := e.InvolvedObject.Name
		if e.InvolvedObject.Namespace != "" {
			name = e.InvolvedObject.Namespace + "/" + name
		}
		shown = append(shown, Event{
			Time: at, Kind: e.InvolvedObject.Kind, Name: name,
			Type: e.Type, Reason: e.Reason, Message: e.Message, Count: max(e.Count, 1),
		})
	}
	slices.SortStableFunc(shown, func(a, b Event) int { return b.Time.Compare(a.Time) })
	return shown
}
