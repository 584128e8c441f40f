package sleep_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fairlead-k8s/fairlead/internal/sleep"
)

func TestFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		if !sleep.For(t.Context(), time.Minute) || time.Since(began) != time.Minute {
			t.Errorf("it has waited for %v, want a minute", time.Since(began))
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began = time.Now()
		if sleep.For(ctx, time.Minute) || time.Since(began) != time.Second {
			t.Errorf("it has waited for %v, want the end of the context", time.Since(began))
		}
	})
}
