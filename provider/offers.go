package provider

import "context"

// Offerer is a cloudprovider.Interface whose accessors, such as InstancesV2, ask
// the cloud before they answer.
//
// Without it, an accessor that does not know its answer yet has to return false.
// The daemon calls that accessor again, less and less often, and finally every
// five minutes.
type Offerer interface {
	// Offers returns nil once the accessors know what the provider offers. It is
	// called after Initialize and before any accessor. While Offers returns an
	// error, the accessors are not called and the controllers wait. The daemon logs
	// the error and calls Offers again, less and less often, and finally every 15
	// seconds. The context ends after --cloud-read-timeout.
	Offers(ctx context.Context) error
}
