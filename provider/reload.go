package provider

import (
	"context"
	"io"
)

// Reloader is a cloudprovider.Interface that can take another configuration while it
// works.
//
// Without it, the process releases its lease and exits when the provider's files
// change, so that it is restarted.
type Reloader interface {
	// Reload gives the provider the new content of the file in --cloud-config. Calls
	// that begin after Reload has returned must use that content. Calls under way may go
	// on with the former content. The reader is nil if there is no such file. After an
	// error the provider keeps its former configuration. Reload may be called at any
	// time, even before Initialize and while other methods run, but never while another
	// Reload runs.
	Reload(ctx context.Context, config io.Reader) error
}
