package simulator

import (
	"context"
	"net/http"

	"k8s.io/klog/v2"
)

// operatorEndpoints are what only the operator can do.
func (c *Cloud) operatorEndpoints() map[string]reader {
	return map[string]reader{
		"GET /healthz": answering(func() (reply, error) {
			return reply{http.StatusOK, map[string]string{"status": "ok"}}, nil
		}),
		"GET " + operatorPath + "/faults": answering(func() (reply, error) {
			return reply{http.StatusOK, c.faults.list()}, nil
		}),
		"PUT " + operatorPath + "/faults/{name}":    c.readSetFault,
		"DELETE " + operatorPath + "/faults/{name}": c.readClearFault,
		"DELETE " + operatorPath + "/faults": answering(func() (reply, error) {
			c.faults.clearAll()
			return reply{status: http.StatusNoContent}, nil
		}),
		"GET " + operatorPath + "/calls": answering(func() (reply, error) {
			return reply{http.StatusOK, c.meter.report()}, nil
		}),
		"POST " + operatorPath + "/calls/reset": answering(func() (reply, error) {
			c.meter.reset()
			return reply{status: http.StatusNoContent}, nil
		}),
	}
}

// answering reads a request that says nothing.
func answering(answer func() (reply, error)) reader {
	return func(*http.Request, []byte) (operation, error) {
		return operation{run: func(context.Context, view) (reply, error) { return answer() }}, nil
	}
}

func (c *Cloud) readSetFault(r *http.Request, body []byte) (operation, error) {
	f, err := decodeRequest[Fault](body)
	if err != nil {
		return operation{}, err
	}
	name := r.PathValue("name")
	if f.Name == "" {
		f.Name = name
	}
	if f.Name != name {
		return operation{}, invalid("name", "is %q in the body and %q in the path", f.Name, name)
	}
	run := func(ctx context.Context, _ view) (reply, error) {
		if err := c.faults.set(f, clearable); err != nil {
			return reply{}, err
		}
		klog.FromContext(ctx).Info("Fault set", "fault", f.Name, "kind", f.Kind)
		return reply{status: http.StatusNoContent}, nil
	}
	return operation{run: run}, nil
}

func (c *Cloud) readClearFault(r *http.Request, _ []byte) (operation, error) {
	name := r.PathValue("name")
	run := func(ctx context.Context, _ view) (reply, error) {
		if err := c.faults.clear(name); err != nil {
			return reply{}, err
		}
		klog.FromContext(ctx).Info("Fault cleared", "fault", name)
		return reply{status: http.StatusNoContent}, nil
	}
	return operation{run: run}, nil
}
