// Package cloud runs the simulated cloud as a process.
package cloud

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/fairlead-k8s/fairlead/simulator"
	"github.com/fairlead-k8s/fairlead/test/internal/process"
)

// Cloud is a simulated cloud in its own process.
type Cloud struct {
	*simulator.Client // in the role of operator: its calls meet no faults and are not counted

	*process.Process
	URL string
}

// Start starts a cloud. Its log goes to dir. The flags are those of simcloud serve.
func Start(ctx context.Context, program, dir string, flags ...string) (*Cloud, error) {
	p, err := process.Start(dir, append([]string{program, "serve", "--listen=127.0.0.1:0", "--seed=1"}, flags...)...)
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
	return &Cloud{Client: simulator.NewClient(url).Operator(), Process: p, URL: url}, nil
}
