// Package conformance tests a cloud provider against the contract of
// k8s.io/cloud-provider. The contract is the doc comments of that module and
// the behaviour on which daemons rely.
//
// A vendor writes a [Target]. It makes the provider and a second value, which is called the
// world. Through the world, the suite itself has access to the cloud: it creates machines,
// sets faults and counts calls. Any value that implements some of the interfaces of this
// package, such as [Machines], can be a world. If a check needs an interface that the world
// does not have, the check is not run. The report then names that interface.
//
//	func TestConformance(t *testing.T) {
//		conformance.Test(t, conformance.Target{
//			Name:  "mycloud",
//			World: func(context.Context) (any, error) { return newFakeCloud(), nil },
//			New: func(ctx context.Context, world any) (cloudprovider.Interface, error) {
//				return mycloud.New(ctx, world.(*fakeCloud).URL())
//			},
//			EventuallyWithin: time.Second, // a fake shows a change at once
//		}, conformance.Options{})
//	}
//
// Test runs the suite in go test, with a subtest for each check. Checks lists all checks.
//
// The suite judges a provider by the contract alone. If a check of level [Core] fails,
// users lose nodes, load balancers, routes or traffic, or the provider contradicts a
// doc comment of the contract. If a check of level [Extended] fails, a feature does
// not work, or operation is harder. A check of level [Measured] reports a number.
//
// Run the suite with the race detector, because some mistakes cannot be found without
// it. Without it, the verdict is [Partial] at best.
package conformance

// The files of this package, each of which uses only those before it: target and world, which
// a vendor writes; check, trial and guard, for one run of a check; calls, objects, balancing
// and routing, with which checks are written; checks_*; report and expected; child, suite and
// test, which run them.
