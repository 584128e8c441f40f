package follow

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-k8s/fairlead/simulator"
)

// cloud gives the answers that the test sets.
type cloud struct {
	instances []simulator.Instance
	err       error
}

func (c *cloud) Instances(context.Context) ([]simulator.Instance, error) { return c.instances, c.err }

// room is a fake of Nodes. It records the calls.
type room struct{ done []string }

func (r *room) BootNode(name string) error {
	r.done = append(r.done, "boot "+name)
	return nil
}

func (r *room) KillNode(_ context.Context, name string) error {
	r.done = append(r.done, "kill "+name)
	return nil
}

func TestFollow(t *testing.T) {
	c, r := &cloud{}, &room{}
	var notes []string
	f := New(c, r, func(format string, args ...any) { notes = append(notes, fmt.Sprintf(format, args...)) })
	step := func(err error, instances ...simulator.Instance) {
		t.Helper()
		c.instances, c.err = instances, err
		if err := f.step(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	first, twin := instance("1", "a", simulator.Running), instance("2", "a", simulator.Running)
	step(nil, first)
	step(nil, first, twin)
	step(nil, first, twin)   // refused again, but not reported again
	step(errors.New("down")) // a failure is not the same as an empty list
	step(errors.New("down")) // reported once
	step(nil, instance("1", "b", simulator.Stopped), twin)
	step(nil, instance("1", "b", simulator.Running))
	step(nil)

	wantDone := []string{"boot a", "kill a", "boot a", "kill a", "boot a", "kill a"}
	if diff := cmp.Diff(wantDone, r.done); diff != "" {
		t.Error(diff)
	}
	wantNotes := []string{
		"a boots: the instance runs (1)",
		"a is not booted: instance 1 runs under the same name (2)",
		"the cloud does not answer, nothing is changed: down",
		"a is off: the instance is stopped (1)",
		"a boots: the instance runs (2)",
		"a is off: the cloud no longer lists the instance (2)",
		"a boots: the instance runs (1)",
		"a is off: the cloud no longer lists the instance (1)",
	}
	if diff := cmp.Diff(wantNotes, notes); diff != "" {
		t.Error(diff)
	}
}
