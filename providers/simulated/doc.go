// Package simulated is the provider of the simulated cloud. It registers under
// the name "simulated".
//
// Without a configuration file the cloud lives inside the daemon and listens
// on a free loopback port, which is logged. With one the provider is a client
// of a cloud that runs on its own:
//
//	endpoint: http://127.0.0.1:7640
//	pageSize: 100 # optional: how much is asked for in one call, at most a page of the cloud
//	timeout: 10s  # optional: limit for each call; without it the caller's deadline counts
//	routeAddresses: true # optional: keep the addresses of Nodes with their routes
//	batchRoutes: true    # optional: let changes of routes at the same time share calls
//
// The file may change while the daemon works; what is right is used from the
// next call on.
//
// Each Service of type LoadBalancer gets a load balancer of its own, for TCP and
// UDP over IPv4. It is found by the tags TagCluster and TagServiceUID and by
// nothing else, so that two clusters in one account, or two Services that had
// one name after the other, never touch each other's. The Annotations change
// what it is like.
//
// Routes lead to the instance with the name of the Node. They are in one table
// with those of other clusters and of people, told apart by TagCluster.
package simulated
