package demo

import (
	"context"
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cloud-provider/api"
)

const (
	namespace     = metav1.NamespaceDefault
	app           = "web"
	uninitialized = api.TaintExternalCloudProvider
)

// deployment is a Deployment as a user would write it. The kubelets' fake runtime accepts any image.
func deployment() *appsv1.Deployment {
	labels := map[string]string{"app": app}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: app},
		Spec: appsv1.DeploymentSpec{
			Replicas: new(int32(1)),
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec: corev1.PodSpec{
					AutomountServiceAccountToken: new(false),
					Containers:                   []corev1.Container{{Name: app, Image: "example.com/web"}},
				},
			},
		},
	}
}

// service is the Service that gets the load balancer.
func service() *corev1.Service {
	return &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: app},
		Spec: corev1.ServiceSpec{
			Type:     corev1.ServiceTypeLoadBalancer,
			Selector: map[string]string{"app": app},
			Ports:    []corev1.ServicePort{{Port: 80}},
		},
	}
}

// nodes returns the Nodes of the demo's instances, in their order. If a Node is missing, it returns
// an error.
func (d *demo) nodes(ctx context.Context) ([]corev1.Node, error) {
	var nodes []corev1.Node
	for _, i := range instances() {
		node, err := d.cluster.Client().CoreV1().Nodes().Get(ctx, i.Name, metav1.GetOptions{})
		if err != nil {
			return nil, err
		}
		nodes = append(nodes, *node)
	}
	return nodes, nil
}

// pod returns the pod of the Deployment.
func (d *demo) pod(ctx context.Context) (corev1.Pod, error) {
	list, err := d.cluster.Client().CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{LabelSelector: "app=" + app})
	if err != nil {
		return corev1.Pod{}, err
	}
	if len(list.Items) != 1 {
		return corev1.Pod{}, fmt.Errorf("there are %d pods, want 1", len(list.Items))
	}
	return list.Items[0], nil
}

func waits(n corev1.Node) bool {
	return slices.ContainsFunc(n.Spec.Taints, func(t corev1.Taint) bool { return t.Key == uninitialized })
}

// nodeCondition returns the status of a condition; empty if the Node does not
// have that condition.
func nodeCondition(n corev1.Node, name corev1.NodeConditionType) corev1.ConditionStatus {
	for _, c := range n.Status.Conditions {
		if c.Type == name {
			return c.Status
		}
	}
	return ""
}

// unscheduled returns the scheduler's reason why no node fits the pod. If the scheduler has found a
// node, or has not tried yet, it returns "". The part about preemption is left out, because there
// is nothing to preempt.
func unscheduled(p corev1.Pod) string {
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse {
			first, _, _ := strings.Cut(c.Message, ". preemption:")
			return strings.TrimSuffix(first, ".")
		}
	}
	return ""
}

func podLine(p corev1.Pod) string {
	line := fmt.Sprintf("pod %s is %s", p.Name, p.Status.Phase)
	if p.Spec.NodeName != "" {
		line += " on " + p.Spec.NodeName
	}
	if why := unscheduled(p); why != "" {
		line += ": " + why
	}
	return line
}
