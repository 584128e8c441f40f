package cloud

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/fairlead-k8s/fairlead/provider"
)

// terminating is an InstancesV2 that also implements provider.Terminations.
type terminating struct {
	exists

	says func(ctx context.Context, node *corev1.Node) (provider.Termination, error)
}

func (v terminating) InstanceTermination(ctx context.Context, node *corev1.Node) (provider.Termination, error) {
	return v.says(ctx, node)
}

// wrappedInstances hides the optional interfaces of an InstancesV2, but has Unwrap.
type wrappedInstances struct{ cloudprovider.InstancesV2 }

func (w wrappedInstances) Unwrap() cloudprovider.InstancesV2 { return w.InstancesV2 }

func TestTermination(t *testing.T) {
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	theirs := provider.Termination{ProviderID: "p://1", At: at, By: provider.TerminatedBySpot}
	ours := Termination{ProviderID: "p://1", At: at, By: "spot"}
	says := func(t provider.Termination, err error) cloudprovider.InstancesV2 {
		return terminating{says: func(_ context.Context, n *corev1.Node) (provider.Termination, error) {
			n.Name = "changed by the provider"
			return t, err
		}}
	}
	calls := func(f func(context.Context) (provider.Termination, error)) cloudprovider.InstancesV2 {
		return terminating{says: func(ctx context.Context, _ *corev1.Node) (provider.Termination, error) { return f(ctx) }}
	}
	var none *terminating
	for _, tt := range []struct {
		name string
		v2   cloudprovider.InstancesV2
		want Termination
		kind Kind
	}{
		{"Terminated", says(theirs, nil), ours, Succeeded},
		{"BehindAWrapper", wrappedInstances{says(theirs, nil)}, ours, Succeeded},
		{"NothingIsKnown", says(provider.Termination{}, nil), Termination{}, Succeeded},
		{"UnknownTerminatorIsNone", says(provider.Termination{ProviderID: "p://1", At: at, By: "a customer's text"}, nil), Termination{ProviderID: "p://1", At: at}, Succeeded},
		{"NotOffered", exists(func(context.Context) (bool, error) { return false, nil }), Termination{}, NotImplemented},
		{"NilBehindAWrapper", wrappedInstances{none}, Termination{}, NotImplemented},
		{"NotImplemented", says(theirs, cloudprovider.NotImplemented), Termination{}, NotImplemented},
		{"ErrorIsNoAnswer", says(theirs, errors.New("no")), Termination{}, Failed},
		{"NotFoundIsNoAnswer", says(theirs, cloudprovider.InstanceNotFound), Termination{}, NotFound},
		{"PanicIsNoAnswer", calls(func(context.Context) (provider.Termination, error) { panic("no") }), Termination{}, Panicked},
		{"AnswerAfterTheDeadlineIsNone", calls(func(ctx context.Context) (provider.Termination, error) {
			<-ctx.Done()
			return theirs, nil
		}), Termination{}, TimedOut},
		{"CallThatHangsIsNotAwaited", calls(func(context.Context) (provider.Termination, error) {
			time.Sleep(time.Hour)
			return theirs, nil
		}), Termination{}, Slow},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				i := gateway(t, vendor{v2: tt.v2}, Config{ReadTimeout: time.Second}).Instances()
				mine, began := node("n"), time.Now()
				got, err := i.Termination(t.Context(), mine)
				if d := cmp.Diff(tt.want, got); d != "" || KindOf(err) != tt.kind || mine.Name != "n" {
					t.Errorf("error %v about %s, want the kind %v (-want +got):\n%s", err, mine.Name, tt.kind, d)
				}
				if took := time.Since(began); took > terminationTimeout {
					t.Errorf("it took %v", took)
				}
				time.Sleep(2 * time.Hour) // By then, the call has returned.
			})
		})
	}
	if _, err := gateway(t, vendor{v1: &oldVendor{}}, Config{}).Instances().Termination(t.Context(), node("n")); KindOf(err) != NotImplemented {
		t.Errorf("by the older interface: %v", err)
	}
}

// Two callers never share an answer, and questions about terminations hold back no
// question about existence.
func TestQuestionsAboutTerminations(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls := 0
		i := gateway(t, vendor{v2: terminating{
			exists: func(context.Context) (bool, error) { return false, nil },
			says: func(context.Context, *corev1.Node) (provider.Termination, error) {
				calls++
				time.Sleep(5 * time.Second)
				return provider.Termination{}, status(503)
			},
		}}, Config{}).Instances()
		first := make(chan struct{})
		go func() {
			defer close(first)
			_, _ = i.Termination(t.Context(), node("n"))
		}()
		synctest.Wait()
		if _, err := i.Termination(t.Context(), node("n")); KindOf(err) != Slow {
			t.Errorf("the second question got %v, want Slow", err)
		}
		<-first
		for _, name := range []string{"a", "b", "c", "d"} {
			_, _ = i.Termination(t.Context(), node(name))
		}
		began := time.Now()
		if _, err := i.Existence(t.Context(), node("n")); err != nil || time.Since(began) > 0 {
			t.Errorf("existence: %v after %v, although only questions about terminations fail", err, time.Since(began))
		}
		if calls < 3 {
			t.Errorf("%d calls", calls)
		}
	})
}
