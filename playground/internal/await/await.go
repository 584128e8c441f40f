// Package await waits for a condition that can only be polled.
package await

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

const (
	period = 100 * time.Millisecond
	// answerTimeout is the timeout of one check.
	answerTimeout = 5 * time.Second
)

// Until repeats a check until it returns nil. If ctx ends first, the returned error contains
// the last error of the check and the cause of ctx.
func Until(ctx context.Context, what string, ready func(context.Context) error) error {
	last := errors.New("none")
	err := wait.PollUntilContextCancel(ctx, period, true, func(outer context.Context) (bool, error) {
		ctx, cancel := context.WithTimeout(outer, answerTimeout)
		defer cancel()
		err := ready(ctx)
		if err != nil && outer.Err() == nil { // if outer has ended the check, the error is of no use
			last = err
		}
		return err == nil, nil
	})
	if err != nil {
		return fmt.Errorf("wait for %s (last answer: %w): %w", what, last, context.Cause(ctx))
	}
	return nil
}
