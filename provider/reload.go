package provider

import (
	"context"
	"io"
)

// Reloader is a cloudprovider.Interface that can take another configuration
// while it works. When the files of a provider without it change, the process
// hands its lease over and ends, to be started again.
type Reloader interface {
	// Reload makes the provider use this content of the file in --cloud-config
	// from its next call on; calls under way may end with what they began with.
	// The reader is nil where there is no such file. On an error the provider
	// goes on as before. It may be called at any time, also before Initialize,
	// and beside all other methods, but never twice at once.
	Reload(ctx context.Context, config io.Reader) error
}
