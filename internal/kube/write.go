package kube

import (
	"context"
	"fmt"
	"time"

	"github.com/fairlead-k8s/fairlead/internal/lease"
)

// writeTimeout is the timeout of a write. It is longer than the time for which a
// stopping process waits for its work. So if a write hangs, the process ends without
// releasing the lease.
const writeTimeout = 30 * time.Second

// write waits until no other replica can lead, and then makes a request. If the context
// ends first, write does not make the request. The end of the context does not
// interrupt a request that has begun. Otherwise the API server could still carry out
// that request while another replica writes the same object (promise S7).
func write(ctx context.Context, what string, request func(context.Context) error) error {
	err := lease.Await(ctx)
	if err == nil {
		limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeTimeout)
		defer cancel()
		err = request(limited)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}
