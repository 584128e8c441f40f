package walks_test

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cloud-provider/api"

	"github.com/fairlead-k8s/fairlead/internal/controller/ownership"
	"github.com/fairlead-k8s/fairlead/internal/controller/service"
	"github.com/fairlead-k8s/fairlead/test/quirks"
)

const (
	namespace = "ns"
	rackLabel = "rack"
	theirs    = "theirs" // a load balancer class that the daemon does not serve
)

var (
	serviceNames = []string{"s0", "s1", "s2", odd}
	nodeNames    = []string{"n0", "n1", "n2", "n3", "n4", "n5", "n6", odd}
	pauses       = []time.Duration{0, 100 * time.Millisecond, 2 * time.Second, 5 * time.Second, 30 * time.Second, 2 * time.Minute, 6 * time.Minute}
)

func rack(version int) string { return "r" + strconv.Itoa(version) }

// something makes one random event happen.
func (w *world) something() {
	switch pick := w.r.IntN(24); {
	case pick < 8:
		w.toService(serviceNames[w.r.IntN(len(serviceNames))])
	case pick < 16:
		w.toNode(nodeNames[w.r.IntN(len(nodeNames))])
	case pick < 17:
		next := weathers[w.r.IntN(len(weathers))]
		if next.denies && w.has(quirks.CachesExistence) {
			return // With CachesExistence, the provider would confirm witnesses from its cache while the cloud denies them. The daemon could not notice that.
		}
		w.locked(func() {
			w.happen("cloud: %s", next.name)
			w.weather = next
		})
	case pick < 18:
		next := refusals[w.r.IntN(len(refusals))]
		if next.reads && w.has(quirks.EchoesStatus) {
			return // Its provider gives up writing the address if it cannot read the Service for a minute.
		}
		w.locked(func() {
			w.happen("API server: %s", next.name)
			w.refusal = next
		})
	case pick < 19:
		w.locked(w.becomesLate)
	case pick < 20:
		w.locked(w.becomesPunctual)
	case pick < 21:
		w.editsOften(serviceNames[w.r.IntN(len(serviceNames))])
	case pick < 22:
		w.after(15 * time.Minute)
	case w.stop == nil:
		w.start()
	default:
		w.stop()
		if w.r.IntN(3) > 0 {
			w.start()
		}
	}
	w.locked(w.moods)
	w.after(pauses[w.r.IntN(len(pauses))])
}

// serviceEvent is a change of a Service. The function do makes the change, and returns
// false if there is nothing to change.
type serviceEvent struct {
	name string
	do   func(w *world, s *corev1.Service, trail *serviceTrail) bool
}

var serviceEvents = []serviceEvent{
	{"is edited", func(_ *world, s *corev1.Service, _ *serviceTrail) bool { s.Spec.Ports[0].Port++; return true }},
	{"is annotated wrongly", func(_ *world, s *corev1.Service, _ *serviceTrail) bool {
		s.Annotations = map[string]string{"size": "wrong"}
		return true
	}},
	{"chooses its backends wrongly", func(_ *world, s *corev1.Service, _ *serviceTrail) bool {
		metav1.SetMetaDataAnnotation(&s.ObjectMeta, service.AnnotationBackends, "some")
		return true
	}},
	{"is corrected", func(_ *world, s *corev1.Service, _ *serviceTrail) bool { s.Annotations = nil; return true }},
	{"is deleted", func(_ *world, s *corev1.Service, _ *serviceTrail) bool {
		if s.DeletionTimestamp == nil {
			s.DeletionTimestamp = new(metav1.Now())
		}
		return true
	}},
	{"becomes internal", func(_ *world, s *corev1.Service, trail *serviceTrail) bool {
		s.Spec.Type, s.Spec.LoadBalancerClass, s.Status.LoadBalancer = corev1.ServiceTypeClusterIP, nil, corev1.LoadBalancerStatus{}
		return !trail.foreign
	}},
	{"wants a load balancer", func(_ *world, s *corev1.Service, _ *serviceTrail) bool {
		wanted := s.Spec.Type == corev1.ServiceTypeLoadBalancer
		s.Spec.Type = corev1.ServiceTypeLoadBalancer
		return !wanted
	}},
	{"is given to another class", func(w *world, s *corev1.Service, trail *serviceTrail) bool {
		if s.Spec.Type != corev1.ServiceTypeLoadBalancer {
			return false
		}
		s.Spec.LoadBalancerClass, s.Status.LoadBalancer = new(theirs), corev1.LoadBalancerStatus{}
		w.endanger(trail)
		trail.given = true
		return true
	}},
	{"loses its finalizer", func(w *world, s *corev1.Service, trail *serviceTrail) bool {
		s.Finalizers, trail.tampered = nil, true
		w.endanger(trail)
		return true
	}},
	{"loses its address", func(_ *world, s *corev1.Service, trail *serviceTrail) bool {
		s.Status.LoadBalancer, trail.tampered = corev1.LoadBalancerStatus{}, true
		return true
	}},
}

// toService changes a Service, or creates it if it does not exist.
func (w *world) toService(name string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	s := w.service(name)
	if s == nil {
		w.createService(name)
		return
	}
	trail := w.services[s.UID]
	trail.changes++
	if w.r.IntN(12) == 0 { // by force: the finalizer is ignored
		w.happen("%s is deleted by force", name)
		w.endanger(trail)
		if err := w.cluster.Tracker().Delete(resources["services"], namespace, name); err != nil {
			w.t.Error(err)
		}
		if w.r.IntN(2) == 0 {
			w.createService(name)
		}
		return
	}
	e := serviceEvents[w.r.IntN(len(serviceEvents))]
	if e.do(w, s, trail) {
		w.happen("%s %s", name, e.name)
		w.store(s)
	}
}

// editsOften edits a Service every few seconds.
func (w *world) editsOften(name string) {
	w.locked(func() { w.happen("%s is edited all the time", name) })
	for range 40 {
		w.locked(func() {
			if s := w.service(name); s != nil {
				w.services[s.UID].changes++
				s.Spec.Ports[0].Port++
				w.store(s)
			}
		})
		w.after(3 * time.Second)
	}
}

// createService creates a Service. The caller holds mu.
func (w *world) createService(name string) {
	s := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace, UID: types.UID(fmt.Sprintf("%s-%d", name, w.next()))},
		Spec:       corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer, Ports: []corev1.ServicePort{{Port: 80}}},
	}
	trail := &serviceTrail{name: name}
	if w.r.IntN(6) == 0 {
		s.Spec.LoadBalancerClass, trail.foreign = new(theirs), true
	}
	w.happen("%s is created, of another class: %v", name, trail.foreign)
	w.services[s.UID] = trail
	w.add(s)
}

// kind is the origin of a Node.
type kind string

const (
	ofCloud   kind = "of the cloud"
	ofAnother kind = "of another cloud"
	ofOneself kind = "a machine of one's own"
)

// join creates a Node. If the Node belongs to the cloud, join also creates its machine.
// The caller does not hold mu.
func (w *world) join(name string, k kind) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.joins(name, k)
}

// joins does the same as join, for a caller that holds mu.
func (w *world) joins(name string, k kind) {
	id := fmt.Sprintf("%s-%d", name, w.next())
	n := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("u-" + id), CreationTimestamp: metav1.Now(), Labels: map[string]string{}},
	}
	trail := &nodeTrail{name: name, kind: k, machine: &machine{id: id, name: name, address: w.address(), rack: 1, reporting: true, region: "r1", zone: "z1"}}
	switch k {
	case ofCloud:
		w.machines[id] = trail.machine
		if w.r.IntN(6) == 0 {
			trail.machine.flaw = flaws[w.r.IntN(len(flaws))]
		}
		n.Spec.Taints = []corev1.Taint{{Key: api.TaintExternalCloudProvider, Value: "true", Effect: corev1.TaintEffectNoSchedule}}
		if w.r.IntN(4) == 0 {
			n.Labels[rackLabel], trail.ownRack = "mine", true
		}
	case ofAnother:
		n.Spec.ProviderID = "elsewhere://" + id
		if len(w.options.claim.Schemes) > 0 {
			n.Spec.Taints = []corev1.Taint{{Key: api.TaintExternalCloudProvider, Value: "true", Effect: corev1.TaintEffectNoSchedule}}
		}
	case ofOneself:
	}
	heartbeat(n, true)
	w.nodes[n.UID] = trail
	w.happen("%s joins, %s, flaw: %v", n.UID, k, trail.machine.flaw)
	w.add(n)
}

// heartbeat sets the condition Ready as the kubelet does, or as
// kube-controller-manager does while the kubelet is silent.
func heartbeat(n *corev1.Node, reports bool) { //nolint:revive // flag-parameter: it is a fact
	status := corev1.ConditionTrue
	if !reports {
		status = corev1.ConditionUnknown
	}
	n.Status.Conditions = slices.DeleteFunc(n.Status.Conditions, func(c corev1.NodeCondition) bool { return c.Type == corev1.NodeReady })
	n.Status.Conditions = append(n.Status.Conditions, corev1.NodeCondition{Type: corev1.NodeReady, Status: status, LastHeartbeatTime: metav1.Now()})
}

// nodeEvent is a change of a Node or of its machine. The function do makes the change,
// and returns false if there is nothing to change.
type nodeEvent struct {
	name string
	do   func(w *world, n *corev1.Node, trail *nodeTrail) bool
}

var nodeEvents = append([]nodeEvent{
	{"goes silent", func(_ *world, n *corev1.Node, trail *nodeTrail) bool { return trail.reports(n, false) }},
	{"reports again", func(_ *world, n *corev1.Node, trail *nodeTrail) bool {
		return !trail.machine.gone && trail.reports(n, true)
	}},
	{"is terminated", func(_ *world, n *corev1.Node, trail *nodeTrail) bool {
		trail.machine.gone = true
		return trail.reports(n, false)
	}},
	{"is terminated while its kubelet goes on", func(_ *world, _ *corev1.Node, trail *nodeTrail) bool {
		trail.machine.gone = true
		return true
	}},
	{"is stopped", func(_ *world, n *corev1.Node, trail *nodeTrail) bool {
		trail.machine.down = true
		return trail.reports(n, false)
	}},
	{"is started", func(_ *world, n *corev1.Node, trail *nodeTrail) bool {
		trail.machine.down = false
		return !trail.machine.gone && trail.reports(n, true)
	}},
	{"gets another label in the cloud", func(_ *world, _ *corev1.Node, trail *nodeTrail) bool { trail.machine.rack++; return true }},
	{"gets another address", func(w *world, _ *corev1.Node, trail *nodeTrail) bool {
		trail.machine.address = w.address()
		return true
	}},
	{"is excluded or included", func(_ *world, n *corev1.Node, trail *nodeTrail) bool {
		trail.excluded = time.Now()
		return toggle(n, ownership.LabelExclude)
	}},
	{"loses its route", func(w *world, n *corev1.Node, _ *nodeTrail) bool {
		maps.DeleteFunc(w.table, func(_, name string) bool { return name == n.Name })
		return true
	}},
	{"leaves or joins the backends", func(_ *world, n *corev1.Node, _ *nodeTrail) bool {
		return toggle(n, corev1.LabelNodeExcludeBalancers)
	}},
}, flawEvents...)

func toggle(n *corev1.Node, label string) bool {
	if _, has := n.Labels[label]; has {
		delete(n.Labels, label)
	} else {
		metav1.SetMetaDataLabel(&n.ObjectMeta, label, "true")
	}
	return true
}

// reports switches the reports of the kubelet on or off.
func (trail *nodeTrail) reports(n *corev1.Node, does bool) bool {
	trail.machine.reporting = does
	heartbeat(n, does)
	return true
}

// toNode changes a Node, creates it, or lets its owner delete or replace it.
func (w *world) toNode(name string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := w.node(name)
	if n == nil {
		w.joins(name, []kind{ofCloud, ofCloud, ofCloud, ofCloud, ofAnother, ofOneself}[w.r.IntN(6)])
		return
	}
	trail := w.nodes[n.UID]
	trail.changes++
	switch w.r.IntN(12) {
	case 0, 1: // by its owner or an autoscaler
		w.happen("%s is deleted", n.UID)
		trail.machine.gone = true
		if err := w.cluster.Tracker().Delete(resources["nodes"], "", name); err != nil {
			w.t.Error(err)
		}
		if w.r.IntN(2) == 0 {
			w.joins(name, ofCloud)
		}
	default:
		e := nodeEvents[w.r.IntN(len(nodeEvents))]
		if trail.kind == ofCloud || e.name == "goes silent" || e.name == "reports again" {
			if e.do(w, n, trail) {
				w.happen("%s %s", n.UID, e.name)
				w.store(n)
			}
		}
	}
}

// endanger sets fragile, because from now on only the running daemon can know of the
// Service's load balancer. If no daemon runs, or if the running daemon has not yet
// made a call about the Service, then no daemon knows of the load balancer, so
// endanger also sets excused. The caller holds mu.
func (w *world) endanger(trail *serviceTrail) {
	trail.fragile = true
	if !w.running || !trail.served {
		trail.excused = true
	}
}

func hasFinalizer(s *corev1.Service) bool { return slices.Contains(s.Finalizers, service.Finalizer) }
