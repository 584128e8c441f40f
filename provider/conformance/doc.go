// Package conformance tests a cloud provider against the contract of
// k8s.io/cloud-provider: what its doc comments say, and what daemons rely on.
//
// A vendor writes a [Target]: how to make the provider, and the world around it. Through
// the world, the suite creates machines, sets faults and counts calls. The world is any
// value that implements some of the interfaces of this package, such as [Machines]. A check
// that needs more than the world has is not run, and the report says what it needs.
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
// Test runs the suite in go test, with a subtest for each check. Run runs it
// anywhere and returns a [Report]. Checks lists all checks.
//
// The suite judges a provider by the contract, and not by taste. If a check of level
// [Core] fails, users lose nodes, load balancers, routes or traffic, or the provider
// contradicts a doc comment of the contract. If a check of level [Extended] fails, a
// feature does not work, or operation is harder. A check of level [Measured] reports a
// number.
//
// Run the suite with the race detector, because only it sees some mistakes. Without
// it the result is at most [Partial].
package conformance
