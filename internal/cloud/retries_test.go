package cloud

import (
	"context"
	"errors"
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/fairlead-k8s/fairlead/provider"
)

func TestPauseOfADayIsBoundedForEachObject(t *testing.T) {
	for _, kind := range []provider.ErrorKind{provider.Throttled, provider.Unavailable, provider.Conflict} {
		synctest.Test(t, func(t *testing.T) {
			v := classifying{vendor{balancer: balancer(func(context.Context, string, *corev1.Service, []*corev1.Node) (*corev1.LoadBalancerStatus, error) {
				return nil, errors.New("E1234")
			})}, func(error) provider.Classification {
				return provider.Classification{Kind: kind, RetryAfter: 24 * time.Hour}
			}}
			_, err := gateway(t, v, Config{}).LoadBalancers().Ensure(t.Context(), service("s"), nil)
			if KindOf(err) != Kind(kind) || RetryAfter(err) != longestAsked {
				t.Errorf("kind %v, pause %v, want %v and %v", KindOf(err), RetryAfter(err), kind, longestAsked)
			}
		})
	}
}

// While the cloud refuses everything, calls become rare. That is true even if the
// provider's SDK retries each call itself.
func TestRefusedCallsAreNotMultiplied(t *testing.T) {
	for _, tt := range []struct {
		name   string
		inside int // tries of the SDK for each call
		most   int32
	}{
		{"ProviderThatTriesOnce", 1, 16 + 3*16},
		{"ProviderThatTriesSixTimes", 6, 6*16 + 6*16},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				var requests atomic.Int32
				g := gateway(t, vendor{v2: metadata(func(context.Context, *corev1.Node) (*cloudprovider.InstanceMetadata, error) {
					for try := range tt.inside {
						requests.Add(1)
						time.Sleep(30*time.Millisecond + time.Duration(min(try, 1))*time.Second)
					}
					return nil, httpError(http.StatusTooManyRequests)
				})}, Config{})
				time.AfterFunc(time.Minute, cancel)
				storm{16, 16, func(n int) error {
					if err := askAbout(ctx, g, n); KindOf(err) != Canceled {
						return err
					}
					return nil // The minute is over.
				}}.run()
				t.Logf("%d requests for 16 Nodes in a minute", requests.Load())
				if n := requests.Load(); n > tt.most {
					t.Errorf("%d requests for 16 Nodes in a minute, want at most %d", n, tt.most)
				}
			})
		})
	}
}

func TestObjectThatIsRefusedInWordsWaitsAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls []time.Duration
		start := time.Now()
		g := gateway(t, vendor{v2: metadata(func(_ context.Context, n *corev1.Node) (*cloudprovider.InstanceMetadata, error) {
			if n.Name == "refused" {
				calls = append(calls, time.Since(start))
				return nil, errors.New("request throttled")
			}
			return &cloudprovider.InstanceMetadata{}, nil
		})}, Config{})
		if _, err := g.Instances().Metadata(t.Context(), node("refused")); KindOf(err) != Throttled {
			t.Errorf("kind %v of %v", KindOf(err), err)
		}
		if len(calls) != maxTries || calls[maxTries-1] != 15*time.Second {
			t.Errorf("calls after %v, want %d with growing pauses", calls, maxTries)
		}
		if got := limitOf(g, "InstanceMetadata"); got != 0 {
			t.Errorf("rate %v, want no limit for others", got)
		}
	})
}

// Which calls are made again, and after which pause. The usual call takes 100 ms.
func TestCallsThatAreMadeAgain(t *testing.T) {
	refused := &Error{Kind: Throttled, Evidence: Typed}
	for _, tt := range []struct {
		name  string
		class class
		tried tried
		want  bool
		after time.Duration
	}{
		{"Answered", class{}, tried{try: 1}, false, 0},
		{"Unavailable", class{}, tried{try: 1, err: &Error{Kind: Unavailable}}, false, 0},
		{"ParkedQuestion", class{}, tried{try: 1, err: &Error{parked: true}}, true, 0},
		{"ParkedChange", class{}, tried{try: 1, err: &Error{parked: true}, call: call{change: true}}, false, 0},
		{"RefusedObjectWaitsLonger", class{}, tried{try: 3, err: refused}, true, 4 * time.Second},
		{"RefusedFiveTimes", class{}, tried{try: maxTries, err: refused}, false, 0},
		{"ErrorsOfEachObject", class{}, tried{try: 1, err: &Error{Kind: Throttled, each: true}}, false, 0},
		{"CloudAsksForAPause", class{}, tried{try: 1, err: &Error{Kind: Throttled, RetryAfter: 30 * time.Second}}, true, 30 * time.Second},
		{"CloudAsksForALongPause", class{}, tried{try: 1, err: &Error{Kind: Throttled, RetryAfter: 31 * time.Second}}, false, 0},
		{"RefusedWhileTheClassIsLimited", class{rate: rate{perSecond: 1}}, tried{try: 1, err: refused}, true, 0},
		{"ProviderHasProbablyTriedItself", class{rate: rate{perSecond: 1}}, tried{try: 1, err: refused, took: 2 * time.Second}, false, 0},
		{"CallsAreAlwaysSlow", class{usual: 1, rate: rate{perSecond: 1}}, tried{try: 1, err: refused, took: 2 * time.Second}, true, 0},
		{"Unreadable", class{}, tried{try: 1, err: &Error{Kind: Failed}}, false, slow},
		{"UnreadableWhileTheClassIsLimited", class{rate: rate{perSecond: 1}}, tried{try: 1, err: &Error{Kind: Failed}}, true, 0},
		{"UnreadableInAHoldOfSuchErrors", class{hold: hold{opened: at(0), kind: Unavailable, unread: true}}, tried{try: 1, err: &Error{Kind: Failed}}, true, 0},
		{"UnreadableInAHoldOfOtherErrors", class{hold: hold{opened: at(0), kind: Unavailable}}, tried{try: 1, err: &Error{Kind: Failed}}, false, slow},
	} {
		synctest.Test(t, func(t *testing.T) {
			g := &Gateway{}
			if tt.class.usual == 0 {
				tt.class.usual = 0.1
			}
			tt.tried.class, tt.tried.progress = &tt.class, &progress{}
			start := time.Now()
			if got := g.retries(t.Context(), tt.tried); got != tt.want || time.Since(start) != tt.after {
				t.Errorf("%s: made again: %v after %v, want %v after %v", tt.name, got, time.Since(start), tt.want, tt.after)
			}
			if waits := KindOf(tt.tried.err) == Throttled && tt.after > 0; waits != (tt.tried.progress.get() != nil) {
				t.Errorf("%s: a caller that gives up gets %v, want the error of the last call: %v", tt.name, tt.tried.progress.get(), waits)
			}
		})
	}
}
