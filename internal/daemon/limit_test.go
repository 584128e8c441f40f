package daemon

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/component-base/metrics/testutil"
	"k8s.io/controller-manager/pkg/clientbuilder"

	"github.com/fairlead-k8s/fairlead/internal/cloud"
	"github.com/fairlead-k8s/fairlead/internal/daemon/provider/providertest"
)

func TestLimitIsTold(t *testing.T) {
	for name, tt := range map[string]struct {
		before, now cloud.LimitedBy
		want        []string
	}{
		"QuotaIsUsedUp":               {cloud.Unlimited, cloud.QuotaLimits, []string{"CloudCallsLimited"}},
		"FlagsLimit":                  {cloud.Unlimited, cloud.CeilingLimits, []string{"CloudCallsLimited"}},
		"OnlyComparisonsAreSlow":      {cloud.Unlimited, cloud.ShareLimits, []string{"CloudComparisonsSlowed"}},
		"OnlyComparisonsAreSlowStill": {cloud.QuotaLimits, cloud.ShareLimits, []string{"CloudCallsNotLimited", "CloudComparisonsSlowed"}},
		"CallsWaitToo":                {cloud.ShareLimits, cloud.QuotaLimits, []string{"CloudCallsLimited"}},
		"Over":                        {cloud.QuotaLimits, cloud.Unlimited, []string{"CloudCallsNotLimited"}},
		"ComparisonsAreAsBefore":      {cloud.ShareLimits, cloud.Unlimited, []string{"CloudCallsNotLimited"}},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, e := range limitEvents(tt.before, cloud.Limit{By: tt.now, Calls: "load balancers", PerSecond: 0.15}) {
				got = append(got, e.Reason)
				if tt.now == cloud.QuotaLimits && !strings.Contains(e.Message, "load balancers") {
					t.Errorf("the message %q does not name the calls", e.Message)
				}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("events (-want +got):\n%s", diff)
			}
		})
	}
}

// quick is a cloud that answers at once.
type quick struct{ cloudprovider.InstancesV2 }

func (quick) InstanceMetadata(context.Context, *corev1.Node) (*cloudprovider.InstanceMetadata, error) {
	return &cloudprovider.InstanceMetadata{}, nil
}

// eventServer is an API server that receives events. It is also the builder of its
// client.
type eventServer struct {
	clientbuilder.ControllerClientBuilder

	client *fake.Clientset
	answer func() error // to each write
	builds func() error // before a client is made

	mu     sync.Mutex
	writes []string // guarded by mu
}

func newEventServer() *eventServer {
	s := &eventServer{client: fake.NewClientset()}
	s.client.PrependReactor("*", "events", func(a clienttesting.Action) (bool, runtime.Object, error) {
		if a.GetVerb() == "list" {
			return false, nil, nil
		}
		s.mu.Lock()
		s.writes = append(s.writes, a.GetVerb())
		s.mu.Unlock()
		if s.answer != nil {
			if err := s.answer(); err != nil {
				return true, nil, err
			}
		}
		return false, nil, nil
	})
	return s
}

// Client is part of clientbuilder.ControllerClientBuilder.
func (s *eventServer) Client(string) (kubernetes.Interface, error) {
	if s.builds != nil {
		if err := s.builds(); err != nil {
			return nil, err
		}
	}
	return s.client, nil
}

func (s *eventServer) written() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.writes)
}

// events returns one line for each event, with its count and its object.
func (s *eventServer) events(t *testing.T) (all []string) {
	t.Helper()
	list, err := s.client.CoreV1().Events("").List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list.Items {
		all = append(all, e.InvolvedObject.Kind+" "+e.InvolvedObject.Name+" "+e.Reason+" "+strconv.Itoa(int(e.Count)))
	}
	slices.Sort(all)
	return all
}

// limited is a process that is allowed to begin one call to the cloud per second.
type limited struct {
	*Process

	server *eventServer
	wait   func() // waits until followLimit has ended its checks
	end    context.CancelFunc
	nodes  int
}

func newLimited(t *testing.T, server *eventServer) *limited {
	t.Helper()
	theirs := &providertest.Cloud{V2: quick{}}
	p, ctx := newTestProcess(t, theirs, nil)
	parse(t, p.Program)
	p.metrics = newControllerMetrics(p.Registry.MustRegister, p.Registry.CustomMustRegister)
	p.clients = clients{own: server} // With --use-service-account-credentials, there is no account for the other clients of the process itself.
	gateway, err := providertest.Made(t, theirs).Open(ctx, cloud.Config{Ceiling: cloud.Ceiling{PerSecond: 1}})
	if err != nil {
		t.Fatal(err)
	}
	p.gateway.Store(gateway)
	ctx, end := context.WithCancel(ctx)
	t.Cleanup(end)
	return &limited{Process: p, server: server, wait: p.followLimit(ctx, ctx), end: end}
}

// busy calls the cloud twice as often as is allowed. Then it calls the given function,
// and makes no more calls to the cloud until the limit is over.
func (l *limited) busy(t *testing.T, during func()) {
	t.Helper()
	const questions = 150
	for range questions {
		l.nodes++
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n" + strconv.Itoa(l.nodes)}}
		go func() { _, _ = l.gateway.Load().Instances().Metadata(t.Context(), node) }()
		time.Sleep(500 * time.Millisecond)
	}
	during()
	time.Sleep(questions*time.Second + 2*time.Minute)
}

// shown returns the value of the metric that shows whether calls wait for the
// ceiling.
func (l *limited) shown(t *testing.T) float64 {
	t.Helper()
	value, err := testutil.GetGaugeMetricValue(l.metrics.limited.WithLabelValues(string(cloud.CeilingLimits)))
	if err != nil {
		t.Fatal(err)
	}
	return value
}

// A lasting limit causes one event on the Lease, and its end causes another. Nothing
// is written in between.
func TestLimitIsOneEventAndItsEndAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLimited(t, newEventServer())
		for period := 1; period <= 2; period++ {
			l.busy(t, func() {
				if n := l.server.written(); n != 2*period-1 || l.shown(t) != 1 {
					t.Errorf("period %d: %d writes and the metric %v while calls wait, want %d and 1", period, n, l.shown(t), 2*period-1)
				}
			})
			if n := l.server.written(); n != 2*period || l.shown(t) != 0 {
				t.Errorf("period %d: %d writes and the metric %v afterwards, want %d and 0", period, n, l.shown(t), 2*period)
			}
		}
		time.Sleep(time.Hour)
		lease := "Lease " + l.Settings.Election.Lease().Name
		want := []string{lease + " CloudCallsLimited 2", lease + " CloudCallsNotLimited 2"}
		if diff := cmp.Diff(want, l.server.events(t)); diff != "" || l.server.written() != 4 {
			t.Errorf("%d writes, -want +got:\n%s", l.server.written(), diff)
		}
		l.end()
		l.wait()
	})
}

// Calls that wait only for a moment cause no event.
func TestShortLimitIsNoEvent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLimited(t, newEventServer())
		for n := range 5 {
			go func() {
				_, _ = l.gateway.Load().Instances().Metadata(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n" + strconv.Itoa(n)}})
			}()
		}
		time.Sleep(time.Hour)
		if n := l.server.written(); n != 0 {
			t.Errorf("%d writes for calls that have waited for 5 s", n)
		}
		l.end()
		l.wait()
	})
}

// An API server that refuses events or does not answer causes no delay. The metric
// still changes, and the process still ends at once.
func TestLimitWithAnAPIServerThatFails(t *testing.T) {
	refused := apierrors.NewForbidden(corev1.Resource("events"), "", errors.New("no"))
	for _, tt := range []struct {
		name   string
		set    func(s *eventServer, frozen chan struct{})
		writes int // attempts to write in two periods
		events []string
	}{
		{"Refuses", func(s *eventServer, _ chan struct{}) { s.answer = func() error { return refused } }, 4, nil},
		{"Freezes", func(s *eventServer, frozen chan struct{}) {
			s.answer = func() error {
				<-frozen
				return nil
			}
		}, 1, nil},
		{"FirstClientFails", func(s *eventServer, _ chan struct{}) {
			var made atomic.Int32
			s.builds = func() error {
				if made.Add(1) == 1 {
					return errors.New("no service account yet")
				}
				return nil
			}
		}, 3, []string{"CloudCallsLimited 1", "CloudCallsNotLimited 2"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server, frozen := newEventServer(), make(chan struct{})
				tt.set(server, frozen)
				l := newLimited(t, server)
				for period := 1; period <= 2; period++ {
					l.busy(t, func() {
						if l.shown(t) != 1 {
							t.Errorf("period %d: the metric is %v while calls wait", period, l.shown(t))
						}
					})
					if l.shown(t) != 0 {
						t.Errorf("period %d: the metric is %v afterwards", period, l.shown(t))
					}
				}
				l.end()
				began := time.Now()
				l.wait()
				if took := time.Since(began); took > 0 {
					t.Errorf("the end took %v", took)
				}
				writes := server.written()
				close(frozen)
				synctest.Wait()
				got := server.events(t)
				for n := range got {
					got[n] = strings.TrimPrefix(got[n], "Lease "+l.Settings.Election.Lease().Name+" ")
				}
				if tt.name == "Freezes" {
					got = nil // Events in the recorder's queue may or may not be written.
				}
				if diff := cmp.Diff(tt.events, got); diff != "" || writes != tt.writes {
					t.Errorf("%d writes, want %d; -want +got:\n%s", writes, tt.writes, diff)
				}
			})
		})
	}
}
