package state

import (
	"errors"
	"testing"
	"time"

	"github.com/fairlead-k8s/fairlead/simulator/wire"
)

func TestMachine(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	slow := Delays{Transition: 10 * time.Second, Terminated: time.Minute}
	start := func(m machine) (machine, error) { return m.start(now, slow) }
	stop := func(m machine) (machine, error) { return m.stop(now, slow) }
	terminate := func(m machine) (machine, error) { return m.terminate(now, slow), nil }
	terminating := machine{Instance: wire.Instance{State: wire.Stopping}, Next: wire.Terminated, NextAt: now.Add(time.Second)}

	for name, row := range map[string]struct {
		from  machine
		do    func(machine) (machine, error)
		want  wire.State
		after map[time.Duration]wire.State
		code  string
	}{
		"StartedIsPendingThenRunning": {from: inState(wire.Stopped), do: start, want: wire.Pending, after: map[time.Duration]wire.State{9 * time.Second: wire.Pending, 10 * time.Second: wire.Running, time.Hour: wire.Running}},
		"StartOfRunningIsNoChange":    {from: inState(wire.Running), do: start, want: wire.Running},
		"StartOfPendingIsNoChange":    {from: inState(wire.Pending), do: start, want: wire.Pending},
		"StartOfStoppingConflicts":    {from: inState(wire.Stopping), do: start, want: wire.Stopping, code: wire.CodeConflict},
		"StartOfTerminatedConflicts":  {from: inState(wire.Terminated), do: start, want: wire.Terminated, code: wire.CodeConflict},
		"StoppedIsStoppingThenStopped": {
			from: inState(wire.Running), do: stop, want: wire.Stopping,
			after: map[time.Duration]wire.State{10 * time.Second: wire.Stopped},
		},
		"PendingCanBeStopped":       {from: inState(wire.Pending), do: stop, want: wire.Stopping, after: map[time.Duration]wire.State{10 * time.Second: wire.Stopped}},
		"StopOfStoppedIsNoChange":   {from: inState(wire.Stopped), do: stop, want: wire.Stopped},
		"StopOfTerminatedConflicts": {from: inState(wire.Terminated), do: stop, want: wire.Terminated, code: wire.CodeConflict},
		"StopDoesNotRescueWhatIsBeingTerminated": {
			from: terminating, do: stop, want: wire.Stopping,
			after: map[time.Duration]wire.State{time.Second: wire.Terminated},
		},
		"TerminatedIsListedForAWhile": {
			from: inState(wire.Running), do: terminate, want: wire.Stopping,
			after: map[time.Duration]wire.State{10 * time.Second: wire.Terminated, 69 * time.Second: wire.Terminated, 70 * time.Second: removed},
		},
		"StoppedCanBeTerminated":       {from: inState(wire.Stopped), do: terminate, want: wire.Stopping, after: map[time.Duration]wire.State{time.Hour: removed}},
		"TerminatedTwiceIsNoChange":    {from: inState(wire.Terminated), do: terminate, want: wire.Terminated},
		"TerminationIsNotStartedAnew":  {from: terminating, do: terminate, want: wire.Stopping, after: map[time.Duration]wire.State{time.Second: wire.Terminated}},
		"TransitionsPassThroughAtOnce": {from: inState(wire.Stopped), do: func(m machine) (machine, error) { return m.start(now, Delays{}) }, want: wire.Pending, after: map[time.Duration]wire.State{0: wire.Running}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := row.do(row.from)
			diff(t, "error", row.code, code(err))
			diff(t, "state", row.want, got.State)
			for d, want := range row.after {
				diff(t, "state after "+d.String(), want, got.at(now.Add(d), slow).State)
			}
		})
	}
}

func inState(s wire.State) machine { return machine{Instance: wire.Instance{State: s}} }

// code returns the code of an APIError.
func code(err error) string {
	if answered, ok := errors.AsType[*wire.APIError](err); ok {
		return answered.Code
	}
	return ""
}
