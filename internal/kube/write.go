package kube

import (
	"context"
	"fmt"
	"time"
)

// writeTimeout bounds a write. It is longer than the time that a process which
// ends waits for work in flight: the lease must not be released before a write
// has returned.
const writeTimeout = 30 * time.Second

// write does not begin once the context has ended, and is not cut short by its
// end: a request that is given up here may still be under way in the API server
// while another replica writes the same object (promise S7).
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
