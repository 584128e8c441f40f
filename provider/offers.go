package provider

import "context"

// Offerer is a cloudprovider.Interface whose accessors, such as InstancesV2, ask
// the cloud before they answer. Without it, an accessor that cannot tell yet has
// to answer "not supported", and is asked again less and less often, at last every
// five minutes.
type Offerer interface {
	// Offers returns nil if the accessors can tell what the provider offers. It
	// is called after Initialize and before accessors are called. While it returns
	// an error, they are not called, the controllers wait, the log has the error,
	// and Offers is called again soon, at last every 15 seconds. It has the
	// deadline of a call that changes nothing.
	Offers(ctx context.Context) error
}
