package cloud

import (
	"context"
	"errors"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/fairlead-k8s/fairlead/provider"
)

func TestErrorThatPanicsIsReadable(t *testing.T) {
	for name, theirs := range map[string]error{
		"TypedNil": (*brokenError)(nil), "OneAmongOthers": errors.Join(errors.New("a"), (*brokenError)(nil)),
	} {
		t.Run(name, func(t *testing.T) {
			err := routes(t, func(context.Context, string, string, *cloudprovider.Route) ([]*cloudprovider.Route, error) {
				return nil, theirs
			}, Config{}).Create(t.Context(), "hint", Route{})
			if text := errors.Unwrap(err).Error(); KindOf(err) != Failed || !strings.Contains(text, "panics when it is read") {
				t.Errorf("%v: %q", KindOf(err), text)
			}
		})
	}
}

// classifying is a vendor that classifies its errors.
type classifying struct {
	vendor
	classify func(error) provider.Classification
}

func (c classifying) ClassifyError(err error) provider.Classification { return c.classify(err) }

func TestProviderClassifiesItsOwnErrors(t *testing.T) {
	v := classifying{vendor{v2: metadata(func(context.Context, *corev1.Node) (*cloudprovider.InstanceMetadata, error) {
		return nil, errors.New("E1234")
	})}, func(error) provider.Classification { return provider.Classification{Kind: provider.Denied} }}
	if _, err := gateway(t, v, Config{}).Instances().Metadata(t.Context(), node("n")); KindOf(err) != Denied {
		t.Errorf("kind = %v of %v, want %v", KindOf(err), err, Denied)
	}
	v.classify = func(error) provider.Classification { panic("in the classifier") }
	if _, err := gateway(t, v, Config{}).Instances().Metadata(t.Context(), node("n")); KindOf(err) != Failed {
		t.Errorf("kind = %v of %v, want the error of the call in spite of the classifier's panic", KindOf(err), err)
	}
}

func TestGoroutineThatTheProviderEndsIsAnError(t *testing.T) {
	v := vendor{v2: metadata(func(context.Context, *corev1.Node) (*cloudprovider.InstanceMetadata, error) {
		runtime.Goexit()
		return nil, nil
	})}
	if _, err := gateway(t, v, Config{}).Instances().Metadata(t.Context(), node("n")); KindOf(err) != Panicked {
		t.Errorf("kind = %v of %v, want %v", KindOf(err), err, Panicked)
	}
}

func TestDeadlineReachesTheProvider(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := vendor{v2: metadata(func(ctx context.Context, _ *corev1.Node) (*cloudprovider.InstanceMetadata, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		})}
		i := gateway(t, v, Config{ReadTimeout: 10 * time.Second}).Instances()
		if _, err := i.Metadata(t.Context(), node("n")); KindOf(err) != TimedOut {
			t.Errorf("kind = %v of %v, want %v", KindOf(err), err, TimedOut)
		}
	})
}

func TestQuestionThatTheQuotaHoldsBackIsThrottledAndNotSlow(t *testing.T) {
	for _, pause := range []time.Duration{0, time.Second, time.Minute} {
		synctest.Test(t, func(t *testing.T) {
			v := classifying{vendor{v2: metadata(func(context.Context, *corev1.Node) (*cloudprovider.InstanceMetadata, error) {
				return nil, errors.New("too many")
			})}, func(error) provider.Classification {
				return provider.Classification{Kind: provider.Throttled, RetryAfter: pause}
			}}
			i := gateway(t, v, Config{}).Instances()
			var all sync.WaitGroup
			for n := range 80 {
				all.Go(func() {
					if _, err := i.Metadata(t.Context(), node(strconv.Itoa(n))); KindOf(err) != Throttled {
						t.Errorf("kind = %v of %v, want %v", KindOf(err), err, Throttled)
					}
				})
			}
			all.Wait()
		})
	}
}

func TestPauseThatTheProviderKnowsOfIsKept(t *testing.T) {
	v := classifying{vendor{v2: metadata(func(context.Context, *corev1.Node) (*cloudprovider.InstanceMetadata, error) {
		return nil, errors.New("E1234")
	})}, func(error) provider.Classification {
		return provider.Classification{Kind: provider.Unavailable, RetryAfter: 7 * time.Second}
	}}
	if _, err := gateway(t, v, Config{}).Instances().Metadata(t.Context(), node("n")); KindOf(err) != Unavailable || RetryAfter(err) != 7*time.Second {
		t.Errorf("kind %v, pause %v of %v, want %v and 7s", KindOf(err), RetryAfter(err), err, Unavailable)
	}
}

func TestNodesThatWaitGoBeforeRefreshes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var order []string
		g := gateway(t, vendor{v2: metadata(func(_ context.Context, n *corev1.Node) (*cloudprovider.InstanceMetadata, error) {
			mu.Lock()
			defer mu.Unlock()
			order = append(order, n.Name)
			return &cloudprovider.InstanceMetadata{}, nil
		})}, Config{})
		throttle(g, "InstanceMetadata", time.Second)
		var all sync.WaitGroup
		all.Go(func() { g.Instances().Refresh(t.Context(), []*corev1.Node{node("refreshed")}) })
		synctest.Wait()
		const waiting = 10 // so few that the refresh does not get a turn by its share
		for n := range waiting {
			all.Go(func() { _, _ = g.Instances().Metadata(t.Context(), node(strconv.Itoa(n))) })
		}
		all.Wait()
		if len(order) != waiting+1 || order[waiting] != "refreshed" {
			t.Errorf("order %v, want the refresh last", order)
		}
	})
}

func TestNodesThatWaitInVainComeAfterOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var order []string
		g := gateway(t, vendor{v2: metadata(func(_ context.Context, n *corev1.Node) (*cloudprovider.InstanceMetadata, error) {
			mu.Lock()
			defer mu.Unlock()
			order = append(order, n.Name)
			return &cloudprovider.InstanceMetadata{}, nil
		})}, Config{Ceiling: Ceiling{Concurrency: 1}})
		throttle(g, "InstanceMetadata", time.Second)
		var all sync.WaitGroup
		for n := range 5 {
			all.Go(func() { _, _ = g.Instances().MetadataAtLowPriority(t.Context(), node("vain-"+strconv.Itoa(n))) })
		}
		synctest.Wait()
		for n := range 5 {
			all.Go(func() { _, _ = g.Instances().Metadata(t.Context(), node(strconv.Itoa(n))) })
		}
		all.Wait()
		for n, name := range order[5:] {
			if !strings.HasPrefix(name, "vain-") {
				t.Errorf("order %v, want the nodes that wait in vain last, not %q at %d", order, name, n+5)
			}
		}
	})
}

// The program classifies an error first, and then the provider does. If neither
// knows the error, the gateway reads the error's codes, status and text.
func TestProgramClassifiesBeforeTheProvider(t *testing.T) {
	program, theirs := provider.Classification{Kind: provider.Conflict}, provider.Classification{Kind: provider.Denied}
	for _, tt := range []struct {
		name            string
		program, theirs provider.Classification
		kind            Kind
		evidence        Evidence
	}{
		{"ProgramIsAskedFirst", program, theirs, Conflict, Typed},
		{"ProviderIsAskedNext", provider.Classification{}, theirs, Denied, Typed},
		{"ErrorItselfIsReadLast", provider.Classification{}, provider.Classification{}, Unavailable, Typed},
		{"TextThatAClassifierHasReadIsText", provider.Classification{Kind: provider.Throttled, FromText: true}, theirs, Throttled, Text},
		{"KnownErrorIsNotReadAgain", provider.Classification{}, provider.Classification{Known: true}, Failed, Typed},
		{"NotFoundIsNoKindOfAClassifier", provider.Classification{Kind: "NotFound"}, provider.Classification{}, Unavailable, Typed},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				v := classifying{vendor{v2: metadata(func(context.Context, *corev1.Node) (*cloudprovider.InstanceMetadata, error) {
					return nil, httpError(503)
				})}, func(error) provider.Classification { return tt.theirs }}
				g := gateway(t, v, Config{Classify: func(error) provider.Classification { return tt.program }})
				_, err := g.Instances().Metadata(t.Context(), node("n"))
				if KindOf(err) != tt.kind || EvidenceOf(err) != tt.evidence {
					t.Errorf("kind = %v by %q of %v, want %v by %q", KindOf(err), EvidenceOf(err), err, tt.kind, tt.evidence)
				}
			})
		})
	}
}
