package cluster

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"time"

	"k8s.io/utils/clock"
)

// The default networks of a cluster.
const (
	DefaultPodCIDR     = "10.244.0.0/16"
	DefaultServiceCIDR = "10.96.0.0/16"
)

// Config says what kind of control plane to run.
type Config struct {
	// Executable is the executable of the playground. Each child runs it, too.
	Executable string
	// DataDir is the folder of all files. If it contains the data of an earlier control plane, Start
	// continues that control plane.
	DataDir string
	// PodCIDRs and ServiceCIDRs are the networks of pods and Services: one, or two of different families. Empty means
	// the default.
	PodCIDRs, ServiceCIDRs []netip.Prefix
	// AuditLog makes the API server log all requests, except health checks, to a
	// file.
	AuditLog bool
	// NodeMonitorGracePeriod is the time that a kubelet may be silent before the Ready condition of
	// its Node becomes Unknown; 0 means the default of kube-controller-manager.
	NodeMonitorGracePeriod time.Duration
	// ServingCertificates makes the kubelets request certificates for their servers, as with
	// serverTLSBootstrap. The cluster itself does not approve these requests.
	ServingCertificates bool
	// NetworkFile is a file that stands for the network plugin. While the file does not exist, the
	// kubelets report that their network is not ready. Empty means that the network is always ready.
	NetworkFile string
	// APIServerArgs, ControllerManagerArgs and SchedulerArgs are additional flags. They override the other flags.
	APIServerArgs, ControllerManagerArgs, SchedulerArgs []string
	// Clock tells the present time, from which the certificates are valid.
	Clock clock.PassiveClock
}

// Endpoints says how to reach a running control plane.
type Endpoints struct {
	// Kubeconfig is the file for an administrator. CCMKubeconfig is the file for a
	// cloud-controller-manager, whose user has only the necessary rights. Both files contain a token.
	Kubeconfig    string `json:"kubeconfig"`
	CCMKubeconfig string `json:"ccmKubeconfig"`
	// Server is the API server's URL. CAFile contains the certificate of the authority that
	// signed the API server's certificate.
	Server string `json:"server"`
	CAFile string `json:"caFile"`
	// AuditLog is the file of the audit log; empty if there is none.
	AuditLog string `json:"auditLog"`
	DataDir  string `json:"dataDir"`
}

// ParseCIDRs parses one network, or two of different families, separated by a comma.
func ParseCIDRs(text string) ([]netip.Prefix, error) {
	var cidrs []netip.Prefix
	for part := range strings.SplitSeq(text, ",") {
		cidr, err := netip.ParsePrefix(strings.TrimSpace(part))
		if err != nil {
			return nil, err
		}
		if cidr != cidr.Masked() {
			return nil, fmt.Errorf("%s has host bits set; did you mean %s?", cidr, cidr.Masked())
		}
		cidrs = append(cidrs, cidr)
	}
	switch {
	case len(cidrs) > 2:
		return nil, errors.New("more than two networks")
	case len(cidrs) == 2 && cidrs[0].Addr().Is4() == cidrs[1].Addr().Is4():
		return nil, errors.New("two networks must be of different families")
	}
	return cidrs, nil
}

func join(cidrs []netip.Prefix) string {
	texts := make([]string, len(cidrs))
	for i, cidr := range cidrs {
		texts[i] = cidr.String()
	}
	return strings.Join(texts, ",")
}

// layout has the paths of the control plane's files in the data folder.
type layout struct {
	dir string
}

func (l layout) in(elem ...string) string { return filepath.Join(append([]string{l.dir}, elem...)...) }

func (l layout) pki(file string) string { return l.in("pki", file) }

// etcdPKI returns the path of a file of etcd's own authority.
func (l layout) etcdPKI(file string) string { return l.in("pki", "etcd", file) }

func (l layout) etcd() string                { return l.in("etcd") }
func (l layout) kubelets() string            { return l.in("kubelets") }
func (l layout) kubelet(node string) string  { return l.in("kubelets", node) }
func (l layout) auditLog() string            { return l.in("audit.log") }
func (l layout) auditPolicy() string         { return l.in("audit-policy.yaml") }
func (l layout) tokens() string              { return l.pki("tokens.csv") }
func (l layout) serviceAccountKey() string   { return l.pki("service-accounts.key") }
func (l layout) kubeconfig(of string) string { return l.in(of + ".kubeconfig") }

// create creates the folders. It removes the files of earlier kubelets, because their processes and sockets no longer
// exist.
func (l layout) create() error {
	if err := os.RemoveAll(l.kubelets()); err != nil {
		return err
	}
	for _, dir := range []string{l.dir, l.in("pki"), l.in("pki", "etcd"), l.etcd(), l.kubelets()} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return err
		}
	}
	return nil
}
