package bed

import (
	"context"
	"testing"

	"github.com/fairlead-k8s/fairlead/simulator"
	"github.com/fairlead-k8s/fairlead/test/internal/cloud"
	"github.com/fairlead-k8s/fairlead/test/internal/expect"
)

// Cloud is a simulated cloud in its own process.
type Cloud struct{ *cloud.Cloud }

func startCloud(ctx context.Context, p Programs, dir string, flags ...string) (*Cloud, error) {
	c, err := cloud.Start(ctx, p.Path("simcloud"), dir, append([]string{"--verbosity=4"}, flags...)...)
	if err != nil {
		return nil, err
	}
	return &Cloud{c}, nil
}

// Instance creates an instance that is terminated at the end of the test.
func (c *Cloud) Instance(t *testing.T, i simulator.Instance) simulator.Instance {
	t.Helper()
	created, err := c.CreateInstance(t.Context(), i)
	if err != nil {
		t.Fatal(err)
	}
	expect.Cleanup(t, func(ctx context.Context) error {
		if err := c.TerminateInstance(ctx, created.ID); err != nil && !simulator.IsNotFound(err) {
			return err
		}
		return nil
	})
	return created
}

// Change changes an instance.
func (c *Cloud) Change(t *testing.T, i simulator.Instance, p simulator.InstancePatch) simulator.Instance {
	t.Helper()
	changed, err := c.UpdateInstance(t.Context(), i.ID, p)
	if err != nil {
		t.Fatal(err)
	}
	return changed
}

// Fail switches a fault of the cloud on. It replaces a fault of the same name.
func (c *Cloud) Fail(t *testing.T, f simulator.Fault) {
	t.Helper()
	if err := c.SetFault(t.Context(), f); err != nil {
		t.Fatal(err)
	}
}

// Heal switches all faults off.
func (c *Cloud) Heal(t *testing.T) {
	t.Helper()
	if err := c.ClearFaults(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// NewCloud starts a cloud whose instances get no kubelets.
func (b *Bed) NewCloud(t *testing.T, flags ...string) *Cloud {
	t.Helper()
	c, err := startCloud(t.Context(), b.Programs, b.Dir, flags...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Stop(); err != nil {
			t.Error(err)
		}
	})
	return c
}

// NewCloudWithoutTraffic starts a cloud as NewCloud does. Its load balancers carry
// no traffic.
func (b *Bed) NewCloudWithoutTraffic(t *testing.T, flags ...string) *Cloud {
	t.Helper()
	return b.NewCloud(t, append([]string{"--traffic=false"}, flags...)...)
}

// Misbehaving returns an instance with a label that makes the provider of testccm fail
// for the instance's Node. The argument how is the kind of failure.
func Misbehaving(how string) *simulator.Instance {
	return &simulator.Instance{Labels: map[string]string{"provider-fault": how}}
}
