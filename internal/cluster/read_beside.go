package cluster

import (
	"context"
	"fmt"
	"slices"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// ReadBeside reads the data for View.Beside: Nodes, and the Leases and workloads in
// kube-system. It reads at most 500 objects of each kind, with at most 6 requests. The
// first request asks for the rights of the caller. Every authenticated user may send
// it. The other requests are for the lists that the caller has the right to read.
func ReadBeside(ctx context.Context, client kubernetes.Interface, clock *Clock) (*View, error) {
	review, err := client.AuthorizationV1().SelfSubjectRulesReviews().Create(ctx, &authorizationv1.SelfSubjectRulesReview{
		Spec: authorizationv1.SelfSubjectRulesReviewSpec{Namespace: metav1.NamespaceSystem},
	}, metav1.CreateOptions{})
	if err != nil {
		return nil, fmt.Errorf("find out what may be listed: %w", err)
	}
	r := NewReader(client, metav1.NamespaceSystem, 1)
	r.View.Now, r.View.Offset = clock.Server()
	for _, source := range []struct {
		group, resource string
		read            func(context.Context)
	}{
		{"", "nodes", r.Nodes},
		{"coordination.k8s.io", "leases", r.Leases},
		{"apps", "deployments", r.Deployments},
		{"apps", "daemonsets", r.DaemonSets},
		{"apps", "statefulsets", r.StatefulSets},
	} {
		if mayList(review.Status.ResourceRules, source.group, source.resource) {
			source.read(ctx)
		}
	}
	return r.View, nil
}

// mayList reports whether the rules allow listing all objects of a resource.
func mayList(rules []authorizationv1.ResourceRule, group, resource string) bool {
	has := func(all []string, one string) bool { return slices.Contains(all, one) || slices.Contains(all, "*") }
	return slices.ContainsFunc(rules, func(r authorizationv1.ResourceRule) bool {
		return has(r.Verbs, "list") && has(r.APIGroups, group) && has(r.Resources, resource) && len(r.ResourceNames) == 0
	})
}
