package cloud

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
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
	// Addresses are in the provider's order. There are at most MaxAddresses.
	Addresses []corev1.NodeAddress
	// Labels are the labels that the provider wants on the node. There are at most
	// MaxLabels.
	Labels map[string]string
	// MoreAddresses and MoreLabels mean that the provider has returned more than is
	// read. What is left out is unknown, and not absent.
	MoreAddresses, MoreLabels bool
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
	apart    apart    // the nodes that are not asked about together with others
	lister   *Lister  // nil: not offered
	watcher  *Watcher // nil: not offered
	// terminations is nil if it is not offered.
	terminations provider.Terminations

	exists, shutDown func(context.Context, call, *corev1.Node) (bool, error)
	existence        inflight[Existence]
	shutdowns        inflight[bool]
	ended            inflight[Termination]
	identifications  inflight[Identity]

	confirmed confirmed
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
		ended:     inflight[Termination]{callerTimeout: min(callerTimeout, terminationTimeout), exclusive: true},

		identifications: inflight[Identity]{callerTimeout: callerTimeout, exclusive: true, subject: nodeOf},
	}
	switch {
	case found.instances != nil:
		p := modern{gateway: g, v2: found.instances}
		i.describe, i.alone, i.refresh, i.exists, i.shutDown = p.metadata, p.metadata, p.metadata, p.exists, p.shutDown
		i.lister, i.watcher, i.terminations = newLister(g, found, callerTimeout, i.confirmed.note), newWatcher(g, found), found.terminations
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
	joint, _ := i.apart.split(nodes)
	answers, err := i.batches.ask(ctx, i.batchCall(refreshPriority), identities(joint), func(ctx context.Context, c call) ([]Answer, error) {
		return i.batchesOf(ctx, c, joint), nil
	})
	byUID := map[types.UID]Answer{}
	for n, node := range joint {
		answer := Answer{Err: err}
		if err == nil {
			answer = answers[n]
		}
		byUID[node.UID] = answer
	}
	all := make([]Answer, len(nodes))
	for n, node := range nodes {
		answer, asked := byUID[node.UID]
		if !asked || answer.Err == ErrAlone { //nolint:errorlint // it is ours, and not wrapped
			answer.Metadata, answer.Err = i.ask(ctx, refreshPriority, node, i.refresh)
		}
		if all[n] = answer; answer.Err == nil {
			i.confirmed.described(node, answer.Metadata)
		}
	}
	return all
}

// AwaitRefresh returns nil when Refresh may be called for one more page of nodes. Such
// calls, for which nobody waits, keep to a part of the request quota.
func (i *Instances) AwaitRefresh(ctx context.Context) error {
	return i.gateway.limiter.awaitShare(ctx, i.batchCall(refreshPriority))
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
	if err == nil {
		i.confirmed.described(node, m)
	}
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

// withOthers asks about a node together with other nodes. If that is not possible, it
// asks about the node alone.
func (i *Instances) withOthers(ctx context.Context, c call, node *corev1.Node) (Metadata, error) {
	for try := 1; !i.apart.has(node.UID); try++ {
		answer, ok := i.waiting.ask(ctx, c.progress, node)
		if !ok {
			break
		}
		if !i.gateway.retries(ctx, tried{call: c, try: try, err: answer.Err}) {
			return answer.Metadata, answer.Err
		}
	}
	return i.alone(ctx, c, node)
}

func (i *Instances) batchOfWaiting(ctx context.Context, p *progress, take taker) ([]Answer, error) {
	c := i.batchCall(highPriority)
	c.progress = p
	return i.batch(ctx, c, take)
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

// fromProvider returns a copy of what the provider has returned, within the bounds.
func fromProvider(c call, m *cloudprovider.InstanceMetadata) (Metadata, error) {
	if m == nil {
		return Metadata{}, c.failed(NoAnswer, errNoAnswer)
	}
	read := Metadata{ProviderID: m.ProviderID, Type: m.InstanceType, Zone: m.Zone, Region: m.Region}
	read.Addresses, read.MoreAddresses = boundedAddresses(m.NodeAddresses)
	read.Labels, read.MoreLabels = boundedLabels(m.AdditionalLabels)
	return read, nil
}
