package cluster

import (
	"errors"
	"fmt"
	"net/netip"
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
	// Executable is the playground itself, which each child runs.
	Executable string
	// DataDir holds all files. What an earlier control plane has left there is continued.
	DataDir string
	// PodCIDRs and ServiceCIDRs are the cluster's networks: one of each, or two of different families. None means the
	// default.
	PodCIDRs, ServiceCIDRs []netip.Prefix
	// AuditLog makes the API server write down each request.
	AuditLog bool
	// NodeMonitorGracePeriod is how long a kubelet may be silent before its Node is marked; 0 is upstream's default.
	NodeMonitorGracePeriod time.Duration
	// APIServerArgs, ControllerManagerArgs and SchedulerArgs are added last, so that they override other flags.
	APIServerArgs, ControllerManagerArgs, SchedulerArgs []string
	// Clock dates the certificates.
	Clock clock.PassiveClock
}

// Endpoints is what others need to know of a running control plane.
type Endpoints struct {
	// Kubeconfig is an administrator's, CCMKubeconfig has what a cloud-controller-manager needs and no more. Both
	// identify themselves with a token.
	Kubeconfig    string `json:"kubeconfig"`
	CCMKubeconfig string `json:"ccmKubeconfig"`
	// Server is the API server's URL; CAFile has the authority that signed its certificate.
	Server string `json:"server"`
	CAFile string `json:"caFile"`
	// AuditLog is empty if there is none.
	AuditLog string `json:"auditLog"`
	DataDir  string `json:"dataDir"`
}

// ParseCIDRs reads one network, or one of each family with a comma between.
func ParseCIDRs(text string) ([]netip.Prefix, error) {
	var cidrs []netip.Prefix
	for part := range strings.SplitSeq(text, ",") {
		cidr, err := netip.ParsePrefix(strings.TrimSpace(part))
		if err != nil {
			return nil, err
		}
		if cidr != cidr.Masked() {
			return nil, fmt.Errorf("%s has host bits set; meant is perhaps %s", cidr, cidr.Masked())
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
