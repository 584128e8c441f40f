package conformance_test

import (
	"context"
	"fmt"
	"sync"

	"github.com/fairlead-k8s/fairlead/provider/conformance"
)

// fakeCloud is a fake of your cloud. The provider under test also calls it.
type fakeCloud struct {
	mu       sync.Mutex
	machines map[string]string // from ID to name; guarded by mu
}

// CreateMachine implements conformance.Machines.
func (c *fakeCloud) CreateMachine(_ context.Context, name string) (conformance.Machine, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	id := "m-" + name
	c.machines[id] = name
	return conformance.Machine{Name: name, ID: id, ProviderID: "acme://" + id}, nil
}

// TerminateMachine implements conformance.Machines.
func (c *fakeCloud) TerminateMachine(_ context.Context, m conformance.Machine) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.machines, m.ID)
	return nil
}

// A fake of a cloud can be a world if it can create and terminate machines.
func ExampleMachines() {
	var world conformance.Machines = &fakeCloud{machines: map[string]string{}}
	m, err := world.CreateMachine(context.Background(), "node-1")
	fmt.Println(m.ProviderID, err)
	// Output: acme://m-node-1 <nil>
}
