// Package await waits for something to become true that can only be asked for.
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
	// answerTimeout is for one answer.
	answerTimeout = 5 * time.Second
)

// Until asks until ready says yes. When ctx ends first, the error tells what the last answer was and why ctx ended.
func Until(ctx context.Context, what string, ready func(context.Context) error) error {
	last := errors.New("none")
	err := wait.PollUntilContextCancel(ctx, period, true, func(outer context.Context) (bool, error) {
		ctx, cancel := context.WithTimeout(outer, answerTimeout)
		defer cancel()
		err := ready(ctx)
		if err != nil && outer.Err() == nil { // a question that was cut off has no answer
			last = err
		}
		return err == nil, nil
	})
	if err != nil {
		return fmt.Errorf("wait for %s (last answer: %w): %w", what, last, context.Cause(ctx))
	}
	return nil
}
