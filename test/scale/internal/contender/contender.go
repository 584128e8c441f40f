// Package contender runs the daemons that are compared.
package contender

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/fairlead-k8s/fairlead/internal/ports"
	"github.com/fairlead-k8s/fairlead/providers/simulated"
	"github.com/fairlead-k8s/fairlead/test/internal/process"
	"github.com/fairlead-k8s/fairlead/test/scale/listing"
	"github.com/fairlead-k8s/fairlead/test/scale/opaque"
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
	// Text and Unreadable are variants of the simulated provider whose errors have lost
	// their type.
	Text       Provider = opaque.Text
	Unreadable Provider = opaque.Unreadable
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
const plain = "withoutBatches: true\nwithoutLists: true\nwithoutRouteApplier: true\n" +
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
	_, err := d.get(ctx, "/healthz", "")
	return err
}

// balancerTime matches the lines of Fairlead's metrics that have the total seconds of
// calls about load balancers.
var balancerTime = regexp.MustCompile(`(?m)^fairlead_cloud_call_duration_seconds_sum\{call="\w*(?:LoadBalancer|Backends)\w*"\} (\S+)$`)

// BalancerTime returns the total time of all calls about load balancers so far, from
// Fairlead's metrics. The token is that of an administrator.
func (d *Daemon) BalancerTime(ctx context.Context, token string) (time.Duration, error) {
	metrics, err := d.get(ctx, "/metrics", token)
	if err != nil {
		return 0, err
	}
	return balancerTimeIn(metrics)
}

func balancerTimeIn(metrics string) (time.Duration, error) {
	var sum float64
	for _, line := range balancerTime.FindAllStringSubmatch(metrics, -1) {
		seconds, err := strconv.ParseFloat(line[1], 64)
		if err != nil {
			return 0, err
		}
		sum += seconds
	}
	return time.Duration(sum * float64(time.Second)), nil
}

// get returns the content that the daemon serves at a path.
func (d *Daemon) get(ctx context.Context, path, token string) (string, error) {
	if err := d.Err(); err != nil {
		return "", err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprintf("https://127.0.0.1:%d%s", d.port, path), nil)
	if err != nil {
		return "", err
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	client := http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}} // the daemon's certificate is self-signed
	defer client.CloseIdleConnections()
	resp, err := client.Do(req)
	if err != nil {
		return "", err
	}
	defer func() { _ = resp.Body.Close() }() // the body has been read
	if resp.StatusCode != http.StatusOK {
		return "", fmt.Errorf("%s answers %s", path, resp.Status)
	}
	body, err := io.ReadAll(resp.Body)
	return string(body), err
}
