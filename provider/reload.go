package provider

import (
	"context"
	"io"
)

// Reloader is a cloudprovider.Interface that can take another configuration while it
// works. Without it, a change of the provider's files makes the process release its
// lease and end, so that it is started again.
type Reloader interface {
	// Reload makes the provider use this content of the file in --cloud-config from its
	// next call on. Calls under way may go on with the former content. The reader is nil
	// where there is no such file. After an error the provider keeps its former
	// configuration. Reload may be called at any time, even before Initialize and while
	// other methods run, but never while another Reload runs.
	Reload(ctx context.Context, config io.Reader) error
}
