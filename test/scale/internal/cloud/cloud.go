// Package cloud runs the simulated cloud as a process.
package cloud

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/fairlead-k8s/fairlead/simulator"
	"github.com/fairlead-k8s/fairlead/test/internal/process"
)

// Cloud is a simulated cloud. Its Client makes calls as the operator of the cloud.
// Faults do not affect these calls. They use no quota and are not counted.
type Cloud struct {
	*simulator.Client

	URL     string
	process *process.Process
}

// Config is the configuration of the cloud.
type Config struct {
	Latency      time.Duration
	Quota, Burst int
	// PageSize is the largest size of a page of a list. 0 means the cloud's
	// default.
	PageSize int
}

// Start starts a cloud. Its log goes to dir.
func Start(ctx context.Context, program, dir string, c Config) (*Cloud, error) {
	argv := []string{
		program, "serve", "--listen=127.0.0.1:0", "--seed=1", "--traffic=false",
		"--latency=" + c.Latency.String(), fmt.Sprintf("--quota=%d", c.Quota), fmt.Sprintf("--quota-burst=%d", c.Burst),
	}
	if c.PageSize > 0 {
		argv = append(argv, fmt.Sprintf("--page-size=%d", c.PageSize))
	}
	p, err := process.Start(dir, argv...)
	if err != nil {
		return nil, err
	}
	line, err := p.Line(ctx)
	if err != nil {
		return nil, errors.Join(err, p.Stop())
	}
	const ready = "simcloud: listening on "
	url, ok := strings.CutPrefix(line, ready)
	if !ok {
		return nil, errors.Join(fmt.Errorf("simcloud says %q, want %q and a URL", line, ready), p.Stop())
	}
	return &Cloud{Client: simulator.NewClient(url).Operator(), URL: url, process: p}, nil
}

// Stop ends the cloud.
func (c *Cloud) Stop() error { return c.process.Stop() }

// Alive returns the names of all instances that are not terminated.
func (c *Cloud) Alive(ctx context.Context) (map[string]bool, error) {
	all, err := c.Instances(ctx)
	if err != nil {
		return nil, err
	}
	alive := map[string]bool{}
	for _, i := range all {
		if i.State != simulator.Terminated {
			alive[i.Name] = true
		}
	}
	return alive, nil
}
