package cloud

import (
	"context"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"
)

func TestEqualQuestionsAreOneCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls atomic.Int32
		v := vendor{v2: metadata(func(context.Context, *corev1.Node) (*cloudprovider.InstanceMetadata, error) {
			calls.Add(1)
			time.Sleep(time.Second)
			return &cloudprovider.InstanceMetadata{ProviderID: "p://1"}, nil
		})}
		i := gateway(t, v, Config{}).Instances()
		var all sync.WaitGroup
		for range 10 {
			all.Go(func() {
				if m, err := i.Metadata(t.Context(), node("n")); err != nil || m.ProviderID != "p://1" {
					t.Errorf("Metadata = %v, %v", m, err)
				}
			})
		}
		all.Wait()
		if _, err := i.Metadata(t.Context(), node("n")); err != nil || calls.Load() != 2 {
			t.Errorf("%d calls for ten questions at once and one later (%v), want 2", calls.Load(), err)
		}
	})
}

func TestCallersOfOneCallShareNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := vendor{v2: metadata(func(context.Context, *corev1.Node) (*cloudprovider.InstanceMetadata, error) {
			time.Sleep(time.Second)
			return &cloudprovider.InstanceMetadata{AdditionalLabels: map[string]string{"a": "1"}}, nil
		})}
		i := gateway(t, v, Config{}).Instances()
		var all sync.WaitGroup
		for range 2 {
			all.Go(func() {
				m, err := i.Metadata(t.Context(), node("n"))
				if err != nil || m.Labels["a"] != "1" {
					t.Errorf("Metadata = %v, %v: another caller has changed it", m, err)
				}
				m.Labels["a"] = "changed"
			})
		}
		all.Wait()
	})
}

func TestSlowCallKeepsItsKeyAndItsCallersGetSlow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls atomic.Int32
		v := vendor{v2: metadata(func(context.Context, *corev1.Node) (*cloudprovider.InstanceMetadata, error) {
			calls.Add(1)
			time.Sleep(100 * time.Second) // The provider ignores its context.
			return &cloudprovider.InstanceMetadata{ProviderID: "p://1"}, nil
		})}
		i := gateway(t, v, Config{CallerTimeout: 30 * time.Second}).Instances()
		start := time.Now()
		for range 3 {
			if _, err := i.Metadata(t.Context(), node("n")); KindOf(err) != Slow {
				t.Errorf("kind = %v of %v, want %v", KindOf(err), err, Slow)
			}
		}
		if took := time.Since(start); took > 30*time.Second {
			t.Errorf("three callers were kept for %v, want all to get their error after the timeout of one", took)
		}
		time.Sleep(100 * time.Second)
		if m, err := i.Metadata(t.Context(), node("n")); err != nil || m.ProviderID != "p://1" {
			t.Errorf("the late answer is lost: %v, %v", m, err)
		}
		if calls.Load() != 1 {
			t.Errorf("%d calls under way for one question", calls.Load())
		}
	})
}

func TestCallsThatDoNotReturnAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		v := vendor{v2: metadata(func(context.Context, *corev1.Node) (*cloudprovider.InstanceMetadata, error) {
			<-release
			return &cloudprovider.InstanceMetadata{}, nil
		})}
		g := gateway(t, v, Config{CallerTimeout: time.Second})
		var all sync.WaitGroup
		for n := range 2 * maxInflight {
			all.Go(func() { _, _ = g.Instances().Metadata(t.Context(), node(strconv.Itoa(n))) })
		}
		all.Wait()
		_, err := g.Instances().Metadata(t.Context(), node("one more"))
		if KindOf(err) != Slow || !strings.Contains(err.Error(), strconv.Itoa(maxInflight)) {
			t.Errorf("error = %v, want one that counts the calls under way", err)
		}
		close(release)
		synctest.Wait()
		if _, err := g.Instances().Metadata(t.Context(), node("afterwards")); err != nil {
			t.Errorf("after the calls have returned: %v", err)
		}
	})
}

// If many calls hang past their deadline, the gateway asks for a restart. It does
// not do so for calls that are only slow.
func TestQuestionsThatAreNeverAnsweredAskForARestart(t *testing.T) {
	for _, tc := range []struct {
		name    string
		takes   time.Duration
		restart bool
	}{
		{"SlowCalls", 5 * time.Minute, false},
		{"CallsThatHang", 24 * time.Hour, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := gateway(t, vendor{v2: metadata(func(context.Context, *corev1.Node) (*cloudprovider.InstanceMetadata, error) {
					time.Sleep(tc.takes)
					return &cloudprovider.InstanceMetadata{}, nil
				})}, Config{CallerTimeout: time.Second, ReadTimeout: 5 * time.Minute})
				for n := range 4 * maxOverdue {
					go func() { _, _ = g.Instances().Metadata(t.Context(), node(strconv.Itoa(n))) }()
					time.Sleep(5 * time.Second)
				}
				if err := restartOf(g); (err != nil) != tc.restart {
					t.Errorf("restart for %v, want one: %v", err, tc.restart)
				}
				time.Sleep(24 * time.Hour)
			})
		})
	}
}

func TestLateAnswerIsNotKeptForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls atomic.Int32
		v := vendor{v2: metadata(func(context.Context, *corev1.Node) (*cloudprovider.InstanceMetadata, error) {
			if calls.Add(1) == 1 {
				time.Sleep(time.Minute)
			}
			return &cloudprovider.InstanceMetadata{}, nil
		})}
		i := gateway(t, v, Config{CallerTimeout: 30 * time.Second}).Instances()
		if _, err := i.Metadata(t.Context(), node("n")); KindOf(err) != Slow {
			t.Errorf("error %v, want %v", err, Slow)
		}
		time.Sleep(time.Minute + keepLateAnswer)
		if _, err := i.Metadata(t.Context(), node("n")); err != nil || calls.Load() != 2 {
			t.Errorf("error %v after %d calls, want a new call instead of an old answer", err, calls.Load())
		}
	})
}
