package simulated

import (
	"cmp"
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-k8s/fairlead/provider"
	"github.com/fairlead-k8s/fairlead/simulator"
)

// batches are the answers about many Nodes.
type batches struct{ cloud *Cloud }

// MaxInstanceMetadataBatch implements provider.InstanceMetadataBatcher.
func (b batches) MaxInstanceMetadataBatch() int { return b.cloud.connection().config.page() }

// page returns the maximum number of instances in one call.
func (c config) page() int { return cmp.Or(c.pageSize, simulator.DefaultPageSize) }

// InstanceMetadataBatch implements provider.InstanceMetadataBatcher with one
// list of the cloud.
func (b batches) InstanceMetadataBatch(ctx context.Context, nodes []*corev1.Node) ([]provider.InstanceMetadataAnswer, error) {
	query := question(nodes)
	found, err := b.cloud.findInstances(ctx, query)
	if err != nil {
		return nil, fmt.Errorf("%d instances: %w", len(query.IDs)+len(query.Names), err)
	}
	known := index(found)
	answers := make([]provider.InstanceMetadataAnswer, len(nodes))
	for n, node := range nodes {
		instance, err := known.of(node)
		if err != nil {
			answers[n].Err = err
			continue
		}
		answers[n].Metadata = metadata(instance)
	}
	return answers, nil
}

// question returns the query for the instances of the nodes. Nodes with the
// provider ID of another cloud are left out.
func question(nodes []*corev1.Node) simulator.InstanceQuery {
	var q simulator.InstanceQuery
	for _, node := range nodes {
		if node.Spec.ProviderID == "" {
			q.Names = append(q.Names, node.Name)
		} else if id, err := instanceID(node.Spec.ProviderID); err == nil {
			q.IDs = append(q.IDs, id)
		}
	}
	return q
}

// indexed holds instances by ID and by name.
type indexed struct {
	byID, byName map[string][]simulator.Instance
}

func index(all []simulator.Instance) indexed {
	x := indexed{byID: map[string][]simulator.Instance{}, byName: map[string][]simulator.Instance{}}
	for _, i := range all {
		x.byID[i.ID] = append(x.byID[i.ID], i)
		x.byName[i.Name] = append(x.byName[i.Name], i)
	}
	return x
}

// of returns the instance of the node, or the same error as find.
func (x indexed) of(node *corev1.Node) (simulator.Instance, error) {
	if node.Spec.ProviderID == "" {
		return named(node.Name, x.byName[node.Name])
	}
	id, err := instanceID(node.Spec.ProviderID)
	if err != nil {
		return simulator.Instance{}, err
	}
	return identified(id, x.byID[id])
}
