package cluster

import (
	"context"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/ptr"
)

// The components of the control plane whose Pods are read.
const (
	APIServer         = "kube-apiserver"
	ControllerManager = "kube-controller-manager"

	cloudControllerManager = "cloud-controller-manager"
)

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

// StaticPod is the kind of a workload that is a static Pod.
const StaticPod = "pod"

// Object returns kind/namespace/name.
func (w *Workload) Object() string { return w.Kind + "/" + w.Namespace + "/" + w.Name }

// Template has the fields of a Pod's spec that the rules need. The environment and
// the volumes are left out, because they might contain secrets.
type Template struct {
	HostNetwork    bool                `json:"hostNetwork,omitempty"`
	DNSPolicy      corev1.DNSPolicy    `json:"dnsPolicy,omitempty"`
	ServiceAccount string              `json:"serviceAccount,omitempty"`
	Tolerations    []corev1.Toleration `json:"tolerations,omitempty"`
	Containers     []Container         `json:"containers"`
}

// Container has the fields of a container that the rules need.
type Container struct {
	Name  string   `json:"name"`
	Image string   `json:"image"`
	Line  []string `json:"line,omitempty"` // command and arguments
}

// Pod has the fields of a Pod that the rules need.
type Pod struct {
	Namespace string            `json:"namespace"`
	Name      string            `json:"name"`
	Node      string            `json:"node,omitempty"`
	Component string            `json:"component,omitempty"` // the component of the control plane
	Labels    map[string]string `json:"labels,omitempty"`
	Created   time.Time         `json:"created"`
	Ready     bool              `json:"ready"`
	// Static reports whether the Pod's kubelet reads it from a file.
	Static     bool              `json:"static,omitempty"`
	Template   Template          `json:"template"`
	Containers []ContainerStatus `json:"containers,omitempty"`
}

// Object returns kind/namespace/name.
func (p *Pod) Object() string { return "pod/" + p.Namespace + "/" + p.Name }

// Flags returns the flags of the Pod's containers.
func (p *Pod) Flags() Flags {
	var line []string
	for _, c := range p.Template.Containers {
		line = append(line, c.Line...)
	}
	return FlagsOf(line)
}

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

// Right is the right to use a verb on a resource.
type Right struct {
	Verb      string `json:"verb"`
	Group     string `json:"group,omitempty"`
	Resource  string `json:"resource"` // with the subresource, if any
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name,omitempty"`
	// Excess marks a right that a manager should not have.
	Excess bool `json:"excess,omitempty"`
}

func (r Right) String() string {
	resource, sub, _ := strings.Cut(r.Resource, "/")
	if r.Group != "" {
		resource += "." + r.Group
	}
	if sub != "" {
		resource += "/" + sub
	}
	return strings.TrimSpace(r.Verb + " " + resource + " " + r.Name)
}

// Deployments reads the Deployments of managers and of other controllers of load
// balancers.
func (r *Reader) Deployments(ctx context.Context) {
	for _, d := range list[appsv1.Deployment](ctx, r, Deployments, r.pages, metav1.ListOptions{}, r.client.AppsV1().Deployments(r.namespace).List) {
		rolling := d.Spec.Strategy.RollingUpdate
		r.workload(Workload{
			Kind: "deployment", Replicas: ptr.Deref(d.Spec.Replicas, 1), Ready: d.Status.ReadyReplicas,
			Updating: d.Status.ObservedGeneration < d.Generation || d.Status.UpdatedReplicas < d.Status.Replicas,
			Surges: d.Spec.Strategy.Type != appsv1.RecreateDeploymentStrategyType &&
				(rolling == nil || rolling.MaxSurge == nil || rolling.MaxSurge.String() != "0" && rolling.MaxSurge.String() != "0%"),
		}, &d.ObjectMeta, d.Spec.Selector, &d.Spec.Template.Spec)
	}
}

// DaemonSets reads the DaemonSets, as Deployments does.
func (r *Reader) DaemonSets(ctx context.Context) {
	for _, d := range list[appsv1.DaemonSet](ctx, r, DaemonSets, r.pages, metav1.ListOptions{}, r.client.AppsV1().DaemonSets(r.namespace).List) {
		r.workload(Workload{
			Kind: "daemonset", Replicas: d.Status.DesiredNumberScheduled, Ready: d.Status.NumberReady,
			Updating: d.Status.ObservedGeneration < d.Generation || d.Status.UpdatedNumberScheduled < d.Status.DesiredNumberScheduled,
		}, &d.ObjectMeta, d.Spec.Selector, &d.Spec.Template.Spec)
	}
}

// StatefulSets reads the StatefulSets, as Deployments does.
func (r *Reader) StatefulSets(ctx context.Context) {
	for _, s := range list[appsv1.StatefulSet](ctx, r, StatefulSets, r.pages, metav1.ListOptions{}, r.client.AppsV1().StatefulSets(r.namespace).List) {
		r.workload(Workload{
			Kind: "statefulset", Replicas: ptr.Deref(s.Spec.Replicas, 1), Ready: s.Status.ReadyReplicas,
			Updating: s.Status.ObservedGeneration < s.Generation || s.Status.UpdatedReplicas < s.Status.Replicas,
		}, &s.ObjectMeta, s.Spec.Selector, &s.Spec.Template.Spec)
	}
}

func (r *Reader) workload(w Workload, of *metav1.ObjectMeta, selector *metav1.LabelSelector, spec *corev1.PodSpec) {
	w.Namespace, w.Name, w.Created, w.Template = of.Namespace, of.Name, of.CreationTimestamp.Time, templateOf(spec)
	w.Selector, _ = metav1.LabelSelectorAsSelector(selector) // The API server has accepted it.
	if slices.ContainsFunc(w.Template.Containers, isManager) || w.Balancer() != "" {
		r.with(func(v *View) { v.Workloads = append(v.Workloads, w) })
	}
}

func templateOf(spec *corev1.PodSpec) Template {
	t := Template{HostNetwork: spec.HostNetwork, DNSPolicy: spec.DNSPolicy, ServiceAccount: spec.ServiceAccountName, Tolerations: spec.Tolerations}
	for i := range spec.Containers {
		c := &spec.Containers[i]
		t.Containers = append(t.Containers, Container{Name: c.Name, Image: c.Image, Line: slices.Concat(c.Command, c.Args)})
	}
	return t
}

// workload returns a Workload for a static Pod.
func (p *Pod) workload() Workload {
	w := Workload{Kind: StaticPod, Namespace: p.Namespace, Name: p.Name, Created: p.Created, Replicas: 1, Template: p.Template}
	if p.Ready {
		w.Ready = 1
	}
	return w
}

func podOf(p *corev1.Pod) Pod {
	pod := Pod{
		Namespace: p.Namespace, Name: p.Name, Node: p.Spec.NodeName, Labels: p.Labels,
		Created: p.CreationTimestamp.Time, Template: templateOf(&p.Spec), Static: p.Annotations[corev1.MirrorPodAnnotationKey] != "",
	}
	for _, c := range p.Status.Conditions {
		pod.Ready = pod.Ready || c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	}
	for _, c := range p.Status.ContainerStatuses {
		s := ContainerStatus{Name: c.Name, ImageID: c.ImageID, Restarts: c.RestartCount}
		if c.State.Waiting != nil {
			s.Waiting = c.State.Waiting.Reason
		}
		pod.Containers = append(pod.Containers, s)
	}
	return pod
}

// Balancer returns the name of the workload's program if it serves Services of type
// LoadBalancer without a class. It returns "" for any other program.
func (w *Workload) Balancer() string {
	for _, c := range w.Template.Containers {
		for _, b := range []struct{ image, name string }{
			{"metallb/controller", "MetalLB"},
			{"purelb/allocator", "PureLB"},
			{"klipper-lb", "ServiceLB of k3s"},
		} {
			if strings.Contains(c.Image, b.image) && FlagsOf(c.Line)["lb-class"] == "" {
				return b.name
			}
		}
	}
	return ""
}
