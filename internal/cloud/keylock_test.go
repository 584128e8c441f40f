package cloud

import (
	"context"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
)

func TestChangeThatDoesNotReturnKeepsItsService(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls atomic.Int32
		l := balancers(t, balancer(func(context.Context, string, *corev1.Service, []*corev1.Node) (*corev1.LoadBalancerStatus, error) {
			calls.Add(1)
			time.Sleep(time.Hour) // The provider ignores its context.
			return nil, nil
		}), Config{ChangeTimeout: time.Minute})
		began := time.Now()
		if err := l.Update(t.Context(), service("s"), nil); KindOf(err) != TimedOut {
			t.Errorf("error %v, want %v", err, TimedOut)
		}
		if waited := time.Since(began); waited != time.Minute+grace {
			t.Errorf("the caller got its error after %v", waited)
		}
		if err := l.Delete(t.Context(), service("s")); KindOf(err) != Slow {
			t.Errorf("error %v, want the other change to be refused", err)
		}
		if calls.Load() != 1 {
			t.Errorf("%d calls about one Service overlap", calls.Load())
		}
		time.Sleep(time.Hour)
		synctest.Wait()
		if err := l.Delete(t.Context(), service("s")); KindOf(err) != TimedOut || calls.Load() != 2 {
			t.Errorf("error %v after %d calls, want a second call once the first has returned", err, calls.Load())
		}
		time.Sleep(time.Hour)
	})
}

func TestChangesThatDoNotReturnAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := balancers(t, balancer(func(context.Context, string, *corev1.Service, []*corev1.Node) (*corev1.LoadBalancerStatus, error) {
			time.Sleep(time.Hour)
			return nil, nil
		}), Config{ChangeTimeout: time.Second})
		for n := range maxAbandoned {
			if err := restartOf(l.gateway); err != nil {
				t.Errorf("restart after %d calls: %v", n, err)
			}
			if err := l.Update(t.Context(), service(strconv.Itoa(n)), nil); KindOf(err) != TimedOut {
				t.Fatalf("call %d: %v", n, err)
			}
		}
		if err := restartOf(l.gateway); err == nil || !strings.Contains(err.Error(), "16 changes have not returned") {
			t.Errorf("restart for %v, want one for the calls that hang", err)
		}
		if err := l.Update(t.Context(), service("more"), nil); KindOf(err) != Slow {
			t.Errorf("error %v, want no further call", err)
		}
		time.Sleep(2 * time.Hour)
		synctest.Wait()
		if err := l.Update(t.Context(), service("more"), nil); KindOf(err) != TimedOut {
			t.Errorf("error %v, want a call once the others have returned", err)
		}
		time.Sleep(2 * time.Hour)
	})
}
