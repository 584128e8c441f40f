package doctor

import (
	"context"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/ptr"
)

func (o *observer) nodes(ctx context.Context) {
	all := read(ctx, o, Nodes, o.pages, metav1.ListOptions{}, func(ctx context.Context, of metav1.ListOptions) ([]corev1.Node, string, error) {
		l, err := o.client.CoreV1().Nodes().List(ctx, of)
		if err != nil {
			return nil, "", err
		}
		return l.Items, l.Continue, nil
	})
	o.with(func(v *View) { v.Nodes = all })
}

func (o *observer) services(ctx context.Context) {
	all := read(ctx, o, Services, o.pages, metav1.ListOptions{}, func(ctx context.Context, of metav1.ListOptions) ([]corev1.Service, string, error) {
		l, err := o.client.CoreV1().Services(metav1.NamespaceAll).List(ctx, of)
		if err != nil {
			return nil, "", err
		}
		return l.Items, l.Continue, nil
	})
	o.with(func(v *View) { v.Services = all })
}

// leases reads all Leases except those of kubelets, because every Node has one of
// these.
func (o *observer) leases(ctx context.Context) {
	of := metav1.ListOptions{FieldSelector: fields.OneTermNotEqualSelector("metadata.namespace", corev1.NamespaceNodeLease).String()}
	all := read(ctx, o, Leases, o.pages, of, func(ctx context.Context, of metav1.ListOptions) ([]coordinationv1.Lease, string, error) {
		l, err := o.client.CoordinationV1().Leases(o.namespace).List(ctx, of)
		if err != nil {
			return nil, "", err
		}
		return l.Items, l.Continue, nil
	})
	o.with(func(v *View) { v.Leases = all })
}

func (o *observer) deployments(ctx context.Context) {
	all := read(ctx, o, Deployments, o.pages, metav1.ListOptions{}, func(ctx context.Context, of metav1.ListOptions) ([]appsv1.Deployment, string, error) {
		l, err := o.client.AppsV1().Deployments(o.namespace).List(ctx, of)
		if err != nil {
			return nil, "", err
		}
		return l.Items, l.Continue, nil
	})
	for i := range all {
		d := &all[i]
		rolling := d.Spec.Strategy.RollingUpdate
		o.workload(Workload{
			Kind: "deployment", Replicas: ptr.Deref(d.Spec.Replicas, 1), Ready: d.Status.ReadyReplicas,
			Updating: d.Status.ObservedGeneration < d.Generation || d.Status.UpdatedReplicas < d.Status.Replicas,
			Surges:   d.Spec.Strategy.Type != appsv1.RecreateDeploymentStrategyType && (rolling == nil || rolling.MaxSurge == nil || rolling.MaxSurge.String() != "0" && rolling.MaxSurge.String() != "0%"),
		}, &d.ObjectMeta, d.Spec.Selector, &d.Spec.Template.Spec)
	}
}

func (o *observer) daemonSets(ctx context.Context) {
	all := read(ctx, o, DaemonSets, o.pages, metav1.ListOptions{}, func(ctx context.Context, of metav1.ListOptions) ([]appsv1.DaemonSet, string, error) {
		l, err := o.client.AppsV1().DaemonSets(o.namespace).List(ctx, of)
		if err != nil {
			return nil, "", err
		}
		return l.Items, l.Continue, nil
	})
	for i := range all {
		d := &all[i]
		o.workload(Workload{
			Kind: "daemonset", Replicas: d.Status.DesiredNumberScheduled, Ready: d.Status.NumberReady,
			Updating: d.Status.ObservedGeneration < d.Generation || d.Status.UpdatedNumberScheduled < d.Status.DesiredNumberScheduled,
		}, &d.ObjectMeta, d.Spec.Selector, &d.Spec.Template.Spec)
	}
}

func (o *observer) statefulSets(ctx context.Context) {
	all := read(ctx, o, StatefulSets, o.pages, metav1.ListOptions{}, func(ctx context.Context, of metav1.ListOptions) ([]appsv1.StatefulSet, string, error) {
		l, err := o.client.AppsV1().StatefulSets(o.namespace).List(ctx, of)
		if err != nil {
			return nil, "", err
		}
		return l.Items, l.Continue, nil
	})
	for i := range all {
		s := &all[i]
		o.workload(Workload{
			Kind: "statefulset", Replicas: ptr.Deref(s.Spec.Replicas, 1), Ready: s.Status.ReadyReplicas,
			Updating: s.Status.ObservedGeneration < s.Generation || s.Status.UpdatedReplicas < s.Status.Replicas,
		}, &s.ObjectMeta, s.Spec.Selector, &s.Spec.Template.Spec)
	}
}

// workload adds the workload to the View if it is a manager, or another
// controller of load balancers.
func (o *observer) workload(w Workload, meta *metav1.ObjectMeta, selector *metav1.LabelSelector, spec *corev1.PodSpec) {
	w.Namespace, w.Name, w.Created, w.Template = meta.Namespace, meta.Name, meta.CreationTimestamp.Time, templateOf(spec)
	w.Selector, _ = metav1.LabelSelectorAsSelector(selector) // The API server has accepted it.
	if slices.ContainsFunc(w.Template.Containers, isManager) || balancerOf(w.Template) != "" {
		o.with(func(v *View) { v.Workloads = append(v.Workloads, w) })
	}
}

// templateOf returns the fields of a spec that the checks need.
func templateOf(spec *corev1.PodSpec) Template {
	t := Template{HostNetwork: spec.HostNetwork, DNSPolicy: spec.DNSPolicy, ServiceAccount: spec.ServiceAccountName, Tolerations: spec.Tolerations}
	for i := range spec.Containers {
		c := &spec.Containers[i]
		t.Containers = append(t.Containers, Container{Name: c.Name, Image: c.Image, Line: slices.Concat(c.Command, c.Args)})
	}
	return t
}

// componentLabels has the keys of the labels with which installers mark the Pods
// of the control plane.
var componentLabels = []string{"component", "k8s-app"}

const cloudControllerManager = "cloud-controller-manager"

// workload returns a Workload for a static Pod.
func (p *Pod) workload() Workload {
	w := Workload{Kind: staticPod, Namespace: p.Namespace, Name: p.Name, Created: p.Created, Replicas: 1, Template: p.Template}
	if p.Ready {
		w.Ready = 1
	}
	return w
}

// componentPods reads the Pods of the control plane, if they are visible.
func (o *observer) componentPods(ctx context.Context) {
	for _, key := range componentLabels {
		for _, p := range o.pods(ctx, metav1.NamespaceSystem, key+" in ("+apiServer+","+controllerManager+","+cloudControllerManager+")") {
			p.Component = p.Labels[key]
			o.with(func(v *View) {
				v.Pods = append(v.Pods, p)
				if p.Static && slices.ContainsFunc(p.Template.Containers, isManager) {
					v.Workloads = append(v.Workloads, p.workload())
				}
			})
		}
	}
}

// managerPods reads the Pods of the managers.
func (o *observer) managerPods(ctx context.Context) {
	if o.isMissing(Pods) {
		return
	}
	for i, m := range o.view.Managers() {
		if m.Workload == nil || m.Workload.Selector == nil || i >= 2*mostReviewed {
			continue
		}
		found := o.pods(ctx, m.Workload.Namespace, m.Workload.Selector.String())
		o.with(func(v *View) { v.Pods = append(v.Pods, found...) })
	}
}

func (o *observer) pods(ctx context.Context, namespace, selector string) []Pod {
	list := read(ctx, o, Pods, mostPagesOfEvents, metav1.ListOptions{LabelSelector: selector}, func(ctx context.Context, of metav1.ListOptions) ([]corev1.Pod, string, error) {
		l, err := o.client.CoreV1().Pods(namespace).List(ctx, of)
		if err != nil {
			return nil, "", err
		}
		return l.Items, l.Continue, nil
	})
	var all []Pod
	for i := range list {
		all = append(all, podOf(&list[i]))
	}
	return all
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

// events reads warnings about Nodes and Services, and all events about Leases.
func (o *observer) events(ctx context.Context) {
	for _, selector := range []string{
		"involvedObject.kind=Lease",
		"involvedObject.kind=Service,type=" + corev1.EventTypeWarning,
		"involvedObject.kind=Node,type=" + corev1.EventTypeWarning,
	} {
		all := o.eventsOf(ctx, Events, selector)
		o.with(func(v *View) { v.Events = append(v.Events, all...) })
	}
}

func (o *observer) eventsOf(ctx context.Context, s Source, selector string) []corev1.Event {
	of := metav1.ListOptions{FieldSelector: selector}
	return read(ctx, o, s, mostPagesOfEvents, of, func(ctx context.Context, of metav1.ListOptions) ([]corev1.Event, string, error) {
		l, err := o.client.CoreV1().Events(metav1.NamespaceAll).List(ctx, of)
		if err != nil {
			return nil, "", err
		}
		return l.Items, l.Continue, nil
	})
}

func (o *observer) requests(ctx context.Context) {
	of := metav1.ListOptions{FieldSelector: "spec.signerName=" + certificatesv1.KubeletServingSignerName}
	all := read(ctx, o, Requests, mostPagesOfEvents, of, func(ctx context.Context, of metav1.ListOptions) ([]certificatesv1.CertificateSigningRequest, string, error) {
		l, err := o.client.CertificatesV1().CertificateSigningRequests().List(ctx, of)
		if err != nil {
			return nil, "", err
		}
		return l.Items, l.Continue, nil
	})
	o.with(func(v *View) { v.Requests = all })
}

func (o *observer) slicesOf(ctx context.Context, s *corev1.Service) {
	of := metav1.ListOptions{LabelSelector: labels.Set{discoveryv1.LabelServiceName: s.Name}.String(), Limit: pageSize}
	l, err := o.client.DiscoveryV1().EndpointSlices(s.Namespace).List(ctx, of)
	if err != nil {
		o.missed(Slices, err)
		return
	}
	o.with(func(v *View) {
		if v.Slices == nil {
			v.Slices = map[string][]discoveryv1.EndpointSlice{}
		}
		v.Slices[s.Namespace+"/"+s.Name] = l.Items
	})
}
