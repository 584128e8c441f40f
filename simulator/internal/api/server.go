// Package api serves the simulated cloud's HTTP API. For each request, it
// applies the faults, carries the request out with package state, and writes the
// answer. The kinds of resources are in kinds.go. The other files are the same for all
// kinds.
//
// Package api imports all other internal packages of the simulator except
// traffic. Only package simulator imports it.
package api

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/fairlead-k8s/fairlead/simulator/internal/faults"
	"github.com/fairlead-k8s/fairlead/simulator/internal/forward"
	"github.com/fairlead-k8s/fairlead/simulator/internal/meter"
	"github.com/fairlead-k8s/fairlead/simulator/internal/state"
	"github.com/fairlead-k8s/fairlead/simulator/internal/view"
	"github.com/fairlead-k8s/fairlead/simulator/internal/web"
	"github.com/fairlead-k8s/fairlead/simulator/wire"
)

// Config configures a Server.
type Config struct {
	Clock clock.Clock
	// PageSize is the default and the maximum size of a page.
	PageSize  int
	Limits    state.Limits
	Store     *state.Store
	Faults    *faults.Set
	Forwarder *forward.Forwarder
	// AllowedHosts are additional host names, in lower case, that requests may
	// use. IP addresses and localhost are always allowed.
	AllowedHosts []string
	// Cluster describes the cluster that the page shows; nil if there is none.
	Cluster func(context.Context) (json.RawMessage, error)
}

// Server serves the cloud's API and its page. It is an http.Handler.
type Server struct {
	clock     clock.Clock
	pageSize  int
	store     *state.Store
	faults    *faults.Set
	forwarder *forward.Forwarder
	meter     *meter.Meter
	feed      *view.Feed
	handler   http.Handler

	allowedHosts []string
	cluster      func(context.Context) (json.RawMessage, error)
}

// New returns a server.
func New(config Config) *Server {
	s := &Server{
		clock:     config.Clock,
		pageSize:  config.PageSize,
		store:     config.Store,
		faults:    config.Faults,
		forwarder: config.Forwarder,
		meter:     meter.New(),

		allowedHosts: config.AllowedHosts,
		cluster:      config.Cluster,
	}
	s.feed = view.New(view.Config{
		Clock:       config.Clock,
		Cloud:       s.describe(config.Limits),
		Collections: s.collections(),
		Faults:      config.Faults,
		Meter:       s.meter,
	})
	s.handler = s.newHandler()
	return s
}

// describe returns the description of this cloud for its page.
func (s *Server) describe(limits state.Limits) view.Description {
	return view.Description{
		Started:          s.clock.Now(),
		PageSize:         s.pageSize,
		Traffic:          s.forwarder.Enabled(),
		Cluster:          s.cluster != nil,
		MaxLoadBalancers: limits.LoadBalancers,
		MaxBackends:      limits.Backends,
		MaxRoutes:        limits.Routes,
		UniqueRoutes:     limits.UniqueRoutes,
		FaultKinds:       faults.Describe(),
	}
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if why := refusedBrowser(r, s.allowedHosts); why != "" {
		write(w, r, reply{}, &wire.APIError{StatusCode: http.StatusForbidden, Code: wire.CodeForbidden, Message: why})
		return
	}
	s.handler.ServeHTTP(w, r)
}

// Watchers returns the number of watchers.
func (s *Server) Watchers() int { return s.feed.Watchers() }

// newHandler returns the handler of all paths. It serves the endpoints of each
// kind twice: to customers and to the operator.
func (s *Server) newHandler() http.Handler {
	mux := http.NewServeMux()
	for _, k := range s.kinds() {
		for _, e := range k.endpoints {
			mux.Handle(e.method+" "+wire.CustomerPath+e.path, s.forCustomer(k, e))
			mux.Handle(e.method+" "+wire.OperatorPath+e.path, s.forOperator(e.read))
		}
	}
	for pattern, read := range s.operatorEndpoints() {
		mux.Handle(pattern, s.forOperator(read))
	}
	if s.cluster != nil {
		mux.Handle("GET "+wire.OperatorPath+"/cluster", s.forOperator(s.readCluster))
	}
	mux.HandleFunc("GET "+wire.OperatorPath+"/watch", s.feed.ServeHTTP)
	page := web.Handler()
	mux.Handle("GET /{$}", page)
	mux.Handle("GET /page/", page)
	mux.Handle("/", s.forOperator(unknownPath))
	return mux
}

func unknownPath(r *http.Request, _ []byte) (operation, error) {
	message := fmt.Sprintf("there is no %s %s in this API", r.Method, r.URL.Path)
	return operation{}, &wire.APIError{StatusCode: http.StatusNotFound, Code: wire.CodeUnknownPath, Message: message}
}

// forCustomer serves a call with its faults, and counts it.
func (s *Server) forCustomer(k kind, e endpoint) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		started := s.clock.Now()
		op := understand(w, r, e.read)
		fate := s.faults.Decide(e.call, k.identify(r.Context(), op.about), started)
		answer, err := s.carryOut(r.Context(), op, fate)
		record := wire.CallRecord{
			Time:     started,
			Call:     e.call,
			Status:   status(answer, err),
			Result:   result(err),
			Duration: wire.Duration(s.clock.Since(started)),
		}
		k.note(&record, op.about.One())
		// The call is counted before the answer is sent. So a caller that has
		// received its answer finds the call in the report.
		s.meter.Record(record)
		s.feed.Wake()
		klog.FromContext(r.Context()).V(4).Info("Call", "call", e.call, k.name, op.about.One(),
			"status", record.Status, "result", record.Result, "duration", record.Duration)
		write(w, r, answer, err)
	}
}

// forOperator serves a request of the cloud's operator: faults do not affect it,
// and it is not counted.
func (s *Server) forOperator(read reader) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		answer, err := understand(w, r, read).run(r.Context(), state.Distortions{})
		s.forwarder.Apply(r.Context())
		if r.Method != http.MethodGet {
			s.feed.Wake()
		}
		write(w, r, answer, err)
	}
}

// carryOut follows the Fate of a call: it delays the call, answers it with an error, or
// carries it out.
func (s *Server) carryOut(ctx context.Context, op operation, f faults.Fate) (reply, error) {
	s.wait(ctx, f)
	if ctx.Err() != nil {
		return reply{}, errGone
	}
	switch {
	case f.Reset:
		return reply{}, errReset
	case f.Answer != nil:
		return reply{}, f.Answer
	}
	answer, err := op.run(ctx, f.Seen)
	s.forwarder.Apply(ctx)
	if f.LosesReply {
		return reply{}, errReplyLost
	}
	return answer, err
}

// wait waits until no fault delays the call, or until its caller has gone away.
func (s *Server) wait(ctx context.Context, f faults.Fate) {
	if f.Delay > 0 {
		timer := s.clock.NewTimer(f.Delay)
		defer timer.Stop()
		select {
		case <-timer.C():
		case <-ctx.Done():
		}
	}
	for _, cleared := range f.Holds {
		select {
		case <-cleared:
		case <-ctx.Done():
		}
	}
}
