package cloud

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-k8s/fairlead/internal/lease"
)

func TestChangeIsNotCutShortAndIsAwaited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		l := balancers(t, balancer(func(ctx context.Context, _ string, _ *corev1.Service, _ []*corev1.Node) (*corev1.LoadBalancerStatus, error) {
			select {
			case <-time.After(time.Minute):
				return nil, nil
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}), Config{})
		time.AfterFunc(time.Second, stop)
		if err := l.Update(ctx, service("s"), nil); err != nil {
			t.Errorf("error %v, want a change that the end of the process does not cut short", err)
		}
		if err := l.Update(ctx, service("s"), nil); KindOf(err) != Canceled {
			t.Errorf("error %v, want no change to begin afterwards", err)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		l := balancers(t, balancer(func(context.Context, string, *corev1.Service, []*corev1.Node) (*corev1.LoadBalancerStatus, error) {
			time.Sleep(time.Hour) // The provider ignores its context.
			return nil, nil
		}), Config{ChangeTimeout: time.Second})
		began := time.Now()
		if err := l.Update(t.Context(), service("s"), nil); KindOf(err) != TimedOut {
			t.Errorf("error %v, want %v", err, TimedOut)
		}
		l.gateway.AwaitChanges()
		if waited := time.Since(began); waited != time.Hour {
			t.Errorf("waited for %v, want what nobody waits for any more to be under way until it returns", waited)
		}
	})
}

func TestNoChangeBeginsWhileAnotherReplicaMayLead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls := 0
		l := balancers(t, balancer(func(context.Context, string, *corev1.Service, []*corev1.Node) (*corev1.LoadBalancerStatus, error) {
			calls++
			return nil, nil
		}), Config{})
		held := lease.New(10 * time.Second)
		held.Ask()()
		time.Sleep(10 * time.Second)
		ctx, stop := context.WithTimeout(lease.NewContext(t.Context(), held), time.Minute)
		defer stop()
		if err := l.Update(ctx, service("s"), nil); KindOf(err) != Canceled || calls != 0 {
			t.Errorf("error %v after %d calls, want no call once the lease is over", err, calls)
		}
		if n := l.changes.gateway.limiter.ceiling.underWay; n != 0 {
			t.Errorf("%d calls count as under way, want none", n)
		}
		held.Ask()()
		if err := l.Update(lease.NewContext(t.Context(), held), service("s"), nil); err != nil || calls != 1 {
			t.Errorf("error %v after %d calls, want a call once the lease is renewed", err, calls)
		}
	})
}

func TestChangeThatPanicsIsAnErrorAndFreesItsService(t *testing.T) {
	panics := true
	l := balancers(t, balancer(func(context.Context, string, *corev1.Service, []*corev1.Node) (*corev1.LoadBalancerStatus, error) {
		if panics {
			panic("no")
		}
		return &corev1.LoadBalancerStatus{}, nil
	}), Config{})
	if err := l.Delete(t.Context(), service("s")); KindOf(err) != Panicked {
		t.Errorf("error %v, want %v", err, Panicked)
	}
	panics = false
	if err := l.Delete(t.Context(), service("s")); err != nil {
		t.Error(err)
	}
}
