// Package simulator is a small cloud to develop and test against. It has instances,
// load balancers, static IPs, volumes and routes behind an HTTP/JSON API with paged
// lists. A request quota, eventual consistency and other faults can be switched on
// while it runs. Its load balancers carry traffic if Config.Traffic is set. Its routes
// carry no traffic: they are a table that clients read and change.
//
// Cloud is the cloud itself, an http.Handler. Client is its client. The cloud serves
// the same resources under two paths. /v1 is for customers: calls are counted, and the
// quota and the faults apply to them. /operator/v1 is for the operator: calls are
// always answered and never counted.
//
//	GET    /v1/instances?limit=&continue=&ids=&names=   a page of instances
//	POST   /v1/instances                                create one
//	GET    /v1/instances/changes?since=&wait=           wait for changes of instances (InstanceChanges)
//	GET    /v1/instances/{id}                           one instance
//	PATCH  /v1/instances/{id}                           change name, type, zone, region, addresses, labels
//	POST   /v1/instances/{id}/start, …/stop
//	DELETE /v1/instances/{id}                           terminate
//	GET    /v1/load-balancers?limit=&…&tag=KEY=VALUE    a page of load balancers
//	POST   /v1/load-balancers                           create one
//	POST   /v1/load-balancers/backends                  give several the same backends (SharedBackends)
//	GET    /v1/load-balancers/{id}                      one load balancer
//	PATCH  /v1/load-balancers/{id}                      change tags, static IP, listeners, backends, …
//	DELETE /v1/load-balancers/{id}
//	GET    /v1/static-ips?limit=&…                      a page of static IPs
//	POST   /v1/static-ips                               reserve one
//	GET    /v1/static-ips/{id}                          one static IP
//	DELETE /v1/static-ips/{id}                          release it
//	GET    /v1/volumes?limit=&…                         a page of volumes
//	POST   /v1/volumes                                  create one
//	GET    /v1/volumes/{id}                             one volume
//	DELETE /v1/volumes/{id}                             delete it
//	GET    /v1/routes?limit=&…&tag=KEY=VALUE            a page of routes
//	POST   /v1/routes                                   create one
//	POST   /v1/routes/changes                           create and delete several (RouteChange)
//	GET    /v1/routes/{id}                              one route
//	DELETE /v1/routes/{id}
//	GET    /operator/v1/faults                          the faults that are set
//	PUT    /operator/v1/faults/{name}                   set one (Fault)
//	DELETE /operator/v1/faults[/{name}]                 clear one or all
//	GET    /operator/v1/calls, POST …/calls/reset       what customers called (CallReport)
//	GET    /operator/v1/cluster                         the result of Config.Cluster, if that is set
//	GET    /operator/v1/watch                           resources, faults and calls as they change, as server-sent events
//	GET    /healthz
//	GET    /                                            a page for browsers that shows the cloud live
//
// The code for calls, faults, lists and the state file is the same for all kinds of
// resources.
package simulator
