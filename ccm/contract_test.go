package ccm_test

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	cloudprovider "k8s.io/cloud-provider"
)

// The oldest supported contract is that of k8s.io/cloud-provider v0.34.0. A provider
// with the methods of that contract also satisfies today's contract. The methods are
// copied here. Change them only together with docs/reference/skew.md.
// `make test-skew` links a real provider.
var (
	_ cloudprovider.Interface    = oldestInterface(nil)
	_ cloudprovider.InformerUser = oldestInformerUser(nil)
	_ cloudprovider.LoadBalancer = oldestLoadBalancer(nil)
	_ cloudprovider.Instances    = oldestInstances(nil)
	_ cloudprovider.InstancesV2  = oldestInstancesV2(nil)
	_ cloudprovider.Zones        = oldestZones(nil)
	_ cloudprovider.Routes       = oldestRoutes(nil)
	_ cloudprovider.Clusters     = oldestClusters(nil)

	// A newer contract may add fields but must not remove any.
	_ = cloudprovider.Zone{FailureDomain: "", Region: ""}
	_ = cloudprovider.InstanceMetadata{
		ProviderID: "", InstanceType: "", NodeAddresses: []corev1.NodeAddress{}, Zone: "", Region: "", AdditionalLabels: map[string]string{},
	}
	_ = cloudprovider.Route{
		Name: "", TargetNode: "", EnableNodeAddresses: false, TargetNodeAddresses: []corev1.NodeAddress{}, DestinationCIDR: "", Blackhole: false,
	}
)

type (
	oldestInterface interface { //nolint:interfacebloat // upstream's
		Initialize(b cloudprovider.ControllerClientBuilder, stop <-chan struct{})
		LoadBalancer() (cloudprovider.LoadBalancer, bool)
		Instances() (cloudprovider.Instances, bool)
		InstancesV2() (cloudprovider.InstancesV2, bool)
		Zones() (cloudprovider.Zones, bool)
		Clusters() (cloudprovider.Clusters, bool)
		Routes() (cloudprovider.Routes, bool)
		ProviderName() string
		HasClusterID() bool
	}
	oldestInformerUser interface {
		SetInformers(f informers.SharedInformerFactory)
	}
	oldestLoadBalancer interface {
		GetLoadBalancer(ctx context.Context, cluster string, s *corev1.Service) (*corev1.LoadBalancerStatus, bool, error)
		GetLoadBalancerName(ctx context.Context, cluster string, s *corev1.Service) string
		EnsureLoadBalancer(ctx context.Context, cluster string, s *corev1.Service, nodes []*corev1.Node) (*corev1.LoadBalancerStatus, error)
		UpdateLoadBalancer(ctx context.Context, cluster string, s *corev1.Service, nodes []*corev1.Node) error
		EnsureLoadBalancerDeleted(ctx context.Context, cluster string, s *corev1.Service) error
	}
	oldestInstances interface { //nolint:interfacebloat // upstream's
		NodeAddresses(ctx context.Context, name types.NodeName) ([]corev1.NodeAddress, error)
		NodeAddressesByProviderID(ctx context.Context, id string) ([]corev1.NodeAddress, error)
		InstanceID(ctx context.Context, name types.NodeName) (string, error)
		InstanceType(ctx context.Context, name types.NodeName) (string, error)
		InstanceTypeByProviderID(ctx context.Context, id string) (string, error)
		AddSSHKeyToAllInstances(ctx context.Context, user string, key []byte) error
		CurrentNodeName(ctx context.Context, hostname string) (types.NodeName, error)
		InstanceExistsByProviderID(ctx context.Context, id string) (bool, error)
		InstanceShutdownByProviderID(ctx context.Context, id string) (bool, error)
	}
	oldestInstancesV2 interface {
		InstanceExists(ctx context.Context, n *corev1.Node) (bool, error)
		InstanceShutdown(ctx context.Context, n *corev1.Node) (bool, error)
		InstanceMetadata(ctx context.Context, n *corev1.Node) (*cloudprovider.InstanceMetadata, error)
	}
	oldestZones interface {
		GetZone(ctx context.Context) (cloudprovider.Zone, error)
		GetZoneByProviderID(ctx context.Context, id string) (cloudprovider.Zone, error)
		GetZoneByNodeName(ctx context.Context, name types.NodeName) (cloudprovider.Zone, error)
	}
	oldestRoutes interface {
		ListRoutes(ctx context.Context, cluster string) ([]*cloudprovider.Route, error)
		CreateRoute(ctx context.Context, cluster, hint string, r *cloudprovider.Route) error
		DeleteRoute(ctx context.Context, cluster string, r *cloudprovider.Route) error
	}
	oldestClusters interface {
		ListClusters(ctx context.Context) ([]string, error)
		Master(ctx context.Context, cluster string) (string, error)
	}
)
