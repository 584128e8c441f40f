package provider

// Unwrapper is a wrapper of a provider, or of what one of a provider's
// accessors returns, and keeps the optional interfaces of the wrapped value. T is
// what it wraps: cloudprovider.Interface, cloudprovider.InstancesV2,
// cloudprovider.LoadBalancer or cloudprovider.Routes.
//
// An interface that the wrapper does not have is looked for in what Unwrap returns,
// as errors.As does. What the wrapper declares wins: an optional interface that
// takes the place of a method, as RouteApplier takes that of CreateRoute, is not
// looked for behind a wrapper that declares this method itself. The accessors of
// the wrapper are called, and never those of the wrapped provider. Without it, a wrapper hides the
// optional interfaces that it does not have itself; if it embeds what it wraps, the log names
// them when the daemon starts.
type Unwrapper[T any] interface {
	// Unwrap returns the wrapped value. It must always return the same one.
	Unwrap() T
}
