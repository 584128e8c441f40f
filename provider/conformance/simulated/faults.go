package simulated

import (
	"context"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/fairlead-k8s/fairlead/provider/conformance"
	"github.com/fairlead-k8s/fairlead/simulator"
)

// SetFault implements conformance.Faulter.
func (w *World) SetFault(ctx context.Context, f conformance.Fault) (restore func(), err error) {
	if f.Kind == conformance.FaultGarbage || f.Kind == conformance.FaultThrottled {
		return w.door.set(f), nil
	}
	native, found := faults()[f.Kind]
	if !found {
		return nil, fmt.Errorf("fault %s: %w", f.Kind, conformance.ErrCannot)
	}
	native.Skip, native.Count = f.Skip, f.Count
	w.mu.Lock()
	w.faults++
	native.Name = "conformance-" + strconv.Itoa(w.faults)
	w.mu.Unlock()
	if err := w.operator.SetFault(ctx, native); err != nil {
		return nil, err
	}
	return sync.OnceFunc(func() {
		_ = w.operator.ClearFault(context.WithoutCancel(ctx), native.Name) // after an error, the fault stays until the cloud ends
	}), nil
}

// faults returns the faults that the simulated cloud itself can make.
func faults() map[conformance.FaultKind]simulator.Fault {
	return map[conformance.FaultKind]simulator.Fault{
		conformance.FaultError:           {Kind: simulator.FaultError},
		conformance.FaultFailWrite:       {Kind: simulator.FaultError, Calls: changes()},
		conformance.FaultUnavailable:     {Kind: simulator.FaultOutage},
		conformance.FaultUnauthenticated: {Kind: simulator.FaultDenied, Status: http.StatusUnauthorized},
		conformance.FaultForbidden:       {Kind: simulator.FaultDenied, Status: http.StatusForbidden},
		conformance.FaultNotFound:        {Kind: simulator.FaultNotFound},
		conformance.FaultReset:           {Kind: simulator.FaultReset},
		conformance.FaultHang:            {Kind: simulator.FaultHang},
		conformance.FaultEmptyList:       {Kind: simulator.FaultEmptyList},
		conformance.FaultTruncatedList:   {Kind: simulator.FaultTruncatedList},
		conformance.FaultLostReply:       {Kind: simulator.FaultLostReply, Calls: changes()},
	}
}

// door is an HTTP handler in front of the cloud. It makes the faults that the cloud
// itself cannot make.
type door struct {
	cloud *simulator.Cloud

	mu     sync.Mutex
	faults []*conformance.Fault // guarded by mu
	calls  conformance.Calls    // guarded by mu; calls that did not reach the cloud
}

// set sets a fault that hits calls of customers.
func (d *door) set(f conformance.Fault) (restore func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.faults = append(d.faults, &f)
	return func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.faults = slices.DeleteFunc(d.faults, func(other *conformance.Fault) bool { return other == &f })
	}
}

// ServeHTTP implements http.Handler.
func (d *door) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f := d.hit(r)
	switch {
	case f == nil:
		d.cloud.ServeHTTP(w, r)
	case f.Kind == conformance.FaultGarbage:
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write([]byte("<html><body>welcome</body></html>")) // the caller may have gone
	default:
		w.Header().Set("Content-Type", "application/json")
		if f.RetryAfter > 0 {
			w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(f.RetryAfter.Seconds()))))
		}
		w.WriteHeader(http.StatusTooManyRequests)
		_, _ = fmt.Fprintf(w, `{"error": {"code": %q, "message": "too many calls"}}`, simulator.CodeThrottled)
	}
}

// hit returns the fault that hits a call, or nil.
func (d *door) hit(r *http.Request) *conformance.Fault {
	if !strings.HasPrefix(r.URL.Path, "/v1/") {
		return nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, f := range d.faults {
		switch {
		case f.Skip > 0:
			f.Skip--
			continue
		case f.Count < 0:
			continue
		case f.Count > 0:
			if f.Count--; f.Count == 0 {
				f.Count = -1 // used up
			}
		}
		d.count(r, f)
		return f
	}
	return nil
}

// count counts a call that the cloud will not see. The caller holds mu.
func (d *door) count(r *http.Request, f *conformance.Fault) {
	if r.Method == http.MethodGet {
		d.calls.Reads++
	} else {
		d.calls.Writes++
	}
	if f.Kind == conformance.FaultThrottled {
		d.calls.Refused++
	}
}

// refused returns the calls that did not reach the cloud.
func (d *door) refused() conformance.Calls {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.calls
}
