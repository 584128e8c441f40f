// Package cluster reads the objects of a cluster that show how its
// cloud-controller-manager works. A Reader reads them into a View. Rules look only at
// the View: those of fairlead doctor and fairlead explain, and those by which the daemon
// finds another manager. The package writes nothing.
package cluster

import (
	"fmt"
	"slices"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/fairlead-k8s/fairlead/internal/controller/nodefact"
	"github.com/fairlead-k8s/fairlead/internal/controller/ownership"
	"github.com/fairlead-k8s/fairlead/internal/printable"
)

// Source is a kind of data. Its text is the right that you need to read it.
type Source string

// The sources.
const (
	Nodes        Source = "list nodes"
	Services     Source = "list services"
	Leases       Source = "list leases.coordination.k8s.io"
	Deployments  Source = "list deployments.apps"
	DaemonSets   Source = "list daemonsets.apps"
	StatefulSets Source = "list statefulsets.apps"
	Pods         Source = "list pods"
	Events       Source = "list events"
	Requests     Source = "list certificatesigningrequests.certificates.k8s.io"
	Slices       Source = "list endpointslices.discovery.k8s.io"
	Volumes      Source = "list persistentvolumes"
	OtherEvents  Source = "list events that are no warnings"
	Reviews      Source = "create subjectaccessreviews.authorization.k8s.io"
)

// View has what a Reader has read.
type View struct {
	Now     time.Time     // by the clock of the API server
	Offset  time.Duration // the local clock minus that of the API server
	Waiting time.Duration // the time that an object can wait before it is reported
	Version string        // the version of the API server

	Nodes     []corev1.Node
	Services  []corev1.Service
	Leases    []coordinationv1.Lease
	Workloads []Workload
	Pods      []Pod // the Pods of the control plane and of the managers
	Volumes   []corev1.PersistentVolume
	Requests  []certificatesv1.CertificateSigningRequest
	Events    []corev1.Event
	// OtherEvents are events that only a bundle needs.
	OtherEvents []corev1.Event
	// Slices has the EndpointSlices of Services with a local traffic policy, by
	// namespace/name of the Service.
	Slices  map[string][]discoveryv1.EndpointSlice
	Reviews []Review

	// Missing has the sources that could not be read.
	Missing map[Source]error
	// Partly has the sources that were read only in part, because there is too
	// much data.
	Partly map[Source]bool
}

// Why returns what you need to read a source that is missing: the right, and the error
// if it has another cause. It returns "" if the source is not missing.
func (v *View) Why(s Source) string {
	switch err := v.Missing[s]; {
	case err == nil:
		return ""
	case apierrors.IsForbidden(err):
		return string(s)
	default:
		return string(s) + " (" + Shown(err.Error()) + ")"
	}
}

// Unread returns a sentence for each of these sources that was not read
// completely.
func (v *View) Unread(of ...Source) []string {
	var all []string
	for _, s := range of {
		switch why := v.Why(s); {
		case why == string(s):
			all = append(all, "Left out, because the right is missing: "+why+".")
		case why != "":
			all = append(all, "Left out, because it failed: "+why+".")
		case v.Partly[s]:
			all = append(all, fmt.Sprintf("Left out in part, because not all objects were read: %s.", s))
		}
	}
	return all
}

// IsOld reports whether a time is at least v.Waiting ago.
func (v *View) IsOld(since time.Time) bool { return v.Now.Sub(since) >= v.Waiting }

// Since returns the time from t to v.Now as a text.
func (v *View) Since(t time.Time) string { return v.Now.Sub(t).Round(time.Second).String() }

// Lease returns the Lease with this namespace/name, or nil if there is none.
func (v *View) Lease(name string) *coordinationv1.Lease {
	at := slices.IndexFunc(v.Leases, func(l coordinationv1.Lease) bool { return NameOf(&l) == name })
	if at < 0 {
		return nil
	}
	return &v.Leases[at]
}

// IsRenewed reports whether the Lease has a holder that renews it.
func (v *View) IsRenewed(l *coordinationv1.Lease) bool {
	return l.Spec.HolderIdentity != nil && *l.Spec.HolderIdentity != "" && l.Spec.RenewTime != nil && v.Now.Sub(l.Spec.RenewTime.Time) < staleAfter
}

// NameOf returns the namespace/name of an object.
func NameOf(o metav1.Object) string {
	return o.GetNamespace() + "/" + o.GetName()
}

// PodsOf returns the Pods of a workload.
func (v *View) PodsOf(w *Workload) []Pod {
	return v.pods(func(p Pod) bool {
		return p.Namespace == w.Namespace && w.Selector != nil && w.Selector.Matches(labels.Set(p.Labels))
	})
}

// Component returns the Pods of a component of the control plane.
func (v *View) Component(name string) []Pod {
	return v.pods(func(p Pod) bool { return p.Component == name })
}

func (v *View) pods(wanted func(Pod) bool) []Pod {
	return slices.DeleteFunc(slices.Clone(v.Pods), func(p Pod) bool { return !wanted(p) })
}

// LeftAloneBy returns the label that keeps every manager off the Node, or "" if there is
// none.
func LeftAloneBy(n *corev1.Node) string {
	for _, key := range []string{ownership.LabelExcludeRestricted, ownership.LabelExclude} {
		if nodefact.HasLabel(n, key) {
			return key
		}
	}
	for _, key := range []string{ownership.LabelProviderRestricted, ownership.LabelProvider} {
		if n.Labels[key] == "none" {
			return key + "=none"
		}
	}
	return ""
}

// maxText bounds the length, in bytes, of a text that others might have written.
const maxText = 1000

// Shown turns a text that others might have written into one line without secrets.
func Shown(text string) string { return printable.Line(printable.WithoutSecrets(text), maxText) }
