package api

import (
	"context"
	"net/http"

	"k8s.io/klog/v2"

	"github.com/fairlead-k8s/fairlead/simulator/internal/input"
	"github.com/fairlead-k8s/fairlead/simulator/internal/state"
	"github.com/fairlead-k8s/fairlead/simulator/wire"
)

// operatorEndpoints returns the endpoints that only the operator has.
func (s *Server) operatorEndpoints() map[string]reader {
	return map[string]reader{
		"GET /healthz": answering(func() (reply, error) {
			return reply{http.StatusOK, map[string]string{"status": "ok"}}, nil
		}),
		"GET " + wire.OperatorPath + "/faults": answering(func() (reply, error) {
			return reply{http.StatusOK, s.faults.List(s.clock.Now())}, nil
		}),
		"PUT " + wire.OperatorPath + "/faults/{name}":    s.readSetFault,
		"DELETE " + wire.OperatorPath + "/faults/{name}": s.readClearFault,
		"DELETE " + wire.OperatorPath + "/faults": answering(func() (reply, error) {
			s.faults.ClearAll()
			return reply{status: http.StatusNoContent}, nil
		}),
		"GET " + wire.OperatorPath + "/calls": answering(func() (reply, error) {
			return reply{http.StatusOK, s.meter.Report()}, nil
		}),
		"POST " + wire.OperatorPath + "/calls/reset": answering(func() (reply, error) {
			s.meter.Reset()
			return reply{status: http.StatusNoContent}, nil
		}),
	}
}

// answering returns the reader for requests without parameters.
func answering(answer func() (reply, error)) reader {
	return func(*http.Request, []byte) (operation, error) {
		return operation{run: func(context.Context, state.Distortions) (reply, error) { return answer() }}, nil
	}
}

func (s *Server) readSetFault(r *http.Request, body []byte) (operation, error) {
	f, err := input.Decode[wire.Fault](body)
	if err != nil {
		return operation{}, err
	}
	name := r.PathValue("name")
	if f.Name == "" {
		f.Name = name
	}
	if f.Name != name {
		return operation{}, input.Invalid("name", "is %q in the body and %q in the path", f.Name, name)
	}
	run := func(ctx context.Context, _ state.Distortions) (reply, error) {
		if err := s.faults.Set(f, s.clock.Now()); err != nil {
			return reply{}, err
		}
		klog.FromContext(ctx).Info("Fault set", "fault", f.Name, "kind", f.Kind)
		return reply{status: http.StatusNoContent}, nil
	}
	return operation{run: run}, nil
}

func (s *Server) readClearFault(r *http.Request, _ []byte) (operation, error) {
	name := r.PathValue("name")
	run := func(ctx context.Context, _ state.Distortions) (reply, error) {
		if err := s.faults.Clear(name); err != nil {
			return reply{}, err
		}
		klog.FromContext(ctx).Info("Fault cleared", "fault", name)
		return reply{status: http.StatusNoContent}, nil
	}
	return operation{run: run}, nil
}

// readCluster reads a request for the description of the cluster.
func (s *Server) readCluster(*http.Request, []byte) (operation, error) {
	run := func(ctx context.Context, _ state.Distortions) (reply, error) {
		seen, err := s.cluster(ctx)
		if err != nil {
			return reply{}, &wire.APIError{StatusCode: http.StatusServiceUnavailable, Code: wire.CodeUnavailable, Message: err.Error()}
		}
		return reply{http.StatusOK, seen}, nil
	}
	return operation{run: run}, nil
}
