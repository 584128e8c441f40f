package walks_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	clienttesting "k8s.io/client-go/testing"
)

// refusal says how the API server answers the daemon's writes to objects of one
// resource.
type refusal struct {
	name     string
	resource string // empty: all
	err      error
	// some means that writes of the status are accepted, reads that only reads are refused.
	some, reads bool
	// loses means that some writes and some replies to writes are lost.
	loses bool
}

var (
	accepts  = refusal{name: "accepts all"}
	webhook  = &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: http.StatusForbidden, Reason: metav1.StatusReasonForbidden, Message: `admission webhook "w" denied the request: no`}}
	failing  = apierrors.NewInternalError(errors.New("failed calling webhook"))
	conflict = apierrors.NewConflict(schema.GroupResource{Resource: "nodes"}, "x", errors.New("changed"))

	refusals = []refusal{
		accepts, accepts, accepts,
		{name: "a webhook rejects Nodes", resource: "nodes", err: webhook},
		{name: "a webhook rejects Services", resource: "services", err: webhook},
		{name: "a webhook fails for Nodes", resource: "nodes", err: failing},
		{name: "a webhook fails for Services", resource: "services", err: failing},
		{name: "a webhook rejects Nodes, but not their status", resource: "nodes", err: webhook, some: true},
		{name: "a webhook fails for Nodes, but not for their status", resource: "nodes", err: failing, some: true},
		{name: "reads fail", err: failing, reads: true},
		{name: "conflicts", err: conflict},
		{name: "lost replies", loses: true},
	}
)

var resources = map[string]schema.GroupVersionResource{
	"nodes":    corev1.SchemeGroupVersion.WithResource("nodes"),
	"services": corev1.SchemeGroupVersion.WithResource("services"),
}

// failedTest returns the API server's answer to a JSON patch whose tests fail.
func failedTest() error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusUnprocessableEntity, Reason: metav1.StatusReasonInvalid,
		Message: "the server rejected our request due to an error in our request",
	}}
}

// otherUID returns the API server's answer to a patch whose UID differs from that of
// the object.
func otherUID(name string) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusUnprocessableEntity, Reason: metav1.StatusReasonInvalid, Message: name + " is invalid",
		Details: &metav1.StatusDetails{Causes: []metav1.StatusCause{{Field: "metadata.uid"}}},
	}}
}

// serve answers all writes that come through the client. A write comes from the
// daemon, or from the provider if it has the quirk EchoesStatus.
func (w *world) serve(action clienttesting.Action) (bool, runtime.Object, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	var obj runtime.Object
	var err error
	switch a := action.(type) {
	case clienttesting.PatchActionImpl:
		obj, err = w.patch(a)
	case clienttesting.UpdateActionImpl:
		obj, err = w.updateStatus(a)
	case clienttesting.DeleteActionImpl:
		err = w.deleteNode(a)
	case clienttesting.GetActionImpl:
		err = w.refuses(a)
		return err != nil, nil, err
	default:
		return false, nil, nil
	}
	return true, obj, err
}

// patch answers one patch by the daemon. The caller holds mu.
func (w *world) patch(a clienttesting.PatchActionImpl) (runtime.Object, error) {
	resource := a.GetResource().Resource
	current, err := w.cluster.Tracker().Get(resources[resource], a.GetNamespace(), a.GetName())
	if err != nil {
		return nil, err
	}
	w.wrote(current)
	if refused := w.refuses(a); refused != nil {
		return nil, refused
	}
	var sent struct{ Metadata struct{ UID types.UID } }
	if a.GetPatchType() == types.StrategicMergePatchType {
		if err := json.Unmarshal(a.GetPatch(), &sent); err != nil {
			return nil, err
		}
		if before, _ := meta.Accessor(current); sent.Metadata.UID != before.GetUID() {
			return nil, otherUID(a.GetName())
		}
	}
	scratch := clienttesting.NewObjectTracker(scheme.Scheme, scheme.Codecs.UniversalDecoder())
	if err := scratch.Add(current); err != nil {
		return nil, err
	}
	_, patched, err := clienttesting.ObjectReaction(scratch)(a)
	if err != nil {
		return nil, failedTest()
	}
	patched = patched.DeepCopyObject()
	w.checkWrite(current, patched)
	stored := w.store(patched)
	if w.refusal.loses && w.luck.IntN(2) == 0 {
		return nil, apierrors.NewTimeoutError("the reply is lost", 1)
	}
	return stored, nil
}

// refuses returns the error for a request, or nil if the API server accepts it. The caller
// holds mu.
func (w *world) refuses(a clienttesting.Action) error {
	switch r := w.refusal; {
	case r.resource != "" && r.resource != a.GetResource().Resource, r.some && a.GetSubresource() != "", r.reads != (a.GetVerb() == "get"):
		return nil
	case r.loses && w.luck.IntN(4) == 0:
		return apierrors.NewTimeoutError("the request is lost", 1)
	default:
		return r.err
	}
}

// updateStatus answers a write by EchoesStatus. The caller holds mu.
func (w *world) updateStatus(a clienttesting.UpdateActionImpl) (runtime.Object, error) {
	sent := a.GetObject().(*corev1.Service)
	current, err := w.cluster.Tracker().Get(a.GetResource(), sent.Namespace, sent.Name)
	if err != nil {
		return nil, err
	}
	s := current.(*corev1.Service).DeepCopy()
	if s.UID != sent.UID || s.ResourceVersion != sent.ResourceVersion {
		return nil, conflict
	}
	if s.Spec.Type != corev1.ServiceTypeLoadBalancer {
		return nil, apierrors.NewBadRequest("may only be set for a Service of type LoadBalancer")
	}
	s.Status = sent.Status
	return w.store(s), nil
}

// deleteNode answers a deletion by the daemon. The caller holds mu.
func (w *world) deleteNode(a clienttesting.DeleteActionImpl) error {
	current, err := w.cluster.Tracker().Get(a.GetResource(), "", a.GetName())
	if err != nil {
		return err
	}
	n := current.(*corev1.Node)
	w.wrote(n)
	if refused := w.refuses(a); refused != nil {
		return refused
	}
	p := a.GetDeleteOptions().Preconditions
	if p == nil || p.UID == nil || p.ResourceVersion == nil {
		w.broken("S1 e: %s is deleted without preconditions", n.Name)
		return nil
	}
	if *p.UID != n.UID || *p.ResourceVersion != n.ResourceVersion {
		return conflict
	}
	w.checkDeletion(n)
	if err := w.cluster.Tracker().Delete(a.GetResource(), "", n.Name); err != nil {
		return err
	}
	if w.refusal.loses && w.luck.IntN(2) == 0 {
		return apierrors.NewTimeoutError("the reply is lost", 1)
	}
	return nil
}

// store writes an object with a new version. If the object is being deleted and no
// longer has a finalizer, store removes it instead. The caller holds mu.
func (w *world) store(obj runtime.Object) runtime.Object {
	accessor, err := meta.Accessor(obj)
	if err != nil {
		w.t.Error(err)
	}
	w.version++
	accessor.SetResourceVersion(strconv.Itoa(w.version))
	resource := "nodes"
	if s, ok := obj.(*corev1.Service); ok {
		resource = "services"
		w.shows(s)
	}
	tracker := w.cluster.Tracker()
	if accessor.GetDeletionTimestamp() != nil && len(accessor.GetFinalizers()) == 0 {
		err = tracker.Delete(resources[resource], accessor.GetNamespace(), accessor.GetName())
	} else {
		err = tracker.Update(resources[resource], obj.DeepCopyObject(), accessor.GetNamespace())
	}
	if err != nil {
		w.t.Error(err)
	}
	return obj
}

// add creates an object. The caller holds mu.
func (w *world) add(obj runtime.Object) {
	accessor, err := meta.Accessor(obj)
	if err == nil {
		w.version++
		accessor.SetResourceVersion(strconv.Itoa(w.version))
		err = w.cluster.Tracker().Add(obj)
	}
	if err != nil {
		w.t.Error(err)
	}
}

// service returns a copy of the Service, or nil if there is none. The caller holds mu.
func (w *world) service(name string) *corev1.Service {
	obj, err := w.cluster.Tracker().Get(resources["services"], namespace, name)
	if err != nil {
		return nil
	}
	return obj.(*corev1.Service).DeepCopy()
}

// node returns a copy of the Node, or nil if there is none. The caller holds mu.
func (w *world) node(name string) *corev1.Node {
	obj, err := w.cluster.Tracker().Get(resources["nodes"], "", name)
	if err != nil {
		return nil
	}
	return obj.(*corev1.Node).DeepCopy()
}

// allNodes returns the Nodes. The caller holds mu.
func (w *world) allNodes() []*corev1.Node {
	var all []*corev1.Node
	for _, name := range nodeNames {
		if n := w.node(name); n != nil {
			all = append(all, n)
		}
	}
	return all
}

// allServices returns the Services. The caller holds mu.
func (w *world) allServices() []*corev1.Service {
	var all []*corev1.Service
	for _, name := range serviceNames {
		if s := w.service(name); s != nil {
			all = append(all, s)
		}
	}
	return all
}
