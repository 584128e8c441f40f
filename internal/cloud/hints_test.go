package cloud

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/fairlead-k8s/fairlead/provider"
)

// hinting is an InstancesV2 that can also list instances and watch them.
type hinting struct {
	metadata
	list  func(token string) (provider.InstancePage, error)
	watch func(ctx context.Context, token string) (provider.InstanceChanges, error)
}

func (h hinting) ListInstances(_ context.Context, token string) (provider.InstancePage, error) {
	return h.list(token)
}

func (h hinting) WatchInstances(ctx context.Context, token string) (provider.InstanceChanges, error) {
	return h.watch(ctx, token)
}

func nothing(context.Context, *corev1.Node) (*cloudprovider.InstanceMetadata, error) { return nil, nil }

func TestProviderWithoutFastPaths(t *testing.T) {
	i := gateway(t, vendor{v2: metadata(nothing)}, Config{}).Instances()
	if i.Lister() != nil || i.Watcher() != nil {
		t.Error("a list or a watch is there that the provider does not offer")
	}
}

func TestPageOfAList(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		now := time.Now()
		theirs := provider.InstancePage{Instances: []cloudprovider.InstanceMetadata{{ProviderID: "p://1", AdditionalLabels: map[string]string{"a": "1"}}, {}}, Next: "2"}
		var asked []string
		l := gateway(t, vendor{v2: hinting{metadata: nothing, list: func(token string) (provider.InstancePage, error) {
			asked = append(asked, token)
			return theirs, nil
		}}}, Config{}).Instances().Lister()
		for _, tt := range []struct{ theirs, want time.Time }{
			{time.Time{}, now},
			{now.Add(-time.Minute), now.Add(-time.Minute)},
			{now.Add(time.Hour), now}, // The provider's clock is wrong.
		} {
			theirs.AsOf = tt.theirs
			got, err := l.Page(t.Context(), "1")
			if err != nil {
				t.Fatal(err)
			}
			want := Page{Instances: []Metadata{{ProviderID: "p://1", Labels: map[string]string{"a": "1"}}}, Next: "2", AsOf: tt.want}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("page as of %v (-want +got):\n%s", tt.theirs, diff)
			}
			got.Instances[0].Labels["a"] = "changed"
		}
		if diff := cmp.Diff([]string{"1", "1", "1"}, asked); diff != "" {
			t.Errorf("tokens (-want +got):\n%s", diff)
		}
	})
}

// step describes one call of a watch, and the expected state after the call.
type step struct {
	answer provider.InstanceChanges
	err    error
	does   func(context.Context) // called before the call returns
	token  string                // the token that the call must get
	works  bool
	state  string // a part of the gateway's State
}

func TestWatch(t *testing.T) {
	next := func(n int) provider.InstanceChanges { return provider.InstanceChanges{Resume: strconv.Itoa(n)} }
	broken := errors.New("no")
	for name, steps := range map[string][]step{
		"GoesOnAfterItsLastAnswer": {
			{answer: next(1), works: true, state: "works"}, {answer: next(2), token: "1", works: true}, {answer: next(3), token: "2", works: true},
		},
		"FailureLosesNoPlace": {
			{answer: next(1), works: true}, {err: broken, token: "1", state: "has failed"}, {answer: next(2), token: "1", works: true, state: "works"},
		},
		"ThirdFailureBeginsAnew": {
			{answer: next(1), works: true}, {err: broken, token: "1"}, {err: broken, token: "1"}, {err: broken, token: "1"}, {err: broken}, {answer: next(9), works: true},
		},
		"LostPlaceBeginsAnew": {
			{answer: next(1), works: true}, {err: fmt.Errorf("since 1: %w", provider.ErrWatchExpired), token: "1", state: "not begun"}, {answer: next(9), works: true},
		},
		"SilenceIsAFailure": {
			{does: func(ctx context.Context) { <-ctx.Done() }, err: context.DeadlineExceeded, state: "has failed"},
		},
		"HangIsAFailure": {
			{does: func(context.Context) { time.Sleep(time.Hour) }, answer: next(1), state: "has failed"},
		},
		"PanicIsAFailure": {
			{does: func(context.Context) { panic("no") }, state: "has failed (Panicked"},
		},
		"AnswerWithoutATokenIsAFailure": {
			{state: "has failed"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { checkWatch(t, steps) })
		})
	}
}

func checkWatch(t *testing.T, steps []step) {
	t.Helper()
	var now step
	g := gateway(t, vendor{v2: hinting{metadata: nothing, watch: func(ctx context.Context, token string) (provider.InstanceChanges, error) {
		if token != now.token {
			t.Errorf("the watch goes on with %q, want %q", token, now.token)
		}
		if now.does != nil {
			now.does(ctx)
		}
		return now.answer, now.err
	}}}, Config{})
	w := g.Instances().Watcher()
	var wantSince time.Time
	for n, s := range steps {
		now = s
		began := time.Now()
		switch drops := n+1 < len(steps) && steps[n+1].token == ""; {
		case s.works && s.token == "":
			wantSince = began
		case drops: // Without its token, the watch can miss changes.
			wantSince = time.Time{}
		}
		_, err := w.Next(t.Context())
		if expired := errors.Is(s.err, provider.ErrWatchExpired); (err == nil) != (s.works || expired) {
			t.Errorf("call %d: %v", n, err)
		}
		since, works := w.Since()
		if !since.Equal(wantSince) {
			t.Errorf("after call %d it has missed nothing since %v, want %v", n, since, wantSince)
		}
		if works != s.works || !strings.Contains(g.State(), s.state) {
			t.Errorf("after call %d it works: %v, want %v; state %q, want %q in it", n, works, s.works, g.State(), s.state)
		}
		if took := time.Since(began); took > watchTimeout+grace {
			t.Errorf("call %d took %v", n, took)
		}
		time.Sleep(time.Second)
	}
	time.Sleep(2 * time.Hour)
}

func TestWatchHoldsNothingBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := gateway(t, vendor{v2: hinting{metadata: nothing, watch: func(context.Context, string) (provider.InstanceChanges, error) {
			time.Sleep(2 * time.Minute)
			return provider.InstanceChanges{Changed: []provider.InstanceRef{{ProviderID: "p://1"}, {NodeName: "n2"}, {}}, Resume: "1"}, nil
		}}}, Config{})
		go func() {
			time.Sleep(time.Minute)
			g.limiter.mu.Lock()
			defer g.limiter.mu.Unlock()
			if g.limiter.ceiling.underWay != 0 {
				t.Errorf("%d calls under way, want none but the watch, which does not count", g.limiter.ceiling.underWay)
			}
		}()
		got, err := g.Instances().Watcher().Next(t.Context())
		if err != nil || !cmp.Equal(got.ProviderIDs, []string{"p://1"}) || !cmp.Equal(got.NodeNames, []string{"n2"}) {
			t.Errorf("changes = %+v, %v", got, err)
		}
		g.limiter.mu.Lock()
		defer g.limiter.mu.Unlock()
		if usual := g.limiter.classOf(call{method: "WatchInstances"}, time.Now()).usual; usual != 0 {
			t.Errorf("calls usually take %v s, which is the time that the watch has waited", usual)
		}
	})
}

func TestWatchThatHasMissedAChangeIsNew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := gateway(t, vendor{v2: hinting{metadata: nothing, watch: func(context.Context, string) (provider.InstanceChanges, error) {
			return provider.InstanceChanges{Resume: "1"}, nil
		}}}, Config{})
		w := g.Instances().Watcher()
		if _, err := w.Next(t.Context()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		w.Missed(t.Context(), "n1")
		if since, works := w.Since(); !works || !since.Equal(time.Now()) || !strings.Contains(g.State(), "has not named a change") {
			t.Errorf("since %v, works %v, %q; want a watch that begins now", since, works, g.State())
		}
		w.Compared()
		if !strings.Contains(g.State(), "works") {
			t.Errorf("state %q after all nodes were compared", g.State())
		}
	})
}
