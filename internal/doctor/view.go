package doctor

import (
	"fmt"
	"slices"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// Source is a kind of data that is read from the API server for the checks.
type Source string

// The sources. The name of a source is the right that you need to read it.
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
	// OtherEvents are all events about volumes, and those events about Nodes and
	// Services that are not warnings.
	OtherEvents Source = "list events that are no warnings"
	Reviews     Source = "create subjectaccessreviews.authorization.k8s.io"
)

// managers has the sources in which the checks find cloud-controller-managers.
var managers = []Source{Leases, Deployments, DaemonSets, StatefulSets, Pods}

// View has all data that the checks look at.
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
	Events    []corev1.Event
	Requests  []certificatesv1.CertificateSigningRequest
	// Slices has the EndpointSlices of Services with a local traffic policy, by
	// namespace/name of the Service.
	Slices  map[string][]discoveryv1.EndpointSlice
	Reviews []Review

	// Volumes and OtherEvents are read only for a bundle.
	Volumes     []corev1.PersistentVolume
	OtherEvents []corev1.Event // events about Nodes, Services and volumes

	// Missing has the sources that could not be read. The value is the right that you
	// need to read the source. If the source could not be read for another reason than
	// a missing right, the error follows in parentheses.
	Missing map[Source]string
	// Partly has the sources that were read only in part, because there is too
	// much data.
	Partly map[Source]bool
}

// Workload is a static Pod, or an object that creates Pods, such as a Deployment.
type Workload struct {
	Kind      string    `json:"kind"`
	Namespace string    `json:"namespace"`
	Name      string    `json:"name"`
	Created   time.Time `json:"created"`
	Replicas  int32     `json:"replicas"`
	Ready     int32     `json:"ready"`
	// Updating reports whether Pods of two versions might be running.
	Updating bool `json:"updating,omitempty"`
	// Surges reports whether a rollout can start a new Pod before the old one has
	// ended.
	Surges   bool            `json:"surges,omitempty"`
	Selector labels.Selector `json:"-"`
	Template Template        `json:"template"`
}

// staticPod is the kind of a workload that is a static Pod.
const staticPod = "pod"

func (w *Workload) object() string { return w.Kind + "/" + w.Namespace + "/" + w.Name }

// Template has the fields of a Pod's spec that the checks need. The environment and
// the volumes are left out, because they might contain secrets.
type Template struct {
	HostNetwork    bool                `json:"hostNetwork,omitempty"`
	DNSPolicy      corev1.DNSPolicy    `json:"dnsPolicy,omitempty"`
	ServiceAccount string              `json:"serviceAccount,omitempty"`
	Tolerations    []corev1.Toleration `json:"tolerations,omitempty"`
	Containers     []Container         `json:"containers"`
}

// Container has the fields of a container that the checks need.
type Container struct {
	Name  string   `json:"name"`
	Image string   `json:"image"`
	Line  []string `json:"line,omitempty"` // command and arguments
}

// Pod has the fields of a Pod that the checks need.
type Pod struct {
	Namespace string            `json:"namespace"`
	Name      string            `json:"name"`
	Node      string            `json:"node,omitempty"`
	Component string            `json:"component,omitempty"` // the component of the control plane
	Labels    map[string]string `json:"labels,omitempty"`
	Created   time.Time         `json:"created"`
	Ready     bool              `json:"ready"`
	// Static reports whether the Pod is static, which means that its kubelet reads it
	// from a file.
	Static     bool              `json:"static,omitempty"`
	Template   Template          `json:"template"`
	Containers []ContainerStatus `json:"containers,omitempty"`
}

func (p *Pod) object() string { return "pod/" + p.Namespace + "/" + p.Name }

// ContainerStatus is the state of a container.
type ContainerStatus struct {
	Name     string `json:"name"`
	ImageID  string `json:"imageID,omitempty"`
	Waiting  string `json:"waiting,omitempty"` // the reason why the container waits
	Restarts int32  `json:"restarts,omitempty"`
}

// Review reports whether an account has a right.
type Review struct {
	Manager string `json:"manager"` // the manager's object
	Account string `json:"account"`
	Right   Right  `json:"right"`
	Allowed bool   `json:"allowed"`
}

// podsOf returns the Pods of a workload.
func (v *View) podsOf(w *Workload) []Pod {
	var all []Pod
	for _, p := range v.Pods {
		if p.Namespace == w.Namespace && w.Selector != nil && w.Selector.Matches(labels.Set(p.Labels)) {
			all = append(all, p)
		}
	}
	return all
}

// component returns the Pods of a component of the control plane.
func (v *View) component(name string) []Pod {
	var all []Pod
	for _, p := range v.Pods {
		if p.Component == name {
			all = append(all, p)
		}
	}
	return all
}

// isOld reports whether a time is at least v.Waiting ago.
func (v *View) isOld(since time.Time) bool { return v.Now.Sub(since) >= v.Waiting }

// Unread returns a sentence for each of these sources that was not read
// completely.
func (v *View) Unread(of ...Source) []string {
	var all []string
	for _, s := range of {
		switch why, missing := v.Missing[s]; {
		case missing && why == string(s):
			all = append(all, "Left out, because the right is missing: "+why+".")
		case missing:
			all = append(all, "Left out, because it failed: "+why+".")
		case v.Partly[s]:
			all = append(all, fmt.Sprintf("Left out in part, because not all objects were read: %s.", s))
		}
	}
	return all
}

// missing returns the values of View.Missing for these sources, without
// duplicates. The result is empty if all of them were read.
func (v *View) missing(needed []Source) []string {
	var all []string
	for _, s := range needed {
		if why, ok := v.Missing[s]; ok && !slices.Contains(all, why) {
			all = append(all, why)
		}
	}
	return all
}
