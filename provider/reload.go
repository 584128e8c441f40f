package provider

import (
	"context"
	"io"
)

// Reloader is a cloudprovider.Interface that can take another configuration
// while it works. Without it, the process releases its lease and ends when the files
// of the provider change, to be started again.
type Reloader interface {
	// Reload makes the provider use this content of the file in --cloud-config
	// from its next call on; calls under way may go on with the former content.
	// The reader is nil where there is no such file. After an error the provider
	// keeps its former configuration. It may be called at any time, also before Initialize,
	// and while all other methods run, but never while another Reload runs.
	Reload(ctx context.Context, config io.Reader) error
}
