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

// Metadata is what the cloud says of the instance behind a node. It shares
// nothing with the provider.
type Metadata struct {
	// ProviderID is empty where the provider named none.
	ProviderID string
	// Nameless means that this provider names no instances at all: it offers
	// the older interface without InstanceID.
	Nameless bool
	// Type, Zone and Region are empty where the provider does not know.
	Type, Zone, Region string
	// Addresses in the provider's order.
	Addresses []corev1.NodeAddress
	// Labels that the provider wants on the node.
	Labels map[string]string
}

// Answer is Metadata or why there is none, an *Error.
type Answer struct {
	Metadata Metadata
	Err      error
}

// Instances are the provider's instances, by the interface it offers.
type Instances struct {
	gateway  *Gateway
	describe func(context.Context, *corev1.Node) (Metadata, error)
	refresh  func(context.Context, *corev1.Node) (Metadata, error)
	batcher  provider.InstanceMetadataBatcher // nil: one node a call
	size     int                              // of a batch
	single   flights[Metadata]
	batches  flights[[]Answer]

	exists, shutDown func(context.Context, *corev1.Node) (bool, error)
	existence        flights[Sighting]
	shutdowns        flights[bool]
}

// newInstances returns nil if the provider offers neither interface. The newer
// one wins, as upstream has it.
func newInstances(g *Gateway, p cloudprovider.Interface, patience time.Duration) *Instances {
	i := &Instances{
		gateway: g,
		size:    1,
		single:  flights[Metadata]{clock: g.clock, patience: patience},
		batches: flights[[]Answer]{clock: g.clock, patience: patience},

		existence: flights[Sighting]{clock: g.clock, patience: patience, unshared: true},
		shutdowns: flights[bool]{clock: g.clock, patience: patience},
	}
	if v2 := offered(p.InstancesV2()); v2 != nil {
		now := modern{gateway: g, v2: v2}
		i.describe, i.refresh, i.exists, i.shutDown = now.metadata, now.metadata, now.exists, now.shutDown
		if i.batcher, _ = v2.(provider.InstanceMetadataBatcher); i.batcher != nil {
			i.size = max(i.batcher.MaxInstanceMetadataBatch(), 1)
		}
		return i
	}
	if v1 := offered(p.Instances()); v1 != nil {
		old := legacy{gateway: g, instances: v1, zones: offered(p.Zones()), provider: p.ProviderName()}
		i.describe, i.refresh, i.exists, i.shutDown = old.metadata, old.refreshed, old.exists, old.shutDown
		return i
	}
	return nil
}

// Metadata asks for the instance of a node that somebody waits for. Errors are
// of type *Error; an error never says that the instance is gone, except with
// the kind NotFound.
func (i *Instances) Metadata(ctx context.Context, node *corev1.Node) (Metadata, error) {
	return i.ask(urgently(ctx), node, i.describe)
}

// Refresh asks for the instances of nodes that nobody waits for, in one call
// where the provider can, and returns an answer for each, in their order.
func (i *Instances) Refresh(ctx context.Context, nodes []*corev1.Node) []Answer {
	if i.batcher == nil || len(nodes) == 0 {
		return i.oneByOne(ctx, nodes)
	}
	const call = "InstanceMetadataBatch"
	answers, err := i.batches.ask(ctx, call, identities(nodes), func(ctx context.Context) ([]Answer, error) {
		return i.batch(ctx, call, nodes)
	})
	switch KindOf(err) {
	case Succeeded:
		return answers
	case Throttled, Denied, Unavailable, Slow, Canceled:
		return slices.Repeat([]Answer{{Err: err}}, len(nodes))
	case Failed, NotFound, NotImplemented, Elsewhere, Pending, Invalid, TimedOut, Panicked, NoAnswer:
		// One node of the batch may be what the cloud or the provider cannot
		// cope with; the others must not suffer for it.
	}
	return i.oneByOne(ctx, nodes)
}

// BatchSize is how many nodes Refresh asks for in one call.
func (i *Instances) BatchSize() int {
	return i.size
}

func (i *Instances) ask(ctx context.Context, node *corev1.Node, how func(context.Context, *corev1.Node) (Metadata, error)) (Metadata, error) {
	m, err := i.single.ask(ctx, "InstanceMetadata", identity(node), func(ctx context.Context) (Metadata, error) {
		return how(ctx, node)
	})
	m.Addresses, m.Labels = slices.Clone(m.Addresses), maps.Clone(m.Labels)
	return m, err
}

func (i *Instances) oneByOne(ctx context.Context, nodes []*corev1.Node) []Answer {
	answers := make([]Answer, len(nodes))
	for n, node := range nodes {
		answers[n].Metadata, answers[n].Err = i.ask(ctx, node, i.refresh)
	}
	return answers
}

func (i *Instances) batch(ctx context.Context, call string, nodes []*corev1.Node) ([]Answer, error) {
	copies := make([]*corev1.Node, len(nodes))
	for n, node := range nodes {
		copies[n] = node.DeepCopy()
	}
	theirs, err := read(ctx, i.gateway, call, func(ctx context.Context) ([]provider.InstanceMetadataAnswer, error) {
		answers, err := i.batcher.InstanceMetadataBatch(ctx, copies)
		if err == nil && len(answers) != len(copies) {
			err = fmt.Errorf("%d answers for %d nodes", len(answers), len(copies))
		}
		return answers, err
	})
	if err != nil {
		return nil, err
	}
	answers := make([]Answer, len(theirs))
	for n, answer := range theirs {
		if answers[n].Err = i.gateway.wrap(ctx, call, answer.Err); answer.Err == nil {
			answers[n].Metadata, answers[n].Err = fromProvider(call, answer.Metadata)
		}
	}
	return answers, nil
}

// identity is the key of questions about a node: another object under its name
// or another instance behind it is another question.
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

// modern is a provider with the interface InstancesV2.
type modern struct {
	gateway *Gateway
	v2      cloudprovider.InstancesV2
}

func (p modern) metadata(ctx context.Context, node *corev1.Node) (Metadata, error) {
	const call = "InstanceMetadata"
	m, err := read(ctx, p.gateway, call, func(ctx context.Context) (*cloudprovider.InstanceMetadata, error) {
		return p.v2.InstanceMetadata(ctx, node.DeepCopy())
	})
	if err != nil {
		return Metadata{}, err
	}
	return fromProvider(call, m)
}

var errNoAnswer = errors.New("the provider returned neither metadata nor an error")

func fromProvider(call string, m *cloudprovider.InstanceMetadata) (Metadata, error) {
	if m == nil {
		return Metadata{}, &Error{Call: call, Kind: NoAnswer, Err: errNoAnswer}
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
