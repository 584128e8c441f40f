package quirks

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"
)

// instances is an InstancesV2 with one quirk. Each function that is not nil replaces
// the corresponding method.
type instances struct {
	cloudprovider.InstancesV2

	exists   func(context.Context, *corev1.Node) (bool, error)
	shutdown func(context.Context, *corev1.Node) (bool, error)
	metadata func(context.Context, *corev1.Node) (*cloudprovider.InstanceMetadata, error)
}

func (i instances) InstanceExists(ctx context.Context, node *corev1.Node) (bool, error) {
	if i.exists != nil {
		return i.exists(ctx, node)
	}
	return i.InstancesV2.InstanceExists(ctx, node)
}

func (i instances) InstanceShutdown(ctx context.Context, node *corev1.Node) (bool, error) {
	if i.shutdown != nil {
		return i.shutdown(ctx, node)
	}
	return i.InstancesV2.InstanceShutdown(ctx, node)
}

func (i instances) InstanceMetadata(ctx context.Context, node *corev1.Node) (*cloudprovider.InstanceMetadata, error) {
	if i.metadata != nil {
		return i.metadata(ctx, node)
	}
	return i.InstancesV2.InstanceMetadata(ctx, node)
}

// before wraps inner so that f runs before each question about an instance. If f
// returns an error, the question fails with that error.
func before(inner cloudprovider.InstancesV2, f func(context.Context, *corev1.Node) error) cloudprovider.InstancesV2 {
	return instances{
		InstancesV2: inner,
		exists: func(ctx context.Context, node *corev1.Node) (bool, error) {
			if err := f(ctx, node); err != nil {
				return false, err
			}
			return inner.InstanceExists(ctx, node)
		},
		shutdown: func(ctx context.Context, node *corev1.Node) (bool, error) {
			if err := f(ctx, node); err != nil {
				return false, err
			}
			return inner.InstanceShutdown(ctx, node)
		},
		metadata: func(ctx context.Context, node *corev1.Node) (*cloudprovider.InstanceMetadata, error) {
			if err := f(ctx, node); err != nil {
				return nil, err
			}
			return inner.InstanceMetadata(ctx, node)
		},
	}
}

// described wraps inner so that the function change can edit the metadata of each instance.
func described(inner cloudprovider.InstancesV2, change func(*corev1.Node, *cloudprovider.InstanceMetadata)) cloudprovider.InstancesV2 {
	return instances{
		InstancesV2: inner,
		metadata: func(ctx context.Context, node *corev1.Node) (*cloudprovider.InstanceMetadata, error) {
			m, err := inner.InstanceMetadata(ctx, node)
			if err != nil || m == nil {
				return m, err
			}
			changed := *m
			change(node, &changed)
			return &changed, nil
		},
	}
}

// PanicsFor panics only in calls for the Node or Service with this name. Real
// providers do so when one unusual object has a nil field that they do not expect.
func PanicsFor(name string) Quirk {
	return Quirk{Name: "PanicsFor", Argument: name, apply: func(p *Provider) {
		if p.instances != nil {
			p.instances = before(p.instances, func(_ context.Context, node *corev1.Node) error {
				if node.Name == name {
					panic("no field of " + name)
				}
				return nil
			})
		}
		if p.balancers != nil {
			p.balancers = beforeChange(p.balancers, func(_ context.Context, service *corev1.Service) error {
				if service.Name == name {
					panic("no field of " + name)
				}
				return nil
			})
		}
	}}
}

// HangsFor hangs for ever in a call for the Node or Service with this name.
// Meanwhile it holds a mutex that all other calls need.
func HangsFor(name string) Quirk {
	return Quirk{Name: "HangsFor", Argument: name, apply: func(p *Provider) {
		var mu sync.Mutex
		enter := func(object string) {
			mu.Lock()
			if object == name {
				select {}
			}
			mu.Unlock()
		}
		if p.instances != nil {
			p.instances = before(p.instances, func(_ context.Context, node *corev1.Node) error {
				enter(node.Name)
				return nil
			})
		}
		if p.balancers != nil {
			p.balancers = beforeChange(p.balancers, func(_ context.Context, service *corev1.Service) error {
				enter(service.Name)
				return nil
			})
		}
	}}
}

// SpellsIDsWith answers with provider IDs whose scheme differs from the Node's. hcloud
// does so for dedicated servers (hcloud://bm-1 and hrobot://1). OpenStack's provider IDs
// vary in another way: some contain a region, and others do not.
func SpellsIDsWith(scheme string) Quirk {
	return Quirk{Name: "SpellsIDsWith", Argument: scheme, apply: func(p *Provider) {
		if p.instances != nil {
			p.instances = described(p.instances, func(_ *corev1.Node, m *cloudprovider.InstanceMetadata) {
				if _, rest, ok := strings.Cut(m.ProviderID, "://"); ok {
					m.ProviderID = scheme + "://" + rest
				}
			})
		}
	}}
}

// IDsWithoutScheme answers with a provider ID without "://".
var IDsWithoutScheme = Quirk{Name: "IDsWithoutScheme", apply: func(p *Provider) {
	if p.instances != nil {
		p.instances = described(p.instances, func(_ *corev1.Node, m *cloudprovider.InstanceMetadata) {
			if _, rest, ok := strings.Cut(m.ProviderID, "://"); ok {
				m.ProviderID = rest
			}
		})
	}
}}

// SetOnce is the label that LabelsOnlyOnce offers.
const SetOnce = "quirks.test/set-once"

// LabelsOnlyOnce offers a label only while the Node lacks it, as AWS does with
// topology.k8s.aws/*.
var LabelsOnlyOnce = Quirk{Name: "LabelsOnlyOnce", apply: func(p *Provider) {
	if p.instances != nil {
		p.instances = described(p.instances, func(node *corev1.Node, m *cloudprovider.InstanceMetadata) {
			if _, has := node.Labels[SetOnce]; has {
				return
			}
			labels := map[string]string{SetOnce: "true"}
			maps.Copy(labels, m.AdditionalLabels)
			m.AdditionalLabels = labels
		})
	}
}}

// LabelsSometimesNil leaves out the labels in every second answer about a Node. A
// provider does so if its own request for the labels fails and it ignores the error.
var LabelsSometimesNil = counting("LabelsSometimesNil", func(asked int, _ *corev1.Node, m *cloudprovider.InstanceMetadata) {
	if asked%2 == 0 {
		m.AdditionalLabels = nil
	}
})

// AddressesSometimesGone leaves out the IP addresses in every third answer about a Node,
// beginning with the first one. A provider does so while the agent on the machine, from
// which it learns the addresses, is away.
var AddressesSometimesGone = counting("AddressesSometimesGone", func(asked int, node *corev1.Node, m *cloudprovider.InstanceMetadata) {
	if asked%3 == 1 {
		m.NodeAddresses = []corev1.NodeAddress{{Type: corev1.NodeHostName, Address: node.Name}}
	}
})

// ShufflesAddresses changes the order of the addresses with each answer.
var ShufflesAddresses = counting("ShufflesAddresses", func(asked int, _ *corev1.Node, m *cloudprovider.InstanceMetadata) {
	if n := len(m.NodeAddresses); n > 0 {
		m.NodeAddresses = slices.Concat(m.NodeAddresses[asked%n:], m.NodeAddresses[:asked%n])
	}
})

// FormatsNil answers the first question about a Node without provider ID with an ID that
// names no instance, and the second one with an address that is none. A provider does so
// if it formats values that its cloud has not set yet.
var FormatsNil = counting("FormatsNil", func(asked int, node *corev1.Node, m *cloudprovider.InstanceMetadata) {
	scheme, _, _ := strings.Cut(m.ProviderID, "://")
	switch {
	case node.Spec.ProviderID != "":
	case asked == 1:
		m.ProviderID = scheme + "://<nil>"
	case asked == 2:
		m.NodeAddresses = append(slices.Clone(m.NodeAddresses), corev1.NodeAddress{Type: corev1.NodeExternalIP, Address: "<nil>"})
	}
})

// counting returns a quirk that changes the metadata of instances. The function change
// gets the number of questions about the Node, this one included.
func counting(name string, change func(asked int, node *corev1.Node, m *cloudprovider.InstanceMetadata)) Quirk {
	return Quirk{Name: name, apply: func(p *Provider) {
		if p.instances == nil {
			return
		}
		var mu sync.Mutex
		asked := map[string]int{} // by node; guarded by mu
		p.instances = described(p.instances, func(node *corev1.Node, m *cloudprovider.InstanceMetadata) {
			mu.Lock()
			defer mu.Unlock()
			asked[node.Name]++
			change(asked[node.Name], node, m)
		})
	}}
}

// existenceIsCachedFor is the time for which CachesExistence repeats an answer.
const existenceIsCachedFor = 5 * time.Minute

// CachesExistence caches for 5 minutes whether an instance exists.
var CachesExistence = Quirk{Name: "CachesExistence", apply: func(p *Provider) {
	if p.instances == nil {
		return
	}
	inner := p.instances
	type answer struct {
		exists bool
		until  time.Time
	}
	var mu sync.Mutex
	cache := map[string]answer{} // by provider ID, or by UID if there is none; guarded by mu
	p.instances = instances{InstancesV2: inner, exists: func(ctx context.Context, node *corev1.Node) (bool, error) {
		key := cmp.Or(node.Spec.ProviderID, string(node.UID))
		mu.Lock()
		known, ok := cache[key]
		mu.Unlock()
		if ok && time.Now().Before(known.until) {
			return known.exists, nil
		}
		exists, err := inner.InstanceExists(ctx, node)
		if err == nil {
			mu.Lock()
			cache[key] = answer{exists, time.Now().Add(existenceIsCachedFor)}
			mu.Unlock()
		}
		return exists, err
	}}
}}

// GoneIsAnError returns a private error instead of false if an instance does not
// exist.
var GoneIsAnError = goneIs("GoneIsAnError", errors.New("not found"))

// GoneIsNotFound returns cloudprovider.InstanceNotFound instead of false if an instance
// does not exist.
var GoneIsNotFound = goneIs("GoneIsNotFound", cloudprovider.InstanceNotFound)

func goneIs(name string, gone error) Quirk {
	return Quirk{Name: name, apply: func(p *Provider) {
		if p.instances == nil {
			return
		}
		inner := p.instances
		p.instances = instances{InstancesV2: inner, exists: func(ctx context.Context, node *corev1.Node) (bool, error) {
			exists, err := inner.InstanceExists(ctx, node)
			if err == nil && !exists {
				return false, fmt.Errorf("server %s: %w", node.Name, gone)
			}
			return exists, err
		}}
	}}
}
