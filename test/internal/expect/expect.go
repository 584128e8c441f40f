// Package expect waits for conditions and compares values. It has no fixed sleeps.
// It polls until a condition is true or the time is over.
package expect

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-k8s/fairlead/test/internal/timeout"
)

// Soon is the timeout for something that takes a second or two on an idle machine.
const Soon = 30 * time.Second

// Within calls check until it returns nil. When the time is over, it fails the test with
// the last error. On a busy machine the time is up to four times as long. The function
// check must return an error while the condition is not true yet, and must not call
// t.Fatal.
func Within(t *testing.T, within time.Duration, check func(context.Context) error) {
	t.Helper()
	WithinContext(t.Context(), t, within, check)
}

// WithinContext does the same as Within with another context. Cleanups need it, because
// the test's own context has ended by then.
func WithinContext(ctx context.Context, t *testing.T, within time.Duration, check func(context.Context) error) {
	t.Helper()
	limit := timeout.New(within)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		err := check(ctx)
		if err == nil {
			return
		}
		if limit.IsOver() {
			t.Fatalf("not within %v: %v", limit.Elapsed().Round(time.Second), err)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatal(errors.Join(ctx.Err(), err))
		}
	}
}

// Cleanup runs f at the end of the test, with a context that has its own timeout.
func Cleanup(t *testing.T, f func(context.Context) error) {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
		defer cancel()
		if err := f(ctx); err != nil {
			t.Errorf("clean up: %v", err)
		}
	})
}

// Equal returns an error with the difference, or nil if the values are equal.
func Equal(what string, want, got any) error {
	if diff := cmp.Diff(want, got); diff != "" {
		return fmt.Errorf("%s (-want +got):\n%s", what, diff)
	}
	return nil
}

// CountPrefix returns the number of texts that begin with start.
func CountPrefix(all []string, start string) int {
	n := 0
	for _, text := range all {
		if strings.HasPrefix(text, start) {
			n++
		}
	}
	return n
}

// HasWords reports whether the line contains all of these words.
func HasWords(line string, words []string) bool {
	for _, word := range words {
		if !strings.Contains(line, word) {
			return false
		}
	}
	return true
}
