package await

import (
	"context"
	"errors"
	"strings"
	"testing"
)

func TestUntil(t *testing.T) {
	died := errors.New("the child died")
	ctx, cancel := context.WithCancelCause(t.Context())
	asked := 0
	err := Until(ctx, "c", func(context.Context) error {
		if asked++; asked == 2 {
			cancel(died)
			return errors.New("cut off")
		}
		return errors.New("not yet")
	})
	if !errors.Is(err, died) || !strings.Contains(err.Error(), "last answer: not yet") {
		t.Errorf("got %v, want why the context ended and the last answer", err)
	}
	if err := Until(t.Context(), "c", func(context.Context) error { return nil }); err != nil {
		t.Error(err)
	}
}
