// Package contender runs the daemons that are compared.
package contender

import (
	"context"
	"crypto/tls"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/fairlead-k8s/fairlead/internal/ports"
	"github.com/fairlead-k8s/fairlead/providers/simulated"
	"github.com/fairlead-k8s/fairlead/test/internal/process"
	"github.com/fairlead-k8s/fairlead/test/scale/listing"
)

// Name is the name of a daemon.
type Name string

// These are the contenders, in the order in which the tables list them.
const (
	Fairlead Name = "fairlead"
	Skeleton Name = "skeleton"
)

// Names returns all contenders.
func Names() []Name { return []Name{Fairlead, Skeleton} }

// Provider is a provider that is linked into the daemon.
type Provider string

// The providers.
const (
	Simulated Provider = simulated.Name
	Listing   Provider = listing.Name
	// ListingCached is like Listing, and keeps its list for a while.
	ListingCached Provider = listing.CachedName
)

// Program returns the path of the daemon's program in the folder bin. For
// Fairlead it returns the released program, unless that program lacks the
// provider.
func Program(bin string, n Name, p Provider) string {
	switch {
	case n == Skeleton:
		return filepath.Join(bin, "scale", "upstream")
	case p != Simulated:
		return filepath.Join(bin, "scale", "fairlead")
	default:
		return filepath.Join(bin, "cloud-controller-manager")
	}
}

// Version returns the version that the program prints.
func Version(ctx context.Context, program string) (string, error) {
	out, err := exec.CommandContext(ctx, program, "--version").Output()
	if err != nil {
		return "", fmt.Errorf("%s --version: %w", program, err)
	}
	fields := strings.Fields(string(out))
	if len(fields) == 0 {
		return "", fmt.Errorf("%s --version says nothing", program)
	}
	return fields[len(fields)-1], nil
}

// Setup has the settings of a daemon. In addition, Start chooses a port. It turns
// routes off, unless a flag in Flags turns them on. All other settings have the
// daemon's own defaults.
type Setup struct {
	Program  string
	Provider Provider
	CloudURL string
	// Plain switches off all optional interfaces of the provider.
	Plain      bool
	Kubeconfig string
	Flags      []string
}

// plain has the lines of the cloud config that switch fast paths off.
const plain = "withoutBatches: true\nwithoutLists: true\nwithoutTerminations: true\nwithoutRouteApplier: true\n" +
	"withoutBackendSetter: true\nwithoutConcurrentCalls: true\n"

// cloudConfig is the content of the provider's configuration file.
func (s Setup) cloudConfig() string {
	config := "endpoint: " + s.CloudURL + "\n"
	if s.Plain {
		config += plain
	}
	return config
}

// Daemon is a running replica.
type Daemon struct {
	*process.Process

	port int
}

// free picks a different port for each replica.
var free ports.Picker

// Start starts a replica. Its files go to dir.
func Start(dir string, s Setup) (*Daemon, error) {
	port, err := free.Next()
	if err != nil {
		return nil, err
	}
	config := filepath.Join(dir, "cloud.yaml")
	if err := os.WriteFile(config, []byte(s.cloudConfig()), 0o600); err != nil {
		return nil, err
	}
	p, err := process.Start(dir, append([]string{
		s.Program,
		"--cloud-provider=" + string(s.Provider),
		"--cloud-config=" + config,
		"--kubeconfig=" + s.Kubeconfig,
		"--authentication-kubeconfig=" + s.Kubeconfig,
		"--authorization-kubeconfig=" + s.Kubeconfig,
		"--bind-address=127.0.0.1",
		"--secure-port=" + strconv.Itoa(port),
		"--configure-cloud-routes=false",
	}, s.Flags...)...)
	if err != nil {
		return nil, err
	}
	return &Daemon{Process: p, port: port}, nil
}

// Healthy returns nil if the daemon answers and reports that it is healthy.
func (d *Daemon) Healthy(ctx context.Context) error {
	if err := d.Err(); err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprintf("https://127.0.0.1:%d/healthz", d.port), nil)
	if err != nil {
		return err
	}
	client := http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}} // the daemon's certificate is self-signed
	defer client.CloseIdleConnections()
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	_ = resp.Body.Close() // only the status counts
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("/healthz answers %s", resp.Status)
	}
	return nil
}
