//go:build next

package daemon

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/controller-manager/pkg/clientbuilder"
)

// A provider finds the other kinds of clients by an assertion, as the contract of 0.38 says.
// They have the gate, too.
func TestTypedClientsHaveTheGate(t *testing.T) {
	const name = "route-controller"
	nodes := corev1.SchemeGroupVersion.WithResource("nodes")
	for kind, change := range map[string]func(context.Context, clientbuilder.TypedClientBuilder) error{
		"MetadataClient": func(ctx context.Context, b clientbuilder.TypedClientBuilder) error {
			client, err := b.WithDropManagedFields().MetadataClient(name)
			if err != nil {
				return err
			}
			return client.Resource(nodes).Delete(ctx, "a", metav1.DeleteOptions{})
		},
		"DynamicClient": func(ctx context.Context, b clientbuilder.TypedClientBuilder) error {
			client, err := b.WithRateLimits(1, 1).DynamicClient(name)
			if err != nil {
				return err
			}
			return client.Resource(nodes).Delete(ctx, "a", metav1.DeleteOptions{})
		},
	} {
		t.Run(kind, func(t *testing.T) {
			testGate(t, func(ctx context.Context, b clientbuilder.ControllerClientBuilder) error {
				return change(ctx, b.(clientbuilder.TypedClientBuilder))
			})
		})
	}
}
