package simulated_test

import (
	"context"
	"testing"
	"time"

	"github.com/fairlead-k8s/fairlead/provider/conformance"
	"github.com/fairlead-k8s/fairlead/provider/conformance/simulated"
	"github.com/fairlead-k8s/fairlead/simulator"
)

// The world has all interfaces that a check may need.
var (
	_ conformance.Machines    = (*simulated.World)(nil)
	_ conformance.PowerSwitch = (*simulated.World)(nil)
	_ conformance.Renamer     = (*simulated.World)(nil)
	_ conformance.Retagger    = (*simulated.World)(nil)
	_ conformance.Meter       = (*simulated.World)(nil)
	_ conformance.Faulter     = (*simulated.World)(nil)
	_ conformance.Inventory   = (*simulated.World)(nil)
	_ conformance.Drifter     = (*simulated.World)(nil)
	_ conformance.Foreigner   = (*simulated.World)(nil)
	_ conformance.Viewer      = (*simulated.World)(nil)
	_ conformance.Holder      = (*simulated.World)(nil)
	_ conformance.Reserver    = (*simulated.World)(nil)
)

// The world in this process can set and clear all kinds of faults.
func TestFaults(t *testing.T) {
	w, err := simulated.New(t.Context(), simulator.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.Close() })
	customer := simulator.NewClient(w.URL())
	write := func(ctx context.Context) error {
		_, err := customer.CreateRoute(ctx, simulator.Route{Name: "r", Destination: "10.0.0.0/24", State: simulator.RouteBlackhole})
		return err
	}
	for _, kind := range []conformance.FaultKind{
		conformance.FaultError, conformance.FaultUnavailable, conformance.FaultThrottled, conformance.FaultUnauthenticated, conformance.FaultForbidden,
		conformance.FaultNotFound, conformance.FaultReset, conformance.FaultGarbage, conformance.FaultHang, conformance.FaultEmptyList,
		conformance.FaultTruncatedList, conformance.FaultLostReply, conformance.FaultFailWrite,
	} {
		t.Run(string(kind), func(t *testing.T) {
			restore, err := w.SetFault(t.Context(), conformance.Fault{Kind: kind, Count: 1})
			if err != nil {
				t.Fatal(err)
			}
			if kind == conformance.FaultHang || kind == conformance.FaultEmptyList || kind == conformance.FaultTruncatedList {
				restore()
				return
			}
			if err := write(t.Context()); err == nil {
				t.Error("the call has met no fault")
			}
			restore()
			if _, err := customer.Routes(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}

// A terminated machine is listed for a while, unless the configuration says otherwise.
func TestTerminatedMachineIsStillListed(t *testing.T) {
	for name, row := range map[string]struct {
		config simulator.Config
		want   int
	}{
		"ByDefault":       {simulator.Config{}, 1},
		"ForgottenAtOnce": {simulator.Config{TerminatedFor: time.Nanosecond}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			w, err := simulated.New(t.Context(), row.config)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = w.Close() })
			m, err := w.CreateMachine(t.Context(), "a")
			if err != nil {
				t.Fatal(err)
			}
			if err := w.TerminateMachine(t.Context(), m); err != nil {
				t.Fatal(err)
			}
			if got, err := simulator.NewClient(w.URL()).Instances(t.Context()); err != nil || len(got) != row.want {
				t.Errorf("got %v, error %v; want %d", got, err, row.want)
			}
		})
	}
}
