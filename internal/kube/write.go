package kube

import (
	"context"
	"fmt"
	"time"

	"github.com/fairlead-k8s/fairlead/internal/lease"
)

// writeTimeout is the timeout of a write. It is longer than the time that a
// stopping process waits for its work. So a process does not release the lease
// while one of its writes hangs.
const writeTimeout = 30 * time.Second

// write makes a request, unless the context has ended. It first waits while
// another replica might lead. The end of the context does not interrupt a request
// that has begun. Otherwise the API server could still carry out that request
// while another replica writes the same object (promise S7).
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
