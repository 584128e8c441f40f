package cluster

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// namespace is the namespace of the Services of a benchmark.
const namespace = metav1.NamespaceDefault

// Expose creates Services of type LoadBalancer.
func (p *Plane) Expose(ctx context.Context, services int) error {
	return Each(services, func(n int) error {
		service := &corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("service-%05d", n)},
			Spec: corev1.ServiceSpec{
				Type: corev1.ServiceTypeLoadBalancer, Selector: map[string]string{"app": "bench"}, Ports: []corev1.ServicePort{{Port: 80}},
			},
		}
		_, err := p.Client.CoreV1().Services(namespace).Create(ctx, service, metav1.CreateOptions{})
		return err
	})
}

// Exposed returns the Services of type LoadBalancer.
func (p *Plane) Exposed(ctx context.Context) ([]corev1.Service, error) {
	list, err := p.Client.CoreV1().Services(namespace).List(ctx, metav1.ListOptions{ResourceVersion: "0"})
	if err != nil {
		return nil, err
	}
	var exposed []corev1.Service
	for _, s := range list.Items {
		if s.Spec.Type == corev1.ServiceTypeLoadBalancer {
			exposed = append(exposed, s)
		}
	}
	return exposed, nil
}

// Unexpose deletes the Services of type LoadBalancer.
func (p *Plane) Unexpose(ctx context.Context) error {
	services, err := p.Exposed(ctx)
	if err != nil {
		return err
	}
	return Each(len(services), func(n int) error {
		return p.Client.CoreV1().Services(namespace).Delete(ctx, services[n].Name, metav1.DeleteOptions{})
	})
}

// MovedPort is the port of the Services after a call of MovePorts.
const MovedPort = 81

// MovePorts changes the port of all Services of type LoadBalancer. Their load
// balancers then have to change, too.
func (p *Plane) MovePorts(ctx context.Context) error {
	services, err := p.Exposed(ctx)
	if err != nil {
		return err
	}
	patch := fmt.Appendf(nil, `[{"op": "replace", "path": "/spec/ports/0/port", "value": %d}]`, MovedPort)
	return Each(len(services), func(n int) error {
		_, err := p.Client.CoreV1().Services(namespace).Patch(ctx, services[n].Name, types.JSONPatchType, patch, metav1.PatchOptions{})
		return err
	})
}
