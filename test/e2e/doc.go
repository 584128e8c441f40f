// Package e2e holds the tests of the daemon as its users meet it: processes
// that are started, stopped and killed, a real control plane, real kubelets,
// and a simulated cloud with faults.
//
// They run with `make e2e`, which builds what they need and says by
// FAIRLEAD_BIN where it is. Without that variable they are skipped.
//
// Most tests share one control plane and run one after another, each with
// instances, Nodes and daemons of its own. Those that spend their time waiting
// for the daemon's delays bring their own control plane and run side by side; on
// one of them daemons serve a load balancer class of their own each.
//
// The daemons have the rights that the chart gives, see deploy/deployment.yaml,
// and no other: no test begins before the API server says so, and each fails if
// a daemon comes as another user or tries what it has no right to.
// FAIRLEAD_RIGHTS is the path, in the repository, of a manifest with other roles:
// test/e2e/testdata/cloud-provider-aws.yaml are those that another vendor
// publishes. With -v the last lines say which tests have used which right.
//
// The expectations are those of docs/promises.md: what the daemon promises, not
// what it does. What must hold in every test (S6: no Node is released half written;
// C1: the daemon stays within the rights it is given; S1: no healthy Node is
// deleted, and none without evidence that the cloud's own log shows) is checked
// at the end of each.
//
// A scenario is one file here. What it stands on is in test/internal: package
// bed (the control plane, the cloud that its kubelets follow, proxies), daemon,
// audit (what the API server was asked), nodes, rights and expect. A function
// that runs as a subtest is called testX; what is called otherwise is a helper.
//
//	func TestNodeGetsItsZone(t *testing.T) {
//		b := onShared(t)
//		cloud := b.NewCloud(t)
//		i, node := b.Pair(t, cloud, simulator.Instance{Name: b.Name("zone")})
//		b.Daemon(t, daemon.Setup{Cloud: cloud.URL})
//		b.AwaitNode(t, node.Name, expect.Soon, nodes.As(i, nodes.AddressesOf(i)...))
//	}
//
// A scenario must pass in any order, beside others, on a busy machine. So it
// waits for a state and not for a time; it traps a request by what it is and
// not by its number; it makes names with Bed.Name and no addresses from them.
package e2e
