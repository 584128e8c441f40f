package service

import (
	"slices"
	"strconv"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-k8s/fairlead/internal/kube"
)

// turn is one step of a test run. It has the change before the step, and the outcome of
// the call if the step makes one. A walk is a sequence of turns.
type turn struct {
	change  event
	outcome callOutcome
}

func (t turn) String() string { return string(t.change) + ", " + string(t.outcome) }

type event string

const (
	noChange    event = "nothing happens"
	isEdited    event = "the Service is edited, or edited back"
	nodesChange event = "the nodes change"
	isInternal  event = "the Service becomes internal"
	isBalanced  event = "the Service wants a load balancer again"
	isDeleted   event = "the Service is deleted"
	isGiven     event = "the Service becomes one of another class"
	isTampered  event = "somebody removes the finalizer"
	isCleared   event = "somebody clears the status"
	processDies event = "the process dies"
)

var changes = []event{noChange, isEdited, nodesChange, isInternal, isBalanced, isDeleted, isGiven, isTampered, isCleared, processDies}

type callOutcome string

const (
	succeeds    callOutcome = "the cloud does it"
	cloudFails  callOutcome = "the cloud fails"
	replyIsLost callOutcome = "the cloud does it and the reply is lost"
	isElsewhere callOutcome = "somebody else provides"
)

var outcomes = []callOutcome{succeeds, cloudFails, replyIsLost, isElsewhere}

// allIsWell is a turn without a change in which every call succeeds.
var allIsWell = turn{noChange, succeeds}

// world simulates an API server with one Service, a cloud, and the memory of this
// process.
type world struct {
	t        *testing.T
	now      time.Time
	service  *corev1.Service // nil if the Service is gone
	memory   memory
	nodes    int
	balancer bool // the cloud has the load balancer
	has      int  // the number of nodes that the load balancer has
	shape    string
	made     bool // this process has called Ensure
	tampered bool // somebody else has removed the finalizer
	foreign  bool // this process knows that the last class of the Service was another class
	path     []turn
}

func newWorld(t *testing.T) *world {
	return &world{t: t, now: noon, service: balanced()}
}

func (w *world) clone() *world {
	c := *w
	c.service = w.service.DeepCopy()
	c.path = slices.Clone(w.path)
	return &c
}

func (w *world) nodeSet() nodeSet {
	s := nodeSet{id: strconv.Itoa(w.nodes)}
	for n := range w.nodes + 1 {
		s.nodes = append(s.nodes, host(strconv.Itoa(n)))
	}
	return s
}

// happens makes the change that comes before a step.
func (w *world) happens(t event) {
	if t == processDies {
		w.made = false
		w.memory, w.foreign = memory{}, w.service != nil && w.service.Spec.LoadBalancerClass != nil
	}
	if t == nodesChange {
		w.nodes++
	}
	if w.service == nil {
		return
	}
	switch t {
	case isEdited:
		w.service.Spec.Ports[0].Port ^= 1
	case isInternal:
		w.service.Spec.Type, w.service.Status.LoadBalancer = corev1.ServiceTypeClusterIP, corev1.LoadBalancerStatus{} // the API server does this, too
		w.service.Spec.LoadBalancerClass = nil
	case isBalanced:
		w.service.Spec.Type, w.service.Spec.LoadBalancerClass, w.foreign = corev1.ServiceTypeLoadBalancer, nil, false
	case isGiven:
		class("theirs")(w.service)
		w.service.Spec.Type = corev1.ServiceTypeLoadBalancer
		w.foreign = true
	case isDeleted:
		w.service.DeletionTimestamp = &metav1.Time{Time: w.now}
		w.collect()
	case isTampered:
		w.tampered = w.tampered || hasFinalizer(w.service) && (w.balancer || !policy.IsServed(w.service))
		w.service.Finalizers = nil
		w.collect()
	case isCleared:
		w.service.Status.LoadBalancer = corev1.LoadBalancerStatus{}
	case noChange, nodesChange, processDies:
	}
}

// collect removes the Service as the API server would, if the Service is being deleted
// and has no finalizers.
func (w *world) collect() {
	if w.service.DeletionTimestamp != nil && len(w.service.Finalizers) == 0 {
		w.service = nil
	}
}

// cached returns the Service in the form in which the informer keeps it.
func (w *world) cached() *corev1.Service {
	if w.service == nil {
		return nil
	}
	return kube.TrimService(w.service.DeepCopy(), policy.IsServed)
}

// step decides once and carries out the plan.
func (w *world) step(what turn) plan {
	w.t.Helper()
	w.path = append(w.path, what)
	w.happens(what.change)
	p := decide(observed{
		now: w.now, service: w.cached(), backends: w.nodeSet().id, hosts: len(w.nodeSet().nodes), memory: w.memory, policy: policy, foreign: w.foreign,
	})
	if p.why == "" {
		w.t.Errorf("%v: %v without a why", w.path, p.do)
	}
	switch p.do {
	case ensure, update, remove, find:
		w.call(what.outcome, p)
	case forget:
		if w.balancer && w.memory.service != nil {
			w.t.Errorf("%v: a load balancer is forgotten", w.path)
		}
		w.memory = memory{edits: w.memory.edits}
	case addFinalizer:
		w.service.Finalizers = append(w.service.Finalizers, Finalizer)
		w.write(p)
		w.memory = p.memory
	case publish, wait:
		w.write(p)
		w.memory = p.memory
	case release:
		if w.balancer && !w.tampered {
			w.t.Errorf("%v: the finalizer goes while the load balancer exists", w.path)
		}
		w.service.Finalizers = slices.DeleteFunc(w.service.Finalizers, func(f string) bool { return f == Finalizer })
		w.write(p)
		w.collect()
		w.memory = memory{edits: w.memory.edits}
	case doNothing:
		w.memory = p.memory
	}
	w.now = w.now.Add(max(p.after, time.Second))
	return p
}

func (w *world) write(p plan) {
	if w.service == nil {
		return
	}
	switch class := p.writes.class; {
	case class == nil:
	case *class == "":
		delete(w.service.Annotations, AnnotationClass)
	default:
		metav1.SetMetaDataAnnotation(&w.service.ObjectMeta, AnnotationClass, *class)
	}
	if p.writes.ingress != nil {
		w.service.Status.LoadBalancer.Ingress = *p.writes.ingress
	}
	drop := slices.Clone(p.writes.drop)
	for _, c := range p.writes.conditions {
		drop = append(drop, c.Type)
	}
	w.service.Status.Conditions = slices.DeleteFunc(w.service.Status.Conditions, func(c metav1.Condition) bool { return slices.Contains(drop, c.Type) })
	w.service.Status.Conditions = append(w.service.Status.Conditions, p.writes.conditions...)
}

// call simulates the call to the cloud in a step.
func (w *world) call(what callOutcome, p plan) {
	w.t.Helper()
	isRepaired := p.do == update && !p.memory.repairedAt.IsZero() // The finalizer was there, and is put back later.
	if p.do != remove && p.do != find && !isRepaired && !hasFinalizer(w.service) {
		w.t.Errorf("%v: the cloud is called without a finalizer", w.path)
	}
	if !p.orphaned && !isWhole(p.service) {
		p.whole = w.service.DeepCopy()
	}
	w.made = w.made || p.do == ensure
	if len(p.given().Spec.Ports) == 0 && (w.made || !p.orphaned) {
		w.t.Errorf("%v: the provider is given a Service without its ports", w.path)
	}
	r := outcome{result: succeeded, at: w.now, nodes: w.nodeSet(), status: &corev1.LoadBalancerStatus{Ingress: address}, exists: w.balancer}
	switch what {
	case cloudFails:
		r.lasts = true
		r.result, r.cause = failed, reasonCloudFailed.Cause("no")
	case isElsewhere:
		r.result, w.has = elsewhere, w.nodes
		w.balancer = w.balancer && p.do == update // after any other call, it belongs to somebody else
	case succeeds, replyIsLost:
		w.balancer = p.do != remove && (w.balancer || p.do == ensure)
		if w.balancer {
			w.has = w.nodes
		}
		if p.do == ensure {
			w.shape = shapeOf(p.service)
		}
		if what == replyIsLost {
			r.result, r.cause = failed, reasonCloudDown.Cause("EOF")
		}
	}
	w.memory, _ = conclude(p, r)
}

// TestWalk tries all sequences of a few turns, and checks at each step that no promise
// is broken. After each sequence, a bounded number of steps without failures must bring
// everything in order.
func TestWalk(t *testing.T) {
	const depth = 3
	walks := 0
	var walk func(w *world, depth int)
	walk = func(w *world, depth int) {
		if t.Failed() {
			return
		}
		if depth == 0 {
			walks++
			w.ends()
			return
		}
		for _, change := range changes {
			for _, outcome := range outcomes {
				c := w.clone()
				c.step(turn{change, outcome})
				walk(c, depth-1)
			}
		}
	}
	for _, first := range []int{1, 3} { // the number of steps before the walk
		w := newWorld(t)
		for range first {
			w.step(allIsWell)
		}
		walk(w, depth)
	}
	if walks < 50000 {
		t.Errorf("only %d walks", walks)
	}
}

// ends makes steps without failures until nothing is left to do.
func (w *world) ends() {
	w.t.Helper()
	w.path = append(w.path, turn{"from now on", "all is well"})
	for range 12 {
		p := w.step(allIsWell)
		if p.do == doNothing || p.do == wait && w.memory.uid == "" || p.do == forget && w.service == nil || p.do == forget && w.service.Spec.Type != corev1.ServiceTypeLoadBalancer {
			w.isRight(p)
			return
		}
	}
	w.t.Errorf("%v: no end", w.path)
}

// isRight checks the state at the end of a walk.
func (w *world) isRight(p plan) {
	w.t.Helper()
	switch wants := w.service != nil && policy.IsServed(w.service) && policy.isOurs(w.service); {
	case p.memory.elsewhere || w.tampered:
		// Nothing is checked, because the only trace of the load balancer, or of whose the
		// Service was, may be lost: somebody has removed the finalizer, and the process may
		// have died.
	case wants && (!w.balancer || w.has != w.nodes || w.shape != shapeOf(w.service) || len(w.service.Status.LoadBalancer.Ingress) == 0):
		w.t.Errorf("%v: load balancer %v with nodes %d of %d, status %+v", w.path, w.balancer, w.has, w.nodes, w.service.Status)
	case wants && findCondition(w.service, ConditionProvisioning).Status != metav1.ConditionFalse:
		w.t.Errorf("%v: conditions %+v", w.path, w.service.Status.Conditions)
	case !wants && w.balancer:
		w.t.Errorf("%v: a load balancer is left behind", w.path)
	case !wants && w.service != nil && (hasFinalizer(w.service) || len(ownConditions(w.service)) > 0):
		w.t.Errorf("%v: left on the Service: %v, %+v", w.path, w.service.Finalizers, w.service.Status)
	}
}

// TestWhatTheInformerDropsChangesNoPlan compares the plan for a whole Service with the
// plan for those parts of the Service that the informer keeps. A provider must get only
// whole Services.
func TestWhatTheInformerDropsChangesNoPlan(t *testing.T) {
	dropped, calls := 0, 0
	each(func(s *corev1.Service) {
		if kube.TrimService(s, policy.IsServed).Spec.Ports == nil {
			dropped++
		}
		for _, m := range memoriesOf(balanced()) {
			o := observed{now: noon, service: s, backends: "set", hosts: 1, memory: m, policy: policy, foreign: policy.foreignAfter("", s) == s.UID}
			was := effect(o)
			o.service = kube.TrimService(s, policy.IsServed)
			if is := effect(o); is != was {
				t.Fatalf("%s\n%s, if the Service is cached without what no rule reads: %+v", was, is, s)
			}
			if p := decide(o); p.do.isCall() {
				calls++
				if p.orphaned && !isWhole(p.service) {
					t.Fatalf("%s: the provider is given a Service without its ports: %+v", was, s)
				}
			}
		}
	})
	if dropped < 100 || calls < 100 {
		t.Errorf("only %d Services lose fields, and %d plans are calls", dropped, calls)
	}
}

// TestInformerKeepsTheManagersThatEventsName checks that kube.TrimService keeps the
// field managers that this package reads.
func TestInformerKeepsTheManagersThatEventsName(t *testing.T) {
	var fields metav1.FieldsV1
	fields.SetRawBytes([]byte(`{"f:metadata":{"f:finalizers":{}},"f:status":{"f:loadBalancer":{}}}`))
	s := kube.TrimService(balanced(finalized, func(s *corev1.Service) {
		s.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "them", FieldsV1: &fields}}
	}), policy.IsServed)
	for _, field := range []string{"f:finalizers", "f:loadBalancer"} {
		if got := managerOf(s, field); got != "them" {
			t.Errorf("manager %q of %s, want the one that owns it", got, field)
		}
	}
}
