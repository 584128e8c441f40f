package traffic

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"sync"

	"k8s.io/klog/v2"

	"github.com/fairlead-k8s/fairlead/simulator/wire"
)

// verdict is the result of all checks of a backend so far.
type verdict struct {
	health wire.BackendHealth
	why    string // why the backend is not healthy
	streak int    // number of successive results that contradict the verdict
}

// after returns the verdict after one more check.
func (v verdict) after(err error, c Checks) verdict {
	switch {
	case err == nil && v.health != wire.BackendUnhealthy:
		return verdict{health: wire.BackendHealthy}
	case err == nil:
		v.streak++
		if v.streak >= c.HealthyAfter {
			return verdict{health: wire.BackendHealthy}
		}
		return v
	case v.health == wire.BackendUnhealthy:
		return verdict{health: wire.BackendUnhealthy, why: err.Error()}
	}
	v.streak++
	if v.streak >= c.UnhealthyAfter {
		return verdict{health: wire.BackendUnhealthy, why: err.Error()}
	}
	if v.health == wire.BackendChecking {
		v.why = err.Error()
	}
	return v
}

// probeTarget is the target of a check. If it has no path, the check only opens
// a TCP connection.
type probeTarget struct {
	at   netip.AddrPort
	path string
}

// probe checks one target until it is stopped.
type probe struct {
	plane  *Plane
	target probeTarget
	logger klog.Logger
	stop   context.CancelFunc
	http   *http.Client

	mu      sync.Mutex
	verdict verdict // guarded by mu
}

func (p *Plane) startProbe(balancer string, target probeTarget) *probe {
	ctx, stop := context.WithCancel(p.life)
	probe := &probe{
		plane:   p,
		target:  target,
		logger:  klog.FromContext(ctx).WithValues("loadBalancer", balancer, "backend", target.at),
		stop:    stop,
		verdict: verdict{health: wire.BackendChecking, why: "it has not answered a health check yet"},
		http: &http.Client{
			// A check uses no proxy, and always a new connection.
			Transport:     &http.Transport{DisableKeepAlives: true, DialContext: (&net.Dialer{}).DialContext},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}
	p.running.Go(func() { probe.run(ctx) })
	return probe
}

func (p *probe) state() (wire.BackendHealth, string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.verdict.health, p.verdict.why
}

func (p *probe) run(ctx context.Context) {
	for {
		err := p.check(ctx)
		if ctx.Err() != nil {
			return
		}
		p.judge(err)
		pause := p.plane.clock.NewTimer(p.plane.checks.Interval)
		select {
		case <-pause.C():
		case <-ctx.Done():
			pause.Stop()
			return
		}
	}
}

func (p *probe) judge(err error) {
	p.mu.Lock()
	before := p.verdict.health
	p.verdict = p.verdict.after(err, p.plane.checks)
	now, why := p.verdict.health, p.verdict.why
	p.mu.Unlock()
	if now != before {
		p.logger.Info("Health of a backend changed", "health", now, "why", why)
	}
}

// check returns nil if the target is healthy.
func (p *probe) check(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, p.plane.checks.Timeout)
	defer cancel()
	if p.target.path == "" {
		var dialer net.Dialer
		conn, err := dialer.DialContext(ctx, "tcp", p.target.at.String())
		if err != nil {
			return err
		}
		return conn.Close()
	}
	url := "http://" + p.target.at.String() + p.target.path
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	resp, err := p.http.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }() // only the status counts
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("GET %s answers %s", url, resp.Status)
	}
	// The body is read, because otherwise the connection would be reset.
	_, err = io.CopyN(io.Discard, resp.Body, maxHealthAnswer)
	if err == io.EOF { //nolint:errorlint // CopyN does not wrap io.EOF
		err = nil
	}
	return err
}

// maxHealthAnswer is the maximum number of bytes that are read from an answer.
const maxHealthAnswer = 64 << 10
