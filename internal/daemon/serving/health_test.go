package serving

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apiserver/pkg/server/healthz"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"
)

// reachable is a check of the API server that always succeeds.
type reachable struct{}

func (reachable) Name() string { return "api-server" }

func (reachable) Check(*http.Request) error { return nil }

func get(h http.Handler, path string) (int, string) {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequestWithContext(context.Background(), http.MethodGet, path, nil))
	return w.Code, w.Body.String()
}

// elects changes the sources to those of a process that takes part in an election.
func elects(s *Sources, contending bool) {
	s.Leases = []healthz.HealthChecker{leaderelection.NewLeaderHealthzAdaptor(time.Second)}
	s.Contending = func() bool { return contending }
}

func TestHealth(t *testing.T) {
	standby := func(_ *testing.T, s *Sources) *Health {
		elects(s, true)
		return NewHealth(*s)
	}
	working := func(t *testing.T, s *Sources) *Health {
		h := standby(t, s)
		h.Add("cloud-node-controller", func() error { return nil })
		return h
	}
	for _, tc := range []struct {
		name   string
		health func(*testing.T, *Sources) *Health
		path   string
		status int
		body   string
	}{
		{"StandbyShowsItsLease", standby, "/healthz?verbose", 200, "[+]leaderElection ok\nhealthz check passed\n"},
		{"LeaderShowsItsControllers", working, "/healthz?verbose", 200, "[+]leaderElection ok\n[+]cloud-node-controller ok\nhealthz check passed\n"},
		{"ShortAnswer", working, "/healthz", 200, "ok"},
		{"ChecksCanBeExcluded", working, "/healthz?verbose&exclude=leaderElection", 200, "[+]leaderElection excluded: ok\n[+]cloud-node-controller ok\nhealthz check passed\n"},
		{"WithoutElectionAPing", func(_ *testing.T, s *Sources) *Health { return NewHealth(*s) }, "/healthz?verbose", 200, "[+]ping ok\nhealthz check passed\n"},
		{"LiveIsLeaseAndWorkers", working, "/livez?verbose", 200, "[+]leaderElection ok\n[+]cloud-node-controller ok\nlivez check passed\n"},
		{"StuckWorkersAreNotLive", func(t *testing.T, s *Sources) *Health {
			h := standby(t, s)
			h.Add("cloud-node-controller", func() error { return errors.New("stuck") })
			return h
		}, "/livez", 500, "[+]leaderElection ok\n[-]cloud-node-controller failed: reason withheld\nlivez check failed\n"},
		{"StuckWorkersDoNotFailHealthz", func(t *testing.T, s *Sources) *Health {
			h := standby(t, s)
			h.Add("cloud-node-controller", func() error { return errors.New("stuck") })
			return h
		}, "/healthz", 200, "ok"},
		{"StandbyIsReady", standby, "/readyz?verbose", 200, "[+]shutdown ok\n[+]api-server ok\n[+]informer-sync ok\n[+]cloud-provider ok\n[+]leader-or-standby ok\nreadyz check passed\n"},
		{"NotesAreShownAndFailNothing", func(t *testing.T, s *Sources) *Health {
			s.Notes = []Note{{"cloud", func() string { return "is unreachable" }}}
			return standby(t, s)
		}, "/livez?verbose", 200, "[+]leaderElection ok\nlivez check passed\n[i]cloud: is unreachable\n"},
		{"NotesAreShownIfAskedFor", func(t *testing.T, s *Sources) *Health {
			s.Notes = []Note{{"cloud", func() string { return "is unreachable" }}}
			return standby(t, s)
		}, "/readyz", 200, "ok"},
		{"NotReadyBeforeTheLeaseIsRead", func(_ *testing.T, s *Sources) *Health {
			elects(s, false)
			return NewHealth(*s)
		}, "/readyz", 500, "[+]shutdown ok\n[+]api-server ok\n[+]informer-sync ok\n[+]cloud-provider ok\n[-]leader-or-standby failed: reason withheld\nreadyz check failed\n"},
		{"NotReadyWhileTheAPIServerIsUnreachable", func(t *testing.T, s *Sources) *Health {
			s.APIServer = healthz.NamedCheck("api-server", func(*http.Request) error { return errors.New("refused") })
			return standby(t, s)
		}, "/readyz", 500, "[+]shutdown ok\n[-]api-server failed: reason withheld\n[+]informer-sync ok\n[+]cloud-provider ok\n[+]leader-or-standby ok\nreadyz check failed\n"},
		{"NotReadyWhileInitializeRuns", func(t *testing.T, s *Sources) *Health {
			s.Initializing = func() bool { return true }
			return standby(t, s)
		}, "/readyz/cloud-provider", 500, "internal server error: the provider is still being initialised\n"},
		{"NotReadyWhileDraining", func(t *testing.T, s *Sources) *Health {
			stopped := make(chan struct{})
			close(stopped)
			s.Draining = stopped
			return standby(t, s)
		}, "/readyz/shutdown", 500, "internal server error: process is shutting down\n"},
		{"NotReadyBeforeTheCachesAreFull", func(t *testing.T, s *Sources) *Health {
			unreadable := kubernetes.NewForConfigOrDie(&rest.Config{Host: "http://127.0.0.1:1"})
			s.Informers = informers.NewSharedInformerFactory(unreadable, 0)
			s.Informers.Core().V1().Nodes().Informer()
			s.Informers.StartWithContext(t.Context())
			return standby(t, s)
		}, "/readyz/informer-sync", 500, "internal server error: 1 informers not started yet: [*v1.Node]\n"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			h := tc.health(t, &Sources{
				APIServer:    reachable{},
				Informers:    informers.NewSharedInformerFactory(fake.NewClientset(&corev1.Node{}), 0),
				Initializing: func() bool { return false },
			})
			status, body := get(h, tc.path)
			if status != tc.status {
				t.Errorf("got %d, want %d", status, tc.status)
			}
			if diff := cmp.Diff(tc.body, body); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestAPIServerIsAskedForItsHealth(t *testing.T) {
	for _, tc := range []struct {
		name   string
		status int
		ok     bool
	}{
		{"Well", http.StatusOK, true},
		{"NotAllowedToAskIsReached", http.StatusForbidden, true},
		{"UnknownToTheServer", http.StatusUnauthorized, false},
		{"Ill", http.StatusInternalServerError, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			asked := 0
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				asked++
				if r.URL.Path != "/healthz" {
					t.Errorf("asked for %s", r.URL.Path)
				}
				w.WriteHeader(tc.status)
			}))
			defer server.Close()
			client := kubernetes.NewForConfigOrDie(&rest.Config{Host: server.URL}).Discovery().RESTClient()
			now := clocktesting.NewFakePassiveClock(time.Unix(1e9, 0))
			check := NewAPIServerCheck(client, now)
			for range 3 {
				if err := check.Check(httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/readyz", nil)); (err == nil) != tc.ok {
					t.Errorf("got %v", err)
				}
			}
			if asked != 1 {
				t.Errorf("asked %d times in one interval", asked)
			}
			now.SetTime(now.Now().Add(apiServerInterval))
			_ = check.Check(httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/readyz", nil))
			if asked != 2 {
				t.Errorf("asked %d times in two intervals", asked)
			}
		})
	}
}

// hangs is a connection to an API server that never answers.
type hangs struct{}

func (hangs) RoundTrip(r *http.Request) (*http.Response, error) {
	<-r.Context().Done()
	return nil, r.Context().Err()
}

func TestAPIServerThatNeverAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := kubernetes.NewForConfigOrDie(&rest.Config{Host: "http://a", Transport: hangs{}}).Discovery().RESTClient()
		answered := make(chan error, 1)
		go func() {
			answered <- NewAPIServerCheck(client, clock.RealClock{}).Check(httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/readyz", nil))
		}()
		time.Sleep(apiServerTimeout)
		synctest.Wait()
		select {
		case err := <-answered:
			if err == nil {
				t.Error("the process is ready")
			}
		default:
			t.Fatal("the check still waits")
		}
	})
}
