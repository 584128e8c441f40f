package bed

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/fairlead-k8s/fairlead/simulator"
	"github.com/fairlead-k8s/fairlead/test/internal/expect"
	"github.com/fairlead-k8s/fairlead/test/internal/process"
)

// Cloud is a simulated cloud in its own process.
type Cloud struct {
	*simulator.Client // in the role of operator: its calls meet no faults and are not counted

	*process.Process
	URL string
}

func startCloud(ctx context.Context, p Programs, dir string, flags ...string) (*Cloud, error) {
	argv := append([]string{p.Path("simcloud"), "serve", "--listen=127.0.0.1:0", "--seed=1", "--verbosity=4"}, flags...)
	c, err := process.Start(dir, argv...)
	if err != nil {
		return nil, err
	}
	line, err := c.Line(ctx)
	if err != nil {
		return nil, errors.Join(err, c.Stop())
	}
	const ready = "simcloud: listening on "
	url, ok := strings.CutPrefix(line, ready)
	if !ok {
		return nil, errors.Join(fmt.Errorf("simcloud says %q, want %q and a URL", line, ready), c.Stop())
	}
	return &Cloud{Client: simulator.NewClient(url).Operator(), Process: c, URL: url}, nil
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
