// Package simulated is the provider of the simulated cloud. It registers under
// the name "simulated".
//
// Without a configuration file, the provider starts a simulated cloud inside the
// daemon. That cloud listens on a free loopback port, which is logged. With a
// configuration file, the provider is a client of a cloud in another process:
//
//	endpoint: http://127.0.0.1:7640
//	pageSize: 100 # optional: items in one call, at most the page size of the cloud
//	routeAddresses: true # optional: store the addresses of Nodes with their routes
//	withoutBatches: true # optional: do not offer provider.InstanceMetadataBatcher
//	withoutLists: true   # optional: do not offer provider.InstanceLister and provider.InstanceWatcher
//	withoutBackendSetter: true # optional: do not offer provider.BackendSetter
//	withoutRouteApplier: true # optional: do not offer provider.RouteApplier
//	withoutConcurrentCalls: true # optional: do not offer provider.ConcurrentCaller and provider.ConcurrentLoadBalancer
//
// The file may change while the daemon runs. A valid configuration is used from the
// next call on. The interfaces that the provider offers stay the same until the
// daemon starts again. If the new file switches off other interfaces than the old
// one, a log line says so.
//
// Each Service of type LoadBalancer gets its own load balancer, for TCP and UDP over
// IPv4. The tags TagCluster and TagServiceUID of the load balancer identify its
// Service. So two clusters in one account never change each other's load balancers.
// A Service never changes the load balancer of an earlier Service with the same
// name. Annotations of the Service configure the load balancer.
//
// A route leads to the instance that has the name of the route's Node. One
// table can contain routes of several clusters and routes made by hand.
// TagCluster says to which cluster a route belongs.
package simulated
