package provider

// Unwrapper is a wrapper that keeps the optional interfaces of the wrapped value.
// It wraps a provider, or the result of one of a provider's accessors. T is the
// type of the wrapped value: cloudprovider.Interface, cloudprovider.InstancesV2,
// cloudprovider.LoadBalancer or cloudprovider.Routes.
//
// If the wrapper does not have an interface, the daemon looks for the interface in the result of
// Unwrap, as errors.As does. Methods that the wrapper itself declares come first. For example,
// RouteApplier replaces CreateRoute: if the wrapper declares CreateRoute itself, the daemon does
// not look for a RouteApplier in the wrapped value. The daemon calls only the accessors of the
// wrapper, never those of the wrapped provider.
//
// Without it, a wrapper hides the optional interfaces that the wrapper itself does not have.
// If the wrapper embeds the wrapped value, the log names the hidden interfaces when the
// daemon starts.
type Unwrapper[T any] interface {
	// Unwrap returns the wrapped value, which must always be the same.
	Unwrap() T
}
