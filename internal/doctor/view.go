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

// Source is something that is read from the API server for the checks.
type Source string

// The sources. The name of each is the right that reading it needs.
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
	// OtherEvents are all events about volumes, and the events about Nodes and
	// Services that are no warnings.
	OtherEvents Source = "list events that are no warnings"
	Reviews     Source = "create subjectaccessreviews.authorization.k8s.io"
)

// managers are the sources that show which cloud-controller-managers there are.
var managers = []Source{Leases, Deployments, DaemonSets, StatefulSets, Pods}

// View is everything that the checks look at.
type View struct {
	Now     time.Time     // by the clock of the API server
	Offset  time.Duration // the local clock minus that of the API server
	Waiting time.Duration // how long objects may wait before they are reported
	Version string        // of the API server

	Nodes     []corev1.Node
	Services  []corev1.Service
	Leases    []coordinationv1.Lease
	Workloads []Workload
	Pods      []Pod // of the control plane, and of the managers
	Events    []corev1.Event
	Requests  []certificatesv1.CertificateSigningRequest
	// Slices are the EndpointSlices of Services that keep traffic on the node, by
	// namespace and name of the Service.
	Slices  map[string][]discoveryv1.EndpointSlice
	Reviews []Review

	// Volumes and OtherEvents are only read for a bundle.
	Volumes     []corev1.PersistentVolume
	OtherEvents []corev1.Event // about Nodes, Services and volumes

	// Missing are the sources that could not be read, each with the right that reading
	// it needs. An error other than a missing right follows in parentheses.
	Missing map[Source]string
	// Partly are the sources of which there is more than was read.
	Partly map[Source]bool
}

// Workload is an object that makes Pods, such as a Deployment, or a static Pod.
type Workload struct {
	Kind      string    `json:"kind"`
	Namespace string    `json:"namespace"`
	Name      string    `json:"name"`
	Created   time.Time `json:"created"`
	Replicas  int32     `json:"replicas"`
	Ready     int32     `json:"ready"`
	// Updating reports whether Pods of two versions may run now.
	Updating bool `json:"updating,omitempty"`
	// Surges reports whether a new Pod may start before the old one has ended.
	Surges   bool            `json:"surges,omitempty"`
	Selector labels.Selector `json:"-"`
	Template Template        `json:"template"`
}

// staticPod is the kind of a workload that is a static Pod.
const staticPod = "pod"

func (w *Workload) object() string { return w.Kind + "/" + w.Namespace + "/" + w.Name }

// Template is what the checks read of a Pod's spec. Environment and volumes are never
// read, because they may hold secrets.
type Template struct {
	HostNetwork    bool                `json:"hostNetwork,omitempty"`
	DNSPolicy      corev1.DNSPolicy    `json:"dnsPolicy,omitempty"`
	ServiceAccount string              `json:"serviceAccount,omitempty"`
	Tolerations    []corev1.Toleration `json:"tolerations,omitempty"`
	Containers     []Container         `json:"containers"`
}

// Container is what the checks read of a container.
type Container struct {
	Name  string   `json:"name"`
	Image string   `json:"image"`
	Line  []string `json:"line,omitempty"` // command and arguments
}

// Pod is what the checks read of a Pod.
type Pod struct {
	Namespace string            `json:"namespace"`
	Name      string            `json:"name"`
	Node      string            `json:"node,omitempty"`
	Component string            `json:"component,omitempty"` // of the control plane
	Labels    map[string]string `json:"labels,omitempty"`
	Created   time.Time         `json:"created"`
	Ready     bool              `json:"ready"`
	// Static reports whether a kubelet runs the Pod from a file of its own.
	Static     bool              `json:"static,omitempty"`
	Template   Template          `json:"template"`
	Containers []ContainerStatus `json:"containers,omitempty"`
}

func (p *Pod) object() string { return "pod/" + p.Namespace + "/" + p.Name }

// ContainerStatus is the state of a container.
type ContainerStatus struct {
	Name     string `json:"name"`
	ImageID  string `json:"imageID,omitempty"`
	Waiting  string `json:"waiting,omitempty"` // the reason
	Restarts int32  `json:"restarts,omitempty"`
}

// Review is the answer to whether an account has a right.
type Review struct {
	Manager string `json:"manager"` // the object
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

// isOld reports whether something has lasted longer than objects may wait.
func (v *View) isOld(since time.Time) bool { return v.Now.Sub(since) >= v.Waiting }

// Unread returns a sentence for each of these sources of which not all was read.
func (v *View) Unread(of ...Source) []string {
	var all []string
	for _, s := range of {
		switch why, missing := v.Missing[s]; {
		case missing && why == string(s):
			all = append(all, "Left out, because the right is missing: "+why+".")
		case missing:
			all = append(all, "Left out, because it failed: "+why+".")
		case v.Partly[s]:
			all = append(all, fmt.Sprintf("Left out in part, because there is more than is read: %s.", s))
		}
	}
	return all
}

// missing returns what View.Missing says of these sources, without duplicates. It
// returns none if all of them were read.
func (v *View) missing(needed []Source) []string {
	var all []string
	for _, s := range needed {
		if why, ok := v.Missing[s]; ok && !slices.Contains(all, why) {
			all = append(all, why)
		}
	}
	return all
}
