package doctor

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/fairlead-k8s/fairlead/internal/cluster"
)

// mostPages bounds the pages of one kind, so that at most 5,000 objects are read.
const mostPages = 10

// observe reads the data for the checks and, if asked for, what only a bundle needs. It
// returns an error if the request for the server's version fails, or if ctx ends before
// the managers are known. A missing right is not an error. The argument longest is the
// time for which an object may wait before a check reports it.
func observe(ctx context.Context, client kubernetes.Interface, clock *cluster.Clock, longest time.Duration, forBundle bool) (*cluster.View, error) { //nolint:revive // flag-parameter: it comes from a flag
	version, err := client.Discovery().ServerVersion()
	if err != nil && !apierrors.IsForbidden(err) {
		return nil, fmt.Errorf("the API server: %w", err)
	}
	r := cluster.NewReader(client, metav1.NamespaceAll, mostPages)
	v := r.View
	v.Waiting = longest
	if version != nil {
		v.Version = version.GitVersion
	}
	v.Now, v.Offset = clock.Server()
	const warnings = ",type=" + corev1.EventTypeWarning
	events := r.EventsOf(metav1.NamespaceAll, "involvedObject.kind=Lease", "involvedObject.kind=Service"+warnings, "involvedObject.kind=Node"+warnings)
	cluster.Together(ctx, r.Nodes, r.Services, r.Leases, r.Deployments, r.DaemonSets, r.StatefulSets, r.ComponentPods, events, r.Requests)
	if len(v.Missing) > 0 && ctx.Err() != nil {
		return nil, fmt.Errorf("the API server: %w", context.Cause(ctx))
	}
	// The managers are known now, so their details can be read.
	asked := questions(v)
	cluster.Together(ctx, r.ManagerPods, r.Slices, func(ctx context.Context) { r.Review(ctx, asked) })
	if forBundle {
		r.Volumes(ctx)
		if v.Missing[cluster.Events] == nil {
			r.OtherEvents(ctx)
		}
	}
	return v, nil
}

// isBlind reports whether none of the main sources could be read.
func isBlind(v *cluster.View) bool {
	for _, s := range []cluster.Source{cluster.Nodes, cluster.Services, cluster.Leases, cluster.Deployments, cluster.DaemonSets, cluster.Pods, cluster.Events} {
		if v.Missing[s] == nil {
			return false
		}
	}
	return true
}
