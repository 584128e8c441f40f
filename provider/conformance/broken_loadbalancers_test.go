package conformance_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/cloud-provider/api"

	"github.com/fairlead-k8s/fairlead/provider/conformance"
)

// loadBalancers implements cloudprovider.LoadBalancer.
type loadBalancers struct {
	cloud *brokenCloud
	// number is 1 for the first provider of the cloud, and 2 for the second.
	number int

	answers map[types.UID]int // guarded by the cloud's mu; successful calls of EnsureLoadBalancer
	slots   map[types.UID]bool
}

// remembered is what a flawed provider remembers about a Service.
type remembered struct {
	service *corev1.Service
	status  *corev1.LoadBalancerStatus
	deleted bool
	lost    int // number of lost answers
}

func (l *loadBalancers) has(flaw string) bool { return l.cloud.has("loadbalancers/" + flaw) }

// memory returns what the provider remembers about a Service.
func (l *loadBalancers) memory(uid types.UID) *remembered {
	l.cloud.mu.Lock()
	defer l.cloud.mu.Unlock()
	if l.cloud.memory[uid] == nil {
		l.cloud.memory[uid] = &remembered{}
	}
	return l.cloud.memory[uid]
}

func (l *loadBalancers) MaxConcurrentServices() int { return 16 }

func (l *loadBalancers) GetLoadBalancerName(_ context.Context, cluster string, s *corev1.Service) string {
	if l.has("name") {
		return fmt.Sprintf("%s-%d", balancerName(cluster, s.UID), l.number)
	}
	return balancerName(cluster, s.UID)
}

func balancerName(cluster string, uid types.UID) string { return cluster + "-" + string(uid) }

func (l *loadBalancers) GetLoadBalancer(ctx context.Context, cluster string, s *corev1.Service) (*corev1.LoadBalancerStatus, bool, error) {
	is, err := l.find(ctx, cluster, s.UID)
	switch {
	case err != nil:
		return nil, false, err
	case is == nil && l.has("get-none"):
		return nil, false, errors.New("load balancer not found")
	case is == nil:
		return nil, false, nil
	case l.has("get-after"):
		return &corev1.LoadBalancerStatus{}, true, nil
	}
	return is.status(), true, nil
}

func (b *balancer) status() *corev1.LoadBalancerStatus {
	return &corev1.LoadBalancerStatus{Ingress: []corev1.LoadBalancerIngress{{IP: b.address}}}
}

// find returns the load balancer of a Service, or nil if there is none.
func (l *loadBalancers) find(ctx context.Context, cluster string, uid types.UID) (*balancer, error) {
	found, err := listed(ctx, l.cloud, &l.cloud.balancers, func(b balancer) bool { return b.cluster == cluster && b.uid == uid })
	if err != nil || len(found) == 0 {
		return nil, err
	}
	return &found[0], nil
}

func (l *loadBalancers) EnsureLoadBalancer(ctx context.Context, cluster string, s *corev1.Service, nodes []*corev1.Node) (*corev1.LoadBalancerStatus, error) {
	if l.has("cancel") {
		ctx = context.WithoutCancel(ctx)
	}
	if l.has("arguments") && s.Annotations != nil {
		s.Annotations["broken.example/id"] = "lb"
	}
	if l.cloud.habit == warns {
		l.cloud.warn(s, fmt.Sprintf("load balancer %s of Service %s has no type", balancerName(cluster, s.UID), s.Name))
	}
	m := l.memory(s.UID)
	if l.full(s.UID) {
		return &corev1.LoadBalancerStatus{Ingress: []corev1.LoadBalancerIngress{{IP: "192.0.2.1"}}}, nil
	}
	wanted, err := l.wanted(cluster, l.seen(s, m), nodes)
	if err != nil {
		return nil, err
	}
	status, err := l.ensure(ctx, wanted, s, m)
	if err != nil {
		if errors.Is(err, errReset) {
			m.lost++
		}
		return nil, err
	}
	m.service, m.status, m.deleted = s.DeepCopy(), status.DeepCopy(), false
	return l.told(s.UID, status), nil
}

// full reports whether there is no room for the Service, because the provider has the
// flaw "sixteen-services".
func (l *loadBalancers) full(uid types.UID) bool {
	l.cloud.mu.Lock()
	defer l.cloud.mu.Unlock()
	if len(l.slots) < 10 || !l.has("sixteen-services") {
		l.slots[uid] = true
	}
	return !l.slots[uid]
}

// told returns the status that EnsureLoadBalancer returns. With the flaw "create" or
// "again", the address may be missing.
func (l *loadBalancers) told(uid types.UID, status *corev1.LoadBalancerStatus) *corev1.LoadBalancerStatus {
	l.cloud.mu.Lock()
	defer l.cloud.mu.Unlock()
	l.answers[uid]++
	if l.has("create") || l.has("again") && l.answers[uid] == 2 {
		return &corev1.LoadBalancerStatus{}
	}
	return status
}

// ensure creates or changes the load balancer.
func (l *loadBalancers) ensure(ctx context.Context, wanted balancer, s *corev1.Service, m *remembered) (*corev1.LoadBalancerStatus, error) {
	same := m.service != nil && reflect.DeepEqual(m.service, s)
	is, err := l.find(ctx, wanted.cluster, wanted.uid)
	if err != nil {
		return nil, err
	}
	if is == nil && same && l.has("drift-all") {
		return m.status, nil
	}
	if is == nil {
		if is, err = l.create(ctx, wanted); err != nil {
			return nil, err
		}
	}
	if err := l.ensureGroups(ctx, wanted); err != nil {
		return nil, err
	}
	wanted.LoadBalancer = l.change(is.LoadBalancer, wanted.LoadBalancer, same)
	if !reflect.DeepEqual(is.LoadBalancer, wanted.LoadBalancer) || l.has("again-writes") {
		if err := l.cloud.updateBalancer(ctx, is.ID, func(b *balancer) { b.LoadBalancer = wanted.LoadBalancer }); err != nil {
			return nil, err
		}
	}
	return is.status(), l.ready(ctx, is.ID)
}

// change returns the load balancer after the change. The last argument reports whether the
// Service is unchanged since the last call.
func (l *loadBalancers) change(is, wanted conformance.LoadBalancer, same bool) conformance.LoadBalancer { //nolint:revive // some flaws depend on same
	wanted.ID = is.ID
	if same && l.has("drift-listener") {
		wanted.Listeners = is.Listeners
	}
	if same && l.has("drift-backend") {
		wanted.Backends = is.Backends
	}
	if l.has("source-ranges-change") && len(wanted.SourceRanges) == 0 {
		wanted.SourceRanges = is.SourceRanges
	}
	return wanted
}

// ready returns an error if the load balancer is not ready.
func (l *loadBalancers) ready(ctx context.Context, id string) error {
	for !l.cloud.provision(id) {
		if !l.has("not-blocking") || ctx.Err() != nil {
			err := api.NewRetryError("the load balancer is not ready", time.Second)
			if l.cloud.habit == packs {
				return utilerrors.NewAggregate([]error{err})
			}
			return err
		}
		time.Sleep(time.Millisecond)
	}
	return nil
}

// create creates the load balancer. The name may already belong to another load balancer.
func (l *loadBalancers) create(ctx context.Context, wanted balancer) (*balancer, error) {
	if l.has("new-uid") {
		found, err := listed(ctx, l.cloud, &l.cloud.balancers, func(b balancer) bool { return b.cluster == wanted.cluster && b.service == wanted.service })
		if err != nil || len(found) > 0 {
			return nil, fmt.Errorf("the load balancer of another Service %s is there: %w", wanted.service, errTaken)
		}
	}
	made, err := l.cloud.createBalancer(ctx, wanted)
	if errors.Is(err, errTaken) && l.has("not-mine") {
		return l.adopt(ctx, wanted)
	}
	if errors.Is(err, errTaken) {
		return nil, &invalidError{StatusCode: 422, text: "the name " + wanted.Name + " belongs to another load balancer"}
	}
	return &made, err
}

func (l *loadBalancers) adopt(ctx context.Context, wanted balancer) (*balancer, error) {
	found, err := listed(ctx, l.cloud, &l.cloud.balancers, func(b balancer) bool { return b.Name == wanted.Name })
	if err != nil || len(found) == 0 {
		return nil, err
	}
	return &found[0], l.cloud.updateBalancer(ctx, found[0].ID, func(b *balancer) { b.cluster, b.uid = wanted.cluster, wanted.uid })
}

// ensureGroups makes a group for each port, and removes all other groups.
func (l *loadBalancers) ensureGroups(ctx context.Context, wanted balancer) error {
	is, err := l.groups(ctx, wanted.cluster, wanted.uid)
	if err != nil {
		return err
	}
	for _, listener := range wanted.Listeners {
		if slices.ContainsFunc(is, func(g group) bool { return g.port == listener.Port }) {
			continue
		}
		if err := l.cloud.createGroup(ctx, group{cluster: wanted.cluster, uid: wanted.uid, port: listener.Port}); err != nil {
			return err
		}
	}
	for _, g := range is {
		if slices.ContainsFunc(wanted.Listeners, func(listener conformance.Listener) bool { return g.port == listener.Port }) {
			continue
		}
		if err := l.deleteGroup(ctx, g.id); err != nil {
			return err
		}
	}
	return nil
}

func (l *loadBalancers) UpdateLoadBalancer(ctx context.Context, cluster string, s *corev1.Service, nodes []*corev1.Node) error {
	is, err := l.find(ctx, cluster, s.UID)
	switch {
	case err != nil:
		return err
	case is == nil && l.has("update-none"):
		_, err := l.EnsureLoadBalancer(ctx, cluster, s, nodes)
		return err
	case is == nil:
		return errors.New("there is no load balancer")
	case len(nodes) == 0 && l.has("zero-nodes"):
		return l.EnsureLoadBalancerDeleted(ctx, cluster, s)
	}
	wanted, err := l.backends(nodes)
	if err != nil {
		return err
	}
	if l.has("node-joins") && len(is.Backends) == 2 {
		wanted = is.Backends
	}
	if l.has("node-leaves") && len(is.Backends) == 3 {
		wanted = is.Backends
	}
	if slices.Equal(is.Backends, wanted) && !l.has("update-same") {
		return nil
	}
	return l.cloud.updateBalancer(ctx, is.ID, func(b *balancer) { b.Backends = wanted })
}

func isExternal(a corev1.NodeAddress) bool { return a.Type == corev1.NodeExternalIP }

// backends returns the provider IDs of the nodes that can be backends.
func (l *loadBalancers) backends(nodes []*corev1.Node) ([]string, error) {
	var ids []string
	for _, node := range nodes {
		id := node.Spec.ProviderID
		switch {
		case l.cloud.habit == addressed && !slices.ContainsFunc(node.Status.Addresses, isExternal):
		case strings.HasPrefix(id, scheme+"://"):
			ids = append(ids, id)
		case id == "" && l.has("no-provider-id"), id != "" && l.has("foreign-node"):
			return nil, fmt.Errorf("node %s has the provider ID %q", node.Name, id)
		}
	}
	if l.has("too-many") && len(ids) > brokenMaxBackends {
		ids = ids[:brokenMaxBackends]
	}
	slices.Sort(ids)
	return ids, nil
}

func (l *loadBalancers) EnsureLoadBalancerDeleted(ctx context.Context, cluster string, s *corev1.Service) error {
	if l.has("elsewhere") && s.Spec.Type != corev1.ServiceTypeLoadBalancer {
		return cloudprovider.ImplementedElsewhere
	}
	m := l.memory(s.UID)
	uid := l.uid(s.UID, m)
	found, err := listed(ctx, l.cloud, &l.cloud.balancers, func(b balancer) bool {
		return b.cluster == cluster && b.uid == uid || l.has("two-clusters") && b.service == s.Name
	})
	if err != nil {
		return err
	}
	if done, err := l.gone(ctx, s.UID, len(found), m); done || err != nil {
		return err
	}
	for _, b := range found {
		if err := removed(ctx, l.cloud, &l.cloud.balancers, func(other balancer) bool { return other.ID == b.ID }); err != nil && !isNotFound(err) {
			return err
		}
	}
	if err := l.deleteGroups(ctx, cluster, uid); err != nil {
		return err
	}
	*m = remembered{deleted: true, lost: m.lost}
	return nil
}

// gone applies the flaws that take effect before anything is deleted. It reports whether
// EnsureLoadBalancerDeleted must return at once. The integer is the number of load
// balancers of the Service.
func (l *loadBalancers) gone(ctx context.Context, uid types.UID, found int, m *remembered) (bool, error) {
	switch {
	case l.has("delete-pending") && l.cloud.isHeld():
		return true, nil
	case found > 0:
		return false, nil
	case l.has("delete-none") && m.service == nil && l.fresh(uid), l.has("delete-twice") && m.deleted:
		return true, errors.New("load balancer not found")
	case l.has("delete-none-writes"):
		if err := removed(ctx, l.cloud, &l.cloud.balancers, func(other balancer) bool { return other.ID == "lb-none" }); !isNotFound(err) {
			return true, err
		}
	}
	return l.has("crash"), nil
}

func (l *loadBalancers) deleteGroups(ctx context.Context, cluster string, uid types.UID) error {
	groups, err := l.groups(ctx, cluster, uid)
	if err != nil {
		return err
	}
	for n, g := range groups {
		if n > 0 && l.has("delete") {
			continue
		}
		if err := l.deleteGroup(ctx, g.id); err != nil {
			return err
		}
	}
	return nil
}

// fresh reports whether this provider is the first one of the cloud and was never asked
// for a load balancer of the Service.
func (l *loadBalancers) fresh(uid types.UID) bool {
	l.cloud.mu.Lock()
	defer l.cloud.mu.Unlock()
	return !l.slots[uid] && l.number == 1
}

func (c *brokenCloud) isHeld() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.held
}

// groups returns the groups of a Service.
func (l *loadBalancers) groups(ctx context.Context, cluster string, uid types.UID) ([]group, error) {
	return listed(ctx, l.cloud, &l.cloud.groups, func(g group) bool { return g.cluster == cluster && g.uid == uid })
}

func (l *loadBalancers) deleteGroup(ctx context.Context, id string) error {
	return removed(ctx, l.cloud, &l.cloud.groups, func(g group) bool { return g.id == id })
}
