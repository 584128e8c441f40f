package cloud

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/fairlead-k8s/fairlead/provider"
)

// Metadata is the cloud's data about a node's instance. It shares no memory with
// the provider.
type Metadata struct {
	// ProviderID is empty if the provider has returned none.
	ProviderID string
	// Nameless means that the provider has no provider IDs: it offers the older
	// interface and does not implement InstanceID.
	Nameless bool
	// Type, Zone and Region are empty if the provider does not know them.
	Type, Zone, Region string
	// Addresses are in the provider's order.
	Addresses []corev1.NodeAddress
	// Labels are the labels that the provider wants on the node.
	Labels map[string]string
}

// Answer is Metadata, or an *Error that says why there is no Metadata.
type Answer struct {
	Metadata Metadata
	Err      error
}

// Instances asks the provider about instances. It uses either InstancesV2 or the older
// interface Instances.
type Instances struct {
	gateway  *Gateway
	describe describer // for a waiting node; shares a call with other nodes if the provider offers batches
	alone    describer
	refresh  describer
	batcher  provider.InstanceMetadataBatcher // nil: each call is about one node
	size     int                              // the maximum number of nodes in a batch
	single   inflight[Metadata]
	batches  inflight[[]Answer]
	waiting  together // the questions about nodes that wait to be initialised
	lister   *Lister  // nil: not offered
	watcher  *Watcher // nil: not offered

	exists, shutDown func(context.Context, call, *corev1.Node) (bool, error)
	existence        inflight[Existence]
	shutdowns        inflight[bool]
	identifications  inflight[Identity]
}

// describer asks for the metadata of one node's instance.
type describer func(context.Context, call, *corev1.Node) (Metadata, error)

// newInstances returns nil if the provider offers neither InstancesV2 nor the older
// Instances. If the provider offers both, InstancesV2 is used, as in upstream.
func newInstances(g *Gateway, name func() string, found parts, callerTimeout time.Duration) *Instances {
	i := &Instances{
		gateway: g,
		size:    1,
		single:  inflight[Metadata]{callerTimeout: callerTimeout},
		batches: inflight[[]Answer]{callerTimeout: callerTimeout},

		existence: inflight[Existence]{callerTimeout: callerTimeout, exclusive: true},
		shutdowns: inflight[bool]{callerTimeout: callerTimeout},

		identifications: inflight[Identity]{callerTimeout: callerTimeout, exclusive: true, subject: nodeOf},
	}
	switch {
	case found.instances != nil:
		p := modern{gateway: g, v2: found.instances}
		i.describe, i.alone, i.refresh, i.exists, i.shutDown = p.metadata, p.metadata, p.metadata, p.exists, p.shutDown
		i.lister, i.watcher = newLister(g, found, callerTimeout), newWatcher(g, found)
		if i.batcher = found.batcher; i.batcher != nil {
			i.size = max(i.batcher.MaxInstanceMetadataBatch(), 1)
			i.describe, i.waiting.most, i.waiting.longestCall, i.waiting.call = i.withOthers, i.size, callerTimeout, i.batchOfWaiting
		}
		return i
	case found.olderInstances != nil:
		p := legacy{gateway: g, instances: found.olderInstances, zones: found.zones, provider: name()}
		i.describe, i.alone, i.refresh, i.exists, i.shutDown = p.metadata, p.metadata, p.refreshed, p.exists, p.shutDown
		return i
	default:
		return nil
	}
}

// Metadata asks for the instance of a node that waits to be initialised. If the
// provider offers batches, questions about several nodes within a few milliseconds
// become one call. Errors are of type *Error. Only the kind NotFound means that
// there is no such instance.
func (i *Instances) Metadata(ctx context.Context, node *corev1.Node) (Metadata, error) {
	return i.ask(ctx, highPriority, node, i.describe)
}

// MetadataAtLowPriority is like Metadata, but for a node that has waited for a long time
// without success. The question gets a smaller share of the cloud's quota, because
// questions about other nodes are more likely to succeed.
func (i *Instances) MetadataAtLowPriority(ctx context.Context, node *corev1.Node) (Metadata, error) {
	return i.ask(ctx, lowPriority, node, i.alone)
}

// Refresh asks about initialised nodes, at the lowest priority. If the provider offers
// batches, Refresh asks about all nodes in one call. If that call fails and one of the
// nodes might be the cause, Refresh asks about each node separately. It returns an
// answer for each node, in the order of the nodes.
func (i *Instances) Refresh(ctx context.Context, nodes []*corev1.Node) []Answer {
	if i.batcher == nil || len(nodes) == 0 {
		return i.oneByOne(ctx, nodes)
	}
	answers, err := i.batches.ask(ctx, i.batchCall(refreshPriority), identities(nodes), func(ctx context.Context, c call) ([]Answer, error) {
		return i.batch(ctx, c, func() []*corev1.Node { return nodes })
	})
	if HeldFor(err) > 0 {
		return slices.Repeat([]Answer{{Err: err}}, len(nodes))
	}
	switch KindOf(err) {
	case Succeeded:
		return answers
	case Throttled, Denied, Unavailable, Slow, Canceled:
		return slices.Repeat([]Answer{{Err: err}}, len(nodes))
	case Failed, NotFound, NotImplemented, Elsewhere, Pending, Invalid, Conflict, QuotaExceeded, TimedOut, Panicked, NoAnswer:
		// One of the nodes might be the cause, so each node is asked about alone.
	}
	return i.oneByOne(ctx, nodes)
}

// BatchSize returns the number of nodes that the provider can describe in one
// call. It is 1 if the provider offers no batches.
func (i *Instances) BatchSize() int {
	return i.size
}

func (i *Instances) ask(ctx context.Context, p priority, node *corev1.Node, describe describer) (Metadata, error) {
	c := call{method: "InstanceMetadata", priority: p, names: namesOfNode(node), region: regionOf(node)}
	m, err := i.single.ask(ctx, c, identity(node), func(ctx context.Context, c call) (Metadata, error) {
		return describe(ctx, c, node)
	})
	m.Addresses, m.Labels = slices.Clone(m.Addresses), maps.Clone(m.Labels)
	return m, err
}

func (i *Instances) oneByOne(ctx context.Context, nodes []*corev1.Node) []Answer {
	answers := make([]Answer, len(nodes))
	for n, node := range nodes {
		answers[n].Metadata, answers[n].Err = i.ask(ctx, refreshPriority, node, i.refresh)
	}
	return answers
}

const batchMethod = "InstanceMetadataBatch"

func (i *Instances) batchCall(p priority) call {
	return call{method: batchMethod, priority: p, names: []string{batchMethod}, split: true}
}

// withOthers asks about a node together with other nodes. If that fails, it asks
// about the node alone.
func (i *Instances) withOthers(ctx context.Context, c call, node *corev1.Node) (Metadata, error) {
	if answer, ok := i.waiting.ask(ctx, c.progress, node); ok {
		return answer.Metadata, answer.Err
	}
	return i.alone(ctx, c, node)
}

func (i *Instances) batchOfWaiting(ctx context.Context, p *progress, take func() []*corev1.Node) ([]Answer, error) {
	c := i.batchCall(highPriority)
	c.progress = p
	return i.batch(ctx, c, take)
}

// batch asks about several nodes in one call. It gets the nodes from the function take,
// but not before the call may be made.
func (i *Instances) batch(ctx context.Context, c call, take func() []*corev1.Node) ([]Answer, error) {
	var nodes []*corev1.Node
	theirs, err := read(ctx, i.gateway, c, func(ctx context.Context) ([]provider.InstanceMetadataAnswer, error) {
		nodes = take()
		answers, err := i.batcher.InstanceMetadataBatch(ctx, copies(nodes))
		if err == nil && len(answers) != len(nodes) {
			err = fmt.Errorf("%d answers for %d nodes", len(answers), len(nodes))
		}
		return answers, err
	})
	if err != nil {
		return nil, err
	}
	answers := make([]Answer, len(theirs))
	for n, answer := range theirs {
		if answers[n].Err = i.gateway.wrap(ctx, c.about(namesOfNode(nodes[n])), answer.Err); answer.Err == nil {
			answers[n].Metadata, answers[n].Err = fromProvider(c, answer.Metadata)
		}
	}
	return answers, nil
}

// identity returns the key of questions about a node. The key changes if the Node
// is created anew under the same name, or if its provider ID changes.
func identity(node *corev1.Node) string {
	return node.Name + "/" + string(node.UID) + "/" + node.Spec.ProviderID
}

func identities(nodes []*corev1.Node) string {
	var keys strings.Builder
	for _, node := range nodes {
		keys.WriteString(identity(node) + ",")
	}
	return keys.String()
}

// modern asks a provider that has the interface InstancesV2.
type modern struct {
	gateway *Gateway
	v2      cloudprovider.InstancesV2
}

func (p modern) metadata(ctx context.Context, c call, node *corev1.Node) (Metadata, error) {
	return read(ctx, p.gateway, c, func(ctx context.Context) (Metadata, error) {
		m, err := p.v2.InstanceMetadata(ctx, node.DeepCopy())
		if err != nil {
			return Metadata{}, err
		}
		return fromProvider(c, m)
	})
}

var errNoAnswer = errors.New("the provider returned neither metadata nor an error")

func fromProvider(c call, m *cloudprovider.InstanceMetadata) (Metadata, error) {
	if m == nil {
		return Metadata{}, c.failed(NoAnswer, errNoAnswer)
	}
	return Metadata{
		ProviderID: m.ProviderID,
		Type:       m.InstanceType,
		Zone:       m.Zone,
		Region:     m.Region,
		Addresses:  slices.Clone(m.NodeAddresses),
		Labels:     maps.Clone(m.AdditionalLabels),
	}, nil
}
