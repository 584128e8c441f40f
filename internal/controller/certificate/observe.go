package certificate

import (
	"cmp"
	"context"
	"slices"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-k8s/fairlead/internal/cloud"
	"github.com/fairlead-k8s/fairlead/internal/controller/nodecause"
	"github.com/fairlead-k8s/fairlead/internal/controller/requestfact"
	"github.com/fairlead-k8s/fairlead/internal/controller/showing"
	"github.com/fairlead-k8s/fairlead/internal/kube"
)

// observe gathers the facts about a request from the caches and from the memory of
// this process. It does no I/O.
func (c *Controller) observe(r *certificatesv1.CertificateSigningRequest) (observed, error) {
	o := observed{request: r, apiServers: c.apiServers(), limits: c.limits, claim: c.claim}
	if name := requestfact.RequesterOf(r); name != "" {
		node, err := c.nodes.Cached(name)
		switch {
		case err == nil:
			o.node = node
		case !apierrors.IsNotFound(err):
			return observed{}, err
		}
		o.newer = c.undecided.newer(r, c.limits.PendingPerNode)
	}
	return c.look(o), nil
}

// look adds to the observation the memory of this process, and the other Nodes that
// claim the same instance.
func (c *Controller) look(o observed) observed {
	o.holders = c.holdersOf(o)
	c.mu.Lock()
	defer c.mu.Unlock()
	o.now = c.clock.Now()
	o.memory = c.remembered.requests[o.request.Name]
	o.approvals = c.remembered.approvals
	if o.node != nil {
		o.questions = c.remembered.questions[o.node.Name]
		o.told = map[string]showing.News{}
		for _, n := range append([]*corev1.Node{o.node}, o.holders...) {
			if t, ok := c.remembered.told[n.Name]; ok {
				o.told[n.Name] = t
			}
		}
	}
	return o
}

// holdersOf returns the other Nodes that have the Node's provider ID, or a provider
// ID that the cloud has named for the Node. They are sorted by name.
func (c *Controller) holdersOf(o observed) (holders []*corev1.Node) {
	if o.node == nil {
		return nil
	}
	claimed := map[string]bool{o.node.Spec.ProviderID: true}
	for _, i := range o.answer.instances() {
		claimed[i.providerID] = true
	}
	delete(claimed, "")
	for id := range claimed {
		for _, other := range kube.NodesWithProviderID(c.nodeInformer, id) {
			if other.Name != o.node.Name {
				holders = append(holders, other)
			}
		}
	}
	slices.SortFunc(holders, func(a, b *corev1.Node) int { return cmp.Compare(a.Name, b.Name) })
	return holders
}

// apiServers returns the addresses of the Service default/kubernetes. Pods reach the
// API server at these addresses. apiServers returns none if the Service does not exist.
func (c *Controller) apiServers() []string {
	service, err := c.services.Services(metav1.NamespaceDefault).Get("kubernetes")
	if err != nil { // The only error of a cache is "not found".
		return nil
	}
	return service.Spec.ClusterIPs
}

// askCloud asks which instance the Node is. This pass already has the request, so the
// cloud is asked after the request was made.
func (c *Controller) askCloud(ctx context.Context, o observed) observed {
	c.useQuestion(o.node, o.now)
	got, err := c.instances.Identity(ctx, o.node, string(o.request.UID))
	o.answer = answerOf(got, err)
	o.answer.to = questionOf(o)
	o.live = false
	return c.look(o)
}

func answerOf(got cloud.Identity, err error) answer {
	switch cloud.KindOf(err) { //nolint:exhaustive // all other failures might be over soon
	case cloud.Succeeded:
		return answer{given: described, asked: got.Asked, byName: instanceOf(got.ByName), byID: instanceOf(got.ByID)}
	case cloud.NotFound, cloud.NotImplemented, cloud.NoAnswer:
		return answer{given: denied, cause: *isUnproven(nodecause.Of(err).Message)}
	default:
		return answer{given: failed, cause: nodecause.Of(err)}
	}
}

func instanceOf(m *cloud.Metadata) *instance {
	if m == nil {
		return nil
	}
	return &instance{providerID: m.ProviderID, addresses: m.Addresses}
}

// reread reads the request and its Node from the API server.
func (c *Controller) reread(ctx context.Context, o observed) (observed, error) {
	r, err := c.requests.Live(ctx, o.request.Name)
	if err != nil {
		return o, err
	}
	o.request, o.live = r, true
	if o.node == nil {
		return c.look(o), nil
	}
	node, err := c.nodes.Live(ctx, o.node.Name)
	if err != nil {
		return o, err
	}
	o.node = node
	return c.look(o), nil
}
