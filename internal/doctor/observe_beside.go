package doctor

import (
	"context"
	"fmt"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// BesideAfter is the time for which a daemon that has become the leader waits before
// it looks for other managers. By then, the Lease of a manager that the daemon has
// replaced is stale.
const BesideAfter = staleAfter + 15*time.Second

// ObserveBeside reads the data for View.Beside: Nodes, and the Leases and workloads in
// kube-system. It reads at most 500 objects of each kind, with at most 6 requests. The
// first request asks for the rights of the caller. Every authenticated user may send
// it. The other requests are for the lists that the caller has the right to read.
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
