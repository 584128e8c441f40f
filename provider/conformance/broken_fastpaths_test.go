package conformance_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/fairlead-k8s/fairlead/provider"
)

// The provider offers all fast paths.
var (
	_ provider.InstanceMetadataBatcher = instances{}
	_ provider.InstanceLister          = instances{}
	_ provider.InstanceWatcher         = instances{}
	_ provider.Terminations            = instances{}
	_ provider.RouteApplier            = (*routes)(nil)
	_ provider.BackendSetter           = (*loadBalancers)(nil)
	_ provider.ConcurrentLoadBalancer  = (*loadBalancers)(nil)
	_ provider.Reloader                = (*brokenProvider)(nil)
)

// fast reports whether the provider has this flaw in a fast path.
func (c *brokenCloud) fast(flaw string) bool { return c.has("fastpaths/" + flaw) }

func (i instances) MaxInstanceMetadataBatch() int { return 100 }

func (i instances) InstanceMetadataBatch(ctx context.Context, nodes []*corev1.Node) ([]provider.InstanceMetadataAnswer, error) {
	answers := make([]provider.InstanceMetadataAnswer, len(nodes))
	good := true
	for n, node := range nodes {
		answers[n].Metadata, answers[n].Err = i.InstanceMetadata(ctx, node)
		err := answers[n].Err
		absent := errors.Is(err, cloudprovider.InstanceNotFound)
		good = good && err == nil
		switch {
		case err != nil && i.cloud.fast("batch-bad-id") && n == 0 && node.Name == "foreign":
			return nil, err
		case err != nil && !absent && i.cloud.fast("batch-fault") && node.Status.Addresses != nil:
			answers[n].Err = cloudprovider.InstanceNotFound
		}
	}
	if good && i.cloud.fast("batch") {
		slices.SortFunc(answers, func(a, b provider.InstanceMetadataAnswer) int {
			return cmp.Compare(a.Metadata.ProviderID, b.Metadata.ProviderID)
		})
	}
	return answers, nil
}

func (i instances) ListInstances(ctx context.Context, token string) (provider.InstancePage, error) {
	found, next, err := i.cloud.page(ctx, token)
	if err != nil {
		if i.cloud.fast("list-fault") {
			err = nil
		}
		return provider.InstancePage{}, err
	}
	page := provider.InstancePage{Next: next}
	for _, m := range found {
		described, err := i.InstanceMetadata(ctx, &corev1.Node{Spec: corev1.NodeSpec{ProviderID: providerID(m.id)}})
		if errors.Is(err, cloudprovider.InstanceNotFound) {
			continue
		}
		if err != nil {
			return provider.InstancePage{}, err
		}
		if i.cloud.fast("list") {
			described.Zone = ""
		}
		page.Instances = append(page.Instances, *described)
	}
	return page, nil
}

// changed records in the cloud's log that a machine has changed. The caller holds
// mu.
func (c *brokenCloud) changed(id string) {
	c.log = append(c.log, id)
	if c.news != nil {
		close(c.news)
		c.news = nil
	}
}

// since returns the IDs of the machines that have changed after a place in the log,
// and the place of the last change. The returned channel is closed at the next
// change.
func (c *brokenCloud) since(place int) (ids []string, now int, news <-chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.news == nil {
		c.news = make(chan struct{})
	}
	return slices.Clone(c.log[min(place, len(c.log)):]), len(c.log), c.news
}

func (i instances) WatchInstances(ctx context.Context, token string) (provider.InstanceChanges, error) {
	place, err := strconv.Atoi(token)
	ids, now, news := i.cloud.since(place)
	if token == "" || i.cloud.fast("watch") {
		return provider.InstanceChanges{Resume: strconv.Itoa(now)}, nil
	}
	if err != nil {
		return provider.InstanceChanges{}, fmt.Errorf("token %q: %w", token, provider.ErrWatchExpired)
	}
	if len(ids) == 0 {
		ends := ctx.Done()
		if i.cloud.fast("watch-cancel") {
			ends = nil
		}
		select {
		case <-news:
			ids, now, _ = i.cloud.since(place)
		case <-ends:
			return provider.InstanceChanges{}, ctx.Err()
		case <-time.After(time.Minute):
		}
	}
	changes := provider.InstanceChanges{Resume: strconv.Itoa(now)}
	for _, id := range ids {
		changes.Changed = append(changes.Changed, provider.InstanceRef{ProviderID: providerID(id)})
	}
	return changes, nil
}

func (i instances) InstanceTermination(ctx context.Context, node *corev1.Node) (t provider.Termination, err error) {
	now := provider.Termination{ProviderID: node.Spec.ProviderID, At: time.Now()}
	if i.cloud.fast("termination-alive") {
		return now, nil
	}
	_, err = i.cloud.call(ctx, get, func() error {
		for id, e := range i.cloud.ended {
			if node.Spec.ProviderID == providerID(id) || i.cloud.fast("termination-name") && node.Name == e.name {
				t = provider.Termination{ProviderID: node.Spec.ProviderID, At: e.at, By: provider.TerminatedByUser}
			}
		}
		return nil
	})
	switch {
	case err != nil && i.cloud.fast("termination-fault"):
		return now, nil
	case i.cloud.fast("termination") && !t.At.IsZero():
		t.At = time.Time{}
	}
	return t, err
}

func (r *routes) MaxRouteChanges() int {
	if r.cloud.fast("limits") {
		return 0
	}
	return 100
}

func (r *routes) ApplyRoutes(ctx context.Context, cluster string, changes []provider.RouteChange) ([]provider.RouteResult, error) {
	var results []provider.RouteResult
	for n, change := range changes {
		result := provider.RouteResult{Change: n}
		if change.Create != nil {
			result.Err = r.CreateRoute(ctx, cluster, change.NameHint, change.Create)
		} else {
			result.Err = r.DeleteRoute(ctx, cluster, change.Delete)
		}
		results = append(results, result)
		if result.Err != nil && r.cloud.fast("routes") {
			break
		}
	}
	return results, nil
}

func (l *loadBalancers) MaxBackendServices() int { return 100 }

func (l *loadBalancers) SetBackends(ctx context.Context, cluster string, services []*corev1.Service, nodes []*corev1.Node) ([]provider.BackendResult, error) {
	results := make([]provider.BackendResult, len(services))
	failed := false
	for n, service := range services {
		results[n].Service = n
		if failed && l.cloud.fast("backends") {
			continue
		}
		results[n].Err = l.UpdateLoadBalancer(ctx, cluster, service, nodes)
		failed = failed || results[n].Err != nil
	}
	return results, nil
}

// Reload implements provider.Reloader. It accepts only a nil reader.
func (p *brokenProvider) Reload(_ context.Context, config io.Reader) error {
	switch {
	case config != nil && p.cloud.fast("reload-bad"):
		p.cloud.unusable.Store(true)
		return errors.New("the configuration is not empty")
	case config != nil:
		return errors.New("the configuration is not empty")
	case p.cloud.fast("reload"):
		p.cloud.unusable.Store(true)
	}
	return nil
}
