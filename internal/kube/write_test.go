package kube

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fairlead-k8s/fairlead/internal/lease"
)

func TestNoWriteBeginsWhileAnotherReplicaMayLead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		writes := 0
		request := func(context.Context) error {
			writes++
			return nil
		}
		held := lease.New(10 * time.Second)
		held.Ask()()
		time.Sleep(10 * time.Second)
		ctx, stop := context.WithTimeout(lease.NewContext(t.Context(), held), time.Minute)
		defer stop()
		if err := write(ctx, "patch", request); !errors.Is(err, context.DeadlineExceeded) || writes != 0 {
			t.Errorf("error %v after %d writes, want none once the lease is over", err, writes)
		}
		held.Ask()()
		if err := write(lease.NewContext(t.Context(), held), "patch", request); err != nil || writes != 1 {
			t.Errorf("error %v after %d writes, want one once the lease is renewed", err, writes)
		}
	})
}
