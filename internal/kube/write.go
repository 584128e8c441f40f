package kube

import (
	"context"
	"fmt"
	"time"
)

// writeTimeout bounds a write. It is longer than a process that ends waits for
// its work. So while a write hangs, that process does not release the lease.
const writeTimeout = 30 * time.Second

// write makes a request, unless the context has ended. The end of the context
// does not cut the request short. Otherwise it could still be under way in the
// API server while another replica writes the same object (promise S7).
func write(ctx context.Context, what string, request func(context.Context) error) error {
	err := context.Cause(ctx)
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
