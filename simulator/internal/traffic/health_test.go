package traffic

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fairlead-k8s/fairlead/simulator/wire"
)

func TestVerdict(t *testing.T) {
	checks := Checks{HealthyAfter: 2, UnhealthyAfter: 3}
	for name, row := range map[string]struct{ answers, want string }{
		"NewOneNeedsOneSuccess":               {"+", "H"},
		"NewOneThatFailsIsNotJudgedAtOnce":    {"--", "CC"},
		"NewOneThatFailsIsUnhealthyInTheEnd":  {"---", "CCU"},
		"NewOneMayComeLate":                   {"--+", "CCH"},
		"FailuresInARowTakeOut":               {"+---", "HHHU"},
		"OneSuccessForgivesTheFailuresBefore": {"+--+--+--", "HHHHHHHHH"},
		"SuccessesInARowBringBack":            {"+---++", "HHHUUH"},
		"OneFailureForfeitsTheSuccesses":      {"+---+-+-++", "HHHUUUUUUH"},
		"BroughtBackItHasAllItsChancesAgain":  {"+---++--", "HHHUUHHH"},
	} {
		t.Run(name, func(t *testing.T) {
			v := verdict{health: wire.BackendChecking}
			var got strings.Builder
			for n, answer := range row.answers {
				var err error
				if answer == '-' {
					err = fmt.Errorf("answer %d", n)
				}
				v = v.after(err, checks)
				got.WriteString(strings.ToUpper(string(v.health)[:1]))
				if v.health == wire.BackendUnhealthy && err != nil && v.why != err.Error() {
					t.Errorf("after answer %d it says %q", n, v.why)
				}
				if (v.why == "") != (v.health == wire.BackendHealthy) {
					t.Errorf("after answer %d it is %s because of %q", n, v.health, v.why)
				}
			}
			diff(t, "health", row.want, got.String())
		})
	}
}

func TestBackendIsTakenOutAndBack(t *testing.T) {
	p := newPlane(t, Config{})
	a, b := newMachine(t, "a"), newMachine(t, "b")
	w := balancerOf(a, b)
	applyWell(t, p, w)
	old := []*visitor{}
	for range 2 {
		v, _ := mustVisit(t, w.at())
		old = append(old, v)
	}
	a.stop(t)
	awaitHealth(t, p, w.ID, func(h []wire.BackendHealth) bool { return h[0] == wire.BackendUnhealthy && h[1] == wire.BackendHealthy })
	for _, v := range old {
		if _, err := v.say("still there"); err != nil {
			t.Errorf("an open connection: %v", err)
		}
	}
	a.start(t)
	awaitHealth(t, p, w.ID, func(h []wire.BackendHealth) bool { return h[0] == wire.BackendHealthy })
}

func TestRemovedBackendIsNotCheckedAnyMore(t *testing.T) {
	p := newPlane(t, Config{})
	a, b := newMachine(t, "a"), newMachine(t, "b")
	w := balancerOf(a, b)
	applyWell(t, p, w)
	mustVisit(t, w.at())
	mustVisit(t, w.at())
	apply(t, p, w.with(b))
	mustVisit(t, netip.AddrPortFrom(a.address, nodePort).String()) // Once it is answered, a has counted all earlier connections.
	before, checksOfB := a.visits(), b.visits()
	await(t, "checks of the one that is left", func() (string, bool) { return "too few", b.visits() > checksOfB+20 })
	if n := a.visits() - before; n > 1 {
		t.Errorf("the one that was removed was checked %d times more", n)
	}
	applyWell(t, p, w)
	diff(t, "connections of a backend that was removed and added again", int64(0), report(t, p, w.ID).Backends[0].Connections)
}

// nodeHealth serves health checks as kube-proxy does for externalTrafficPolicy Local, and
// answers with the given HTTP status. It returns the port.
func nodeHealth(t *testing.T, at netip.Addr, status *atomic.Int64) uint16 {
	t.Helper()
	const port = 31999
	var config net.ListenConfig
	listener, err := config.Listen(t.Context(), "tcp4", netip.AddrPortFrom(at, port).String())
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{
		ReadHeaderTimeout: time.Minute,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/healthz" {
				t.Errorf("asked for %s", r.URL.Path)
			}
			if status.Load() == http.StatusFound {
				w.Header().Set("Location", "http://"+r.Host+"/elsewhere")
			}
			w.WriteHeader(int(status.Load()))
		}),
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	t.Cleanup(func() {
		closeIt(t, server)
		if err := <-served; !errors.Is(err, http.ErrServerClosed) {
			t.Error(err)
		}
	})
	return port
}

func TestHealthByHTTP(t *testing.T) {
	p := newPlane(t, Config{})
	a, b := newMachine(t, "a"), newMachine(t, "b")
	var ofA, ofB atomic.Int64
	ofA.Store(200)
	ofB.Store(503)
	w := balancerOf(a, b)
	w.Listeners = append(w.Listeners, Listener{wire.UDP, servicePort, nodePort})
	w.Check = Check{Port: nodeHealth(t, a.address, &ofA), Path: "/healthz"}
	nodeHealth(t, b.address, &ofB)
	apply(t, p, w)
	awaitHealth(t, p, w.ID, func(h []wire.BackendHealth) bool { return h[0] == wire.BackendHealthy && h[1] == wire.BackendUnhealthy })
	if why := report(t, p, w.ID).Backends[1].Why; !strings.HasSuffix(why, "answers 503 Service Unavailable") {
		t.Errorf("why: %s", why)
	}
	for range 3 {
		_, name := mustVisit(t, w.at())
		diff(t, "connections go only to nodes with endpoints", "a", name)
	}
	ofB.Store(http.StatusFound)
	ofA.Store(http.StatusInternalServerError)
	awaitHealth(t, p, w.ID, func(h []wire.BackendHealth) bool {
		return h[0] == wire.BackendUnhealthy && h[1] == wire.BackendUnhealthy
	})
	mustBeTurnedAway(t, w.at())
	ofB.Store(200)
	awaitHealth(t, p, w.ID, func(h []wire.BackendHealth) bool { return h[1] == wire.BackendHealthy })
	_, name := mustVisit(t, w.at())
	diff(t, "answered by", "b", name)
}

// The health of a backend is checked at the port of each listener. The report has the
// worst of the results.
func TestHealthOfEachListener(t *testing.T) {
	p := newPlane(t, Config{})
	a := newMachine(t, "a")
	w := balancerOf(a)
	applyWell(t, p, w) // later the report hides the health at this port
	w.Listeners = append(w.Listeners, Listener{wire.TCP, servicePort + 1, nodePort + 1})
	apply(t, p, w)
	awaitHealth(t, p, w.ID, func(h []wire.BackendHealth) bool { return h[0] == wire.BackendUnhealthy })
	_, name := mustVisit(t, w.at())
	diff(t, "the port that is served", "a", name)
	mustBeTurnedAway(t, netip.AddrPortFrom(w.Address, servicePort+1).String())
}

func TestChecks(t *testing.T) {
	diff(t, "defaults", Checks{time.Second, time.Second, 2, 3}, Checks{}.completed())
	diff(t, "no defaults", quick(), quick().completed())
	for _, c := range []Checks{{Interval: -1}, {Timeout: -1}, {HealthyAfter: -1}, {UnhealthyAfter: -1}} {
		if c.Check() == nil {
			t.Errorf("%+v was accepted", c)
		}
	}
	if err := quick().Check(); err != nil {
		t.Error(err)
	}
}
