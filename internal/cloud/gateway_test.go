package cloud

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/cloud-provider/api"

	"github.com/fairlead-k8s/fairlead/provider"
)

func TestKindOfAnError(t *testing.T) {
	for _, tt := range []struct {
		name  string
		err   error
		kind  Kind
		pause time.Duration
	}{
		{"SentinelIsFoundBare", cloudprovider.InstanceNotFound, NotFound, 0},
		{"SentinelIsFoundWrapped", fmt.Errorf("a: %w", cloudprovider.InstanceNotFound), NotFound, 0},
		{"SentinelIsFoundInAnAggregate", fmt.Errorf("a: %w", utilerrors.NewAggregate([]error{errors.New("b"), cloudprovider.NotImplemented})), NotImplemented, 0},
		{"SentinelIsFoundInAJoin", errors.Join(errors.New("b"), cloudprovider.InstanceNotFound), NotFound, 0},
		{"TextOfASentinelIsNone", errors.New(cloudprovider.InstanceNotFound.Error()), Failed, 0},
		{"RetryErrorInAnAggregateNamesThePause", utilerrors.NewAggregate([]error{api.NewRetryError("later", 7*time.Second)}), Pending, 7 * time.Second},
		{"StatusCode429", httpError(429), Throttled, 0},
		{"StatusCode403", fmt.Errorf("a: %w", httpError(403)), Denied, 0},
		{"StatusCode401", httpError(401), Denied, 0},
		{"StatusCode400", httpError(400), Invalid, 0},
		{"StatusCode503", httpError(503), Unavailable, 0},
		{"StatusCode404IsNoAnswerAboutAnInstance", httpError(404), Failed, 0},
		{"WordsOfAUsedUpQuota", errors.New("Rate exceeded for this account"), Throttled, 0},
		{"WordsOfAUsedUpQuotaWithAnyStatus", errors.Join(httpError(400), errors.New("Throttling: Rate exceeded")), Throttled, 0},
		{"CloudThatIsNotReached", &url.Error{Op: "Get", URL: "http://127.0.0.1:1", Err: errors.New("connection refused")}, Unavailable, 0},
		{"TypedNilHasFailed", (*brokenError)(nil), Failed, 0},
		{"DeadlineIsTimedOut", fmt.Errorf("a: %w", context.DeadlineExceeded), TimedOut, 0},
		{"CanceledIsCanceled", context.Canceled, Canceled, 0},
		{"AnythingElseIsFailed", errors.New("oops"), Failed, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			kind, pause := classify(tt.err, provider.Classification{})
			if kind != tt.kind || pause != tt.pause {
				t.Errorf("classify(%v) = %v, %v, want %v, %v", tt.err, kind, pause, tt.kind, tt.pause)
			}
		})
	}
}

func TestErrorsCanBeRead(t *testing.T) {
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

// brokenError panics where it is nil, as many do.
type brokenError struct{ text string }

func (e *brokenError) Error() string { return e.text }

type httpError int

func (e httpError) Error() string   { return http.StatusText(int(e)) }
func (e httpError) StatusCode() int { return int(e) }

// knowing is a vendor that classifies its errors, or panics where it is nil.
type knowing struct {
	vendor
	say func(error) provider.Classification
}

func (k knowing) ClassifyError(err error) provider.Classification { return k.say(err) }

func TestProviderClassifiesItsOwnErrors(t *testing.T) {
	v := knowing{vendor{v2: metadata(func(context.Context, *corev1.Node) (*cloudprovider.InstanceMetadata, error) {
		return nil, errors.New("E1234")
	})}, func(error) provider.Classification { return provider.Classification{Kind: provider.Denied} }}
	if _, err := gateway(t, v, Config{}).Instances().Metadata(t.Context(), node("n")); KindOf(err) != Denied {
		t.Errorf("kind = %v of %v, want %v", KindOf(err), err, Denied)
	}
	v.say = func(error) provider.Classification { panic("in the classifier") }
	if _, err := gateway(t, v, Config{}).Instances().Metadata(t.Context(), node("n")); KindOf(err) != Failed {
		t.Errorf("kind = %v of %v, want the error of the call in spite of the classifier's panic", KindOf(err), err)
	}
}

func TestNilMetadataIsNoAnswer(t *testing.T) {
	v := vendor{v2: metadata(func(context.Context, *corev1.Node) (*cloudprovider.InstanceMetadata, error) { return nil, nil })}
	if _, err := gateway(t, v, Config{}).Instances().Metadata(t.Context(), node("n")); KindOf(err) != NoAnswer {
		t.Errorf("kind = %v of %v, want %v", KindOf(err), err, NoAnswer)
	}
}

func TestTypedNilIsUnsupported(t *testing.T) {
	if i := gateway(t, vendor{v2: metadata(nil), v1: (*oldVendor)(nil)}, Config{}).Instances(); i != nil {
		t.Error("typed nils are taken for instances")
	}
	if i := gateway(t, vendor{}, Config{}).Instances(); i != nil {
		t.Error("a provider without instances has some")
	}
}

func TestAccessorThatPanicsIsAnError(t *testing.T) {
	if _, err := wrap(struct{ cloudprovider.Interface }{}).Open(t.Context(), Config{}); err == nil || !strings.Contains(err.Error(), "panicked") {
		t.Errorf("New = %v, want the panic as an error", err)
	}
}

func TestProviderGetsACopyAndKeepsItsResult(t *testing.T) {
	theirs := &cloudprovider.InstanceMetadata{
		ProviderID: "p://1", NodeAddresses: []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "127.0.1.1"}}, AdditionalLabels: map[string]string{"a": "1"},
	}
	v := vendor{v2: metadata(func(_ context.Context, n *corev1.Node) (*cloudprovider.InstanceMetadata, error) {
		n.Name = "changed"
		return theirs, nil
	})}
	mine := node("n")
	got, err := gateway(t, v, Config{}).Instances().Metadata(t.Context(), mine)
	if err != nil {
		t.Fatal(err)
	}
	got.Addresses[0].Address, got.Labels["a"] = "changed", "changed"
	if mine.Name != "n" {
		t.Error("the provider has changed the caller's Node")
	}
	if theirs.NodeAddresses[0].Address != "127.0.1.1" || theirs.AdditionalLabels["a"] != "1" {
		t.Errorf("the caller has changed the provider's object: %+v", theirs)
	}
}

func TestBatchGetsCopies(t *testing.T) {
	v := vendor{v2: batching{answer: func(nodes []*corev1.Node) ([]provider.InstanceMetadataAnswer, error) {
		nodes[0].Name = "changed"
		return make([]provider.InstanceMetadataAnswer, 1), nil
	}}}
	mine := node("n")
	gateway(t, v, Config{}).Instances().Refresh(t.Context(), []*corev1.Node{mine})
	if mine.Name != "n" {
		t.Error("the provider has changed the caller's Node")
	}
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

func TestLateAnswerToABatchIsForThatBatchOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := vendor{v2: batching{answer: func(nodes []*corev1.Node) ([]provider.InstanceMetadataAnswer, error) {
			var answers []provider.InstanceMetadataAnswer
			for _, n := range nodes {
				if n.Name == "b" {
					time.Sleep(40 * time.Second)
				}
				answers = append(answers, provider.InstanceMetadataAnswer{Metadata: &cloudprovider.InstanceMetadata{ProviderID: n.Name}})
			}
			return answers, nil
		}}}
		i := gateway(t, v, Config{}).Instances()
		if got := i.Refresh(t.Context(), []*corev1.Node{node("a"), node("b")}); KindOf(got[1].Err) != Slow {
			t.Errorf("answers = %+v, want none yet", got)
		}
		time.Sleep(time.Minute)
		if got := i.Refresh(t.Context(), []*corev1.Node{node("a"), node("c")}); got[1].Metadata.ProviderID != "c" {
			t.Errorf("answers = %+v, want that of node c", got)
		}
	})
}

func TestQuestionThatTheQuotaHoldsBackIsThrottledAndNotSlow(t *testing.T) {
	for _, pause := range []time.Duration{0, time.Second, time.Minute} {
		synctest.Test(t, func(t *testing.T) {
			v := knowing{vendor{v2: metadata(func(context.Context, *corev1.Node) (*cloudprovider.InstanceMetadata, error) {
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

func TestRefreshOfAnOlderProvider(t *testing.T) {
	old := &oldVendor{errs: map[string]error{"InstanceTypeByProviderID": errors.New("no"), "InstanceType": errors.New("no")}}
	i := gateway(t, vendor{v1: old, zones: old}, Config{}).Instances()
	known := node("n")
	known.Spec.ProviderID = "p://i-1"
	got := i.Refresh(t.Context(), []*corev1.Node{known})
	if got[0].Err != nil || len(got[0].Metadata.Addresses) != 1 || got[0].Metadata.Type != "" {
		t.Errorf("answer = %+v, want addresses although the type is unknown", got[0])
	}
	want := []string{"NodeAddressesByProviderID", "InstanceTypeByProviderID", "InstanceType"}
	if diff := cmp.Diff(want, old.calls); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
}

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

func TestCallerIsLetGoAndTheCallKeepsItsKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls atomic.Int32
		v := vendor{v2: metadata(func(context.Context, *corev1.Node) (*cloudprovider.InstanceMetadata, error) {
			calls.Add(1)
			time.Sleep(100 * time.Second) // It does not look at its context.
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
			t.Errorf("three callers were kept for %v, want all to be let go after the patience of one", took)
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

func TestGoroutineThatTheProviderEndsIsAnError(t *testing.T) {
	v := vendor{v2: metadata(func(context.Context, *corev1.Node) (*cloudprovider.InstanceMetadata, error) {
		runtime.Goexit()
		return nil, nil
	})}
	if _, err := gateway(t, v, Config{}).Instances().Metadata(t.Context(), node("n")); KindOf(err) != Panicked {
		t.Errorf("kind = %v of %v, want %v", KindOf(err), err, Panicked)
	}
}

func TestThreePanicsAskForARestart(t *testing.T) {
	v := vendor{v2: metadata(func(context.Context, *corev1.Node) (*cloudprovider.InstanceMetadata, error) { panic("lost a map") })}
	g := gateway(t, v, Config{})
	for n := range 3 {
		select {
		case err := <-g.RestartNeeded():
			t.Fatalf("restart after %d panics: %v", n, err)
		default:
		}
		if _, err := g.Instances().Metadata(t.Context(), node("n")); KindOf(err) != Panicked || !strings.Contains(err.Error(), "lost a map") {
			t.Errorf("error = %v, want the panic", err)
		}
	}
	select {
	case err := <-g.RestartNeeded():
		t.Log(err)
	default:
		t.Error("no restart after three panics")
	}
}

func TestHangAfterAPanicAsksForARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		calls := 0
		v := vendor{v2: metadata(func(context.Context, *corev1.Node) (*cloudprovider.InstanceMetadata, error) {
			if calls++; calls == 1 {
				panic("with the lock taken")
			}
			<-release
			return &cloudprovider.InstanceMetadata{}, nil
		})}
		g := gateway(t, v, Config{ReadTimeout: time.Minute})
		for range 2 {
			_, _ = g.Instances().Metadata(t.Context(), node("n"))
		}
		select {
		case err := <-g.RestartNeeded():
			t.Errorf("restart before the deadline: %v", err)
		default:
		}
		select {
		case err := <-g.RestartNeeded():
			t.Log(err)
		case <-time.After(2 * time.Minute):
			t.Error("no restart although a call hangs after a panic")
		}
		close(release)
	})
}

func TestHangAloneAsksForNoRestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		v := vendor{v2: metadata(func(context.Context, *corev1.Node) (*cloudprovider.InstanceMetadata, error) {
			<-release
			return &cloudprovider.InstanceMetadata{}, nil
		})}
		g := gateway(t, v, Config{ReadTimeout: time.Minute})
		_, _ = g.Instances().Metadata(t.Context(), node("n"))
		time.Sleep(time.Hour)
		select {
		case err := <-g.RestartNeeded():
			t.Errorf("restart for a hang: %v", err)
		default:
		}
		close(release)
	})
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

func TestOlderInterfaces(t *testing.T) {
	failing := func(calls ...string) map[string]error {
		errs := map[string]error{}
		for _, call := range calls {
			errs[call] = errors.New("no")
		}
		return errs
	}
	for _, tt := range []struct {
		name       string
		providerID string
		errs       map[string]error
		calls      []string
		want       Metadata
		kind       Kind
	}{
		{
			name: "NodeWithProviderIDIsThreeCalls", providerID: "p://i-1",
			calls: []string{"NodeAddressesByProviderID", "InstanceTypeByProviderID", "GetZoneByProviderID"},
			want:  Metadata{ProviderID: "p://i-1", Type: "small", Zone: "z1", Region: "r1", Addresses: []corev1.NodeAddress{{Type: corev1.NodeHostName, Address: "p://i-1"}}},
		},
		{
			name:  "NodeWithoutProviderIDIsFourCalls",
			calls: []string{"InstanceID", "NodeAddressesByProviderID", "InstanceTypeByProviderID", "GetZoneByProviderID"},
			want:  Metadata{ProviderID: "p://i-1", Type: "small", Zone: "z1", Region: "r1", Addresses: []corev1.NodeAddress{{Type: corev1.NodeHostName, Address: "p://i-1"}}},
		},
		{
			name: "ErrorByProviderIDIsAskedByName", providerID: "p://i-1",
			errs:  failing("NodeAddressesByProviderID", "InstanceTypeByProviderID", "GetZoneByProviderID"),
			calls: []string{"NodeAddressesByProviderID", "NodeAddresses", "InstanceTypeByProviderID", "InstanceType", "GetZoneByProviderID", "GetZoneByNodeName"},
			want:  Metadata{ProviderID: "p://i-1", Type: "byname", Zone: "byname", Region: "r1", Addresses: []corev1.NodeAddress{{Type: corev1.NodeHostName, Address: "byname"}}},
		},
		{
			name:  "ProviderWithoutInstanceIDIsNameless",
			errs:  map[string]error{"InstanceID": fmt.Errorf("a: %w", cloudprovider.NotImplemented)},
			calls: []string{"InstanceID", "NodeAddressesByProviderID", "InstanceTypeByProviderID", "GetZoneByProviderID"},
			want:  Metadata{Nameless: true, Type: "small", Zone: "z1", Region: "r1", Addresses: []corev1.NodeAddress{{Type: corev1.NodeHostName}}},
		},
		{name: "UnknownInstanceIsNotFound", errs: map[string]error{"InstanceID": cloudprovider.InstanceNotFound}, calls: []string{"InstanceID"}, kind: NotFound},
		{
			name: "BothWaysFailing", providerID: "p://i-1", errs: failing("NodeAddressesByProviderID", "NodeAddresses"),
			calls: []string{"NodeAddressesByProviderID", "NodeAddresses"}, kind: Failed,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			old := &oldVendor{errs: tt.errs}
			n := node("n")
			n.Spec.ProviderID = tt.providerID
			got, err := gateway(t, vendor{v1: old, zones: old}, Config{}).Instances().Metadata(t.Context(), n)
			if diff := cmp.Diff(tt.calls, old.calls); diff != "" {
				t.Errorf("calls (-want +got):\n%s", diff)
			}
			if tt.kind != "" {
				if KindOf(err) != tt.kind {
					t.Errorf("kind = %v of %v, want %v", KindOf(err), err, tt.kind)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("metadata (-want +got):\n%s", diff)
			}
		})
	}
}

func TestNewerInterfaceWinsAndZonesAreNotAsked(t *testing.T) {
	old := &oldVendor{}
	v := vendor{v1: old, zones: old, v2: metadata(func(context.Context, *corev1.Node) (*cloudprovider.InstanceMetadata, error) {
		return &cloudprovider.InstanceMetadata{ProviderID: "p://2"}, nil
	})}
	got, err := gateway(t, v, Config{}).Instances().Metadata(t.Context(), node("n"))
	if err != nil || got.ProviderID != "p://2" || len(old.calls) != 0 {
		t.Errorf("metadata = %+v, %v with calls %v of the older interfaces", got, err, old.calls)
	}
}

func TestOlderProviderWithoutZones(t *testing.T) {
	got, err := gateway(t, vendor{v1: &oldVendor{}}, Config{}).Instances().Metadata(t.Context(), node("n"))
	if err != nil || got.Zone != "" || got.Type != "small" {
		t.Errorf("metadata = %+v, %v, want a type and no zone", got, err)
	}
}

// batching is a newer interface that answers for many nodes.
type batching struct {
	metadata
	answer func(nodes []*corev1.Node) ([]provider.InstanceMetadataAnswer, error)
}

func (b batching) InstanceMetadataBatch(_ context.Context, nodes []*corev1.Node) ([]provider.InstanceMetadataAnswer, error) {
	return b.answer(nodes)
}
func (batching) MaxInstanceMetadataBatch() int { return 2 }

func TestRefreshAsksInBatchesWhereTheProviderCan(t *testing.T) {
	nodes := []*corev1.Node{node("a"), node("b")}
	refresh := func(answer func(nodes []*corev1.Node) ([]provider.InstanceMetadataAnswer, error)) []Answer {
		i := gateway(t, vendor{v2: batching{answer: answer}}, Config{}).Instances()
		if i.BatchSize() != 2 {
			t.Errorf("batch size %d, want the provider's", i.BatchSize())
		}
		return i.Refresh(t.Context(), nodes)
	}
	got := refresh(func(nodes []*corev1.Node) ([]provider.InstanceMetadataAnswer, error) {
		return []provider.InstanceMetadataAnswer{{Metadata: &cloudprovider.InstanceMetadata{ProviderID: nodes[0].Name}}, {Err: cloudprovider.InstanceNotFound}}, nil
	})
	if len(got) != 2 || got[0].Metadata.ProviderID != "a" || got[0].Err != nil || KindOf(got[1].Err) != NotFound {
		t.Errorf("answers = %+v, want one for each node", got)
	}
	for name, answer := range map[string]func([]*corev1.Node) ([]provider.InstanceMetadataAnswer, error){
		"ThereIsNoAnswerAtAll": func([]*corev1.Node) ([]provider.InstanceMetadataAnswer, error) { return nil, httpError(503) },
		"AnswersAreAllNil": func([]*corev1.Node) ([]provider.InstanceMetadataAnswer, error) {
			return make([]provider.InstanceMetadataAnswer, 2), nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			for n, got := range refresh(answer) {
				if got.Err == nil {
					t.Errorf("node %d got an answer", n)
				}
			}
		})
	}
}

func TestNodesOfABatchThatFailsAreAskedForOneByOne(t *testing.T) {
	single := metadata(func(_ context.Context, n *corev1.Node) (*cloudprovider.InstanceMetadata, error) {
		if n.Name == "odd" {
			panic("cannot cope with it")
		}
		return &cloudprovider.InstanceMetadata{ProviderID: n.Name}, nil
	})
	for name, answer := range map[string]func([]*corev1.Node) ([]provider.InstanceMetadataAnswer, error){
		"TheCallFails": func([]*corev1.Node) ([]provider.InstanceMetadataAnswer, error) { return nil, errors.New("no") },
		"AnswersAreMissing": func([]*corev1.Node) ([]provider.InstanceMetadataAnswer, error) {
			return make([]provider.InstanceMetadataAnswer, 1), nil
		},
		"TheProviderPanicked": func([]*corev1.Node) ([]provider.InstanceMetadataAnswer, error) { panic("cannot cope with it") },
	} {
		t.Run(name, func(t *testing.T) {
			i := gateway(t, vendor{v2: batching{metadata: single, answer: answer}}, Config{}).Instances()
			got := i.Refresh(t.Context(), []*corev1.Node{node("odd"), node("even")})
			if KindOf(got[0].Err) != Panicked || got[1].Err != nil || got[1].Metadata.ProviderID != "even" {
				t.Errorf("answers = %+v, want that of the other node in spite of the odd one", got)
			}
		})
	}
}

// counting counts how often each accessor is asked. Those of existing
// providers build clients, or make something new each time.
type counting struct {
	vendor

	asked map[string]int
}

func (c counting) InstancesV2() (cloudprovider.InstancesV2, bool) {
	c.asked["InstancesV2"]++
	return c.vendor.InstancesV2()
}

func (c counting) LoadBalancer() (cloudprovider.LoadBalancer, bool) {
	c.asked["LoadBalancer"]++
	return c.vendor.LoadBalancer()
}

func (c counting) Routes() (cloudprovider.Routes, bool) {
	c.asked["Routes"]++
	return c.vendor.Routes()
}

func TestAccessorsAreAskedOnce(t *testing.T) {
	asked := map[string]int{}
	v := vendor{
		v2: metadata(func(context.Context, *corev1.Node) (*cloudprovider.InstanceMetadata, error) {
			return &cloudprovider.InstanceMetadata{}, nil
		}),
		balancer: balancer(func(context.Context, string, *corev1.Service, []*corev1.Node) (*corev1.LoadBalancerStatus, error) {
			return &corev1.LoadBalancerStatus{}, nil
		}),
	}
	g, err := wrap(counting{v, asked}).Open(t.Context(), Config{})
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if _, err := g.Instances().Metadata(t.Context(), node("n")); err != nil {
			t.Error(err)
		}
		if _, err := g.LoadBalancers().Ensure(t.Context(), service("s"), nil); err != nil {
			t.Error(err)
		}
	}
	if got := g.State(); got != "last answered 0s ago" {
		t.Errorf("the cloud %s", got)
	}
	if diff := cmp.Diff(map[string]int{"InstancesV2": 1, "LoadBalancer": 1, "Routes": 1}, asked); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
