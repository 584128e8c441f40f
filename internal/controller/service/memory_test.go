package service

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
)

func TestDelaysGrow(t *testing.T) {
	var m memory
	s := balanced()
	fails := func(do action, pause time.Duration) time.Duration {
		m, _ = conclude(plan{do: do, service: s, memory: m}, outcome{result: failed, at: noon, cause: reasonCloudFailed.Cause("no"), pause: pause})
		return m.failure.until.Sub(noon)
	}
	for n, seconds := range []int{5, 10, 20, 40, 80, 160, 300, 300} {
		want := time.Duration(seconds) * time.Second
		if got := fails(ensure, 0); got != want {
			t.Errorf("delay %v after failure %d, want %v", got, n+1, want)
		}
	}
	if got := fails(ensure, 7*time.Second); got != 7*time.Second {
		t.Errorf("delay %v, want the provider's own", got)
	}
	m = memory{}
	for range 20 {
		fails(ensure, 2*time.Second)
	}
	if got := fails(ensure, 0); got != 5*time.Second {
		t.Errorf("delay %v after pauses that the provider asked for, want the first", got)
	}
	if got := fails(remove, 0); got != 5*time.Second {
		t.Errorf("delay %v of another call, want the first", got)
	}
	fails(remove, 0)
	s = balanced(func(s *corev1.Service) { s.UID = "u2"; s.Spec.Ports[0].Port = 81 })
	if got := fails(remove, 0); got != 5*time.Second {
		t.Errorf("delay %v of another shape, want the first", got)
	}
	m = memory{}
	for range 100 {
		fails(ensure, 0)
	}
	if got := fails(ensure, 0); got != 5*time.Minute {
		t.Errorf("delay %v after 101 failures, want the longest", got)
	}
}
