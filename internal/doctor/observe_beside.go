package doctor

import (
	"context"
	"fmt"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// BesideAfter is how long after its start a manager looks for others. By then, the
// Lease of a manager that it has replaced is stale.
const BesideAfter = staleAfter + 15*time.Second

// ObserveBeside reads what View.Beside looks at: Nodes, and the Leases and workloads of
// kube-system, at most 500 of each kind. It makes at most 6 requests. The first one asks
// what the caller may do; every authenticated user may ask that. After it, only lists are
// requested that the caller may request.
func ObserveBeside(ctx context.Context, client kubernetes.Interface, clock *Clock) (*View, error) {
	review, err := client.AuthorizationV1().SelfSubjectRulesReviews().Create(ctx, &authorizationv1.SelfSubjectRulesReview{
		Spec: authorizationv1.SelfSubjectRulesReviewSpec{Namespace: metav1.NamespaceSystem},
	}, metav1.CreateOptions{})
	if err != nil {
		return nil, fmt.Errorf("find out what may be listed: %w", err)
	}
	o := newObserver(client, metav1.NamespaceSystem, 1)
	o.view.Now, o.view.Offset = clock.server()
	for _, source := range []struct {
		group, resource string
		read            func(context.Context)
	}{
		{"", "nodes", o.nodes},
		{"coordination.k8s.io", "leases", o.leases},
		{"apps", "deployments", o.deployments},
		{"apps", "daemonsets", o.daemonSets},
		{"apps", "statefulsets", o.statefulSets},
	} {
		if mayList(review.Status.ResourceRules, source.group, source.resource) {
			source.read(ctx)
		}
	}
	return o.view, nil
}
