// Package e2e tests the daemon as its users run it. The tests start, stop and
// kill processes, with a real control plane, real kubelets and a simulated cloud
// that has faults.
//
// `make e2e` runs them. It builds the programs that they need and sets
// FAIRLEAD_BIN to their folder. Without that variable the tests are skipped.
//
// Most tests share one control plane and run one after another. Each has its own
// instances, Nodes and daemons. Tests that mostly wait for the daemon's delays
// start their own control plane and run side by side. On one of these control
// planes, each daemon serves its own load balancer class.
//
// The daemons have the rights that the chart gives (deploy/deployment.yaml), and no
// others. No test begins before the API server has confirmed the rights. A test fails if
// a daemon makes a request as another user, or a request for which it has no right.
// FAIRLEAD_RIGHTS names a manifest with other roles, by its path in the repository. For
// example, test/e2e/testdata/cloud-provider-aws.yaml has the roles that another vendor
// publishes. With -v, the last lines list each right with the tests that have used it.
//
// The tests check the promises in docs/promises.md. Two promises are checked at the end
// of every test: no Node is released before it is complete (S6), and the daemon stays
// within its rights (C1). A test with a pool of Nodes (package nodepool) also checks each
// deleted Node of the pool: it was not healthy, and the cloud's own log has the evidence
// (S1).
//
// Each file is one scenario. Scenarios share the packages in test/internal: bed (the
// control plane, the cloud whose instances have kubelets, proxies), daemon, replicas,
// audit (requests to the API server), nodes, nodepool (Nodes that may be deleted),
// podnetwork (routes), lbservice, rights and expect. A function called testX runs as a
// subtest.
//
//	func TestNodeGetsItsZone(t *testing.T) {
//		b := onShared(t)
//		cloud := b.NewCloud(t)
//		i, node := b.Pair(t, cloud, simulator.Instance{Name: b.Name("zone")})
//		b.Daemon(t, daemon.Setup{Cloud: cloud.URL})
//		b.AwaitNode(t, node.Name, expect.Soon, nodes.As(i, nodes.AddressesOf(i)...))
//	}
//
// A scenario must pass in any order, in parallel with others, and on a busy machine. So
// it waits for a state, not for a time. It traps a request by the request's kind, not by
// its number. It makes names with Bed.Name. The numbers in these names depend on the
// tests that ran before, so a scenario must not use them for addresses.
package e2e
