package simulated

import (
	"cmp"
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-k8s/fairlead/provider"
	"github.com/fairlead-k8s/fairlead/simulator"
)

// batches implements provider.InstanceMetadataBatcher.
type batches struct{ cloud *Cloud }

// MaxInstanceMetadataBatch implements provider.InstanceMetadataBatcher.
func (b batches) MaxInstanceMetadataBatch() int { return b.cloud.connection().config.page() }

// page returns the maximum number of instances in one call.
func (c config) page() int { return cmp.Or(c.PageSize, simulator.DefaultPageSize) }

// InstanceMetadataBatch implements provider.InstanceMetadataBatcher. It makes
// one list call to the cloud, and a separate call for each instance that the
// list lacks.
func (b batches) InstanceMetadataBatch(ctx context.Context, nodes []*corev1.Node) ([]provider.InstanceMetadataAnswer, error) {
	query := question(nodes)
	found, err := b.cloud.findInstances(ctx, query)
	if err != nil {
		return nil, fmt.Errorf("%d instances: %w", len(query.IDs)+len(query.Names), err)
	}
	answers := make([]provider.InstanceMetadataAnswer, len(nodes))
	for n, answer := range b.cloud.machines().FindAll(ctx, nodes, found) {
		if answers[n].Err = answer.Err; answer.Err == nil {
			answers[n].Metadata, answers[n].Err = metadata(answer.Instance)
		}
	}
	return answers, nil
}

// question returns the query for the instances of the nodes. Nodes with the
// provider ID of another cloud are left out.
func question(nodes []*corev1.Node) simulator.Query {
	var q simulator.Query
	for _, node := range nodes {
		if node.Spec.ProviderID == "" {
			q.Names = append(q.Names, node.Name)
		} else if id, err := instanceID(node.Spec.ProviderID); err == nil {
			q.IDs = append(q.IDs, id)
		}
	}
	return q
}
