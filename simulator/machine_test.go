package simulator

import (
	"testing"
	"time"
)

func TestMachine(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	slow := pace{transition: 10 * time.Second, terminated: time.Minute}
	start := func(m machine) (machine, error) { return m.start(now, slow) }
	stop := func(m machine) (machine, error) { return m.stop(now, slow) }
	terminate := func(m machine) (machine, error) { return m.terminate(now, slow), nil }
	terminating := machine{Instance: Instance{State: Stopping}, Next: Terminated, NextAt: now.Add(time.Second)}

	for name, row := range map[string]struct {
		from  machine
		do    func(machine) (machine, error)
		want  State
		after map[time.Duration]State
		code  string
	}{
		"StartedIsPendingThenRunning": {from: inState(Stopped), do: start, want: Pending, after: map[time.Duration]State{9 * time.Second: Pending, 10 * time.Second: Running, time.Hour: Running}},
		"StartOfRunningIsNoChange":    {from: inState(Running), do: start, want: Running},
		"StartOfPendingIsNoChange":    {from: inState(Pending), do: start, want: Pending},
		"StartOfStoppingConflicts":    {from: inState(Stopping), do: start, want: Stopping, code: CodeConflict},
		"StartOfTerminatedConflicts":  {from: inState(Terminated), do: start, want: Terminated, code: CodeConflict},
		"StoppedIsStoppingThenStopped": {
			from: inState(Running), do: stop, want: Stopping,
			after: map[time.Duration]State{10 * time.Second: Stopped},
		},
		"PendingCanBeStopped":       {from: inState(Pending), do: stop, want: Stopping, after: map[time.Duration]State{10 * time.Second: Stopped}},
		"StopOfStoppedIsNoChange":   {from: inState(Stopped), do: stop, want: Stopped},
		"StopOfTerminatedConflicts": {from: inState(Terminated), do: stop, want: Terminated, code: CodeConflict},
		"StopDoesNotRescueWhatIsBeingTerminated": {
			from: terminating, do: stop, want: Stopping,
			after: map[time.Duration]State{time.Second: Terminated},
		},
		"TerminatedIsListedForAWhile": {
			from: inState(Running), do: terminate, want: Stopping,
			after: map[time.Duration]State{10 * time.Second: Terminated, 69 * time.Second: Terminated, 70 * time.Second: removed},
		},
		"StoppedCanBeTerminated":       {from: inState(Stopped), do: terminate, want: Stopping, after: map[time.Duration]State{time.Hour: removed}},
		"TerminatedTwiceIsNoChange":    {from: inState(Terminated), do: terminate, want: Terminated},
		"TerminationIsNotStartedAnew":  {from: terminating, do: terminate, want: Stopping, after: map[time.Duration]State{time.Second: Terminated}},
		"TransitionsPassThroughAtOnce": {from: inState(Stopped), do: func(m machine) (machine, error) { return m.start(now, pace{}) }, want: Pending, after: map[time.Duration]State{0: Running}},
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

func inState(s State) machine { return machine{Instance: Instance{State: s}} }
