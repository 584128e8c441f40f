package provider

// Unwrapper is a wrapper of a provider, or of what one of a provider's
// accessors returns, and keeps the optional interfaces of the wrapped value. T is
// what it wraps: cloudprovider.Interface, cloudprovider.InstancesV2,
// cloudprovider.LoadBalancer or cloudprovider.Routes.
//
// An interface that the wrapper does not have is looked for in what Unwrap returns, as errors.As
// does. What the wrapper declares wins. For example, RouteApplier replaces CreateRoute: if the
// wrapper declares CreateRoute itself, RouteApplier is not looked for behind it. Only the
// accessors of the wrapper are called, never those of the wrapped provider.
//
// Without it, a wrapper hides the optional interfaces that it does not have itself. If it embeds
// what it wraps, the log names the hidden interfaces when the daemon starts.
type Unwrapper[T any] interface {
	// Unwrap returns the wrapped value. It must always return the same one.
	Unwrap() T
}
