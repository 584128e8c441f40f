package settings

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	cliflag "k8s.io/component-base/cli/flag"

	"github.com/fairlead-k8s/fairlead/internal/controller/certificate"
	"github.com/fairlead-k8s/fairlead/internal/controller/ownership"
)

const (
	flagCertificateLongest = "serving-certificate-longest"
	flagCertificatePending = "serving-certificate-pending-per-node"
	flagCertificateRate    = "serving-certificate-approvals-per-minute"
)

// Certificate has the settings of the controller that approves the serving
// certificates of kubelets.
type Certificate struct{ limits certificate.Limits }

func newCertificate() Certificate { return Certificate{limits: certificate.DefaultLimits()} }

func (c *Certificate) addFlags(sections *cliflag.NamedFlagSets) {
	fs := sections.FlagSet(CertificateController)
	fs.BoolVar(&c.limits.DenyForeign, "deny-foreign-csr", c.limits.DenyForeign,
		"Deny a kubelet's request for a serving certificate if it can never be approved, or has a name or an address that the instance does not have in the cloud. With false the request waits, and an event on the node says why.")
	fs.DurationVar(&c.limits.Longest, flagCertificateLongest, c.limits.Longest,
		"Longest time for which a kubelet may request a serving certificate. kube-controller-manager may sign for less.")
	fs.IntVar(&c.limits.PendingPerNode, flagCertificatePending, c.limits.PendingPerNode,
		"How many undecided requests of one node are looked at. If there are more, only the newest are.")
	fs.IntVar(&c.limits.ApprovalsPerMinute, flagCertificateRate, c.limits.ApprovalsPerMinute,
		"How many serving certificates are approved at once, and how many more in each minute.")
}

func (c *Certificate) validate() []error {
	var errs []error
	if c.limits.Longest < 10*time.Minute { // Kubernetes accepts no shorter time.
		errs = append(errs, fmt.Errorf("--%s must be at least 10m, but got %v", flagCertificateLongest, c.limits.Longest))
	}
	if c.limits.PendingPerNode < 1 {
		errs = append(errs, fmt.Errorf("--%s must be at least 1, but got %d", flagCertificatePending, c.limits.PendingPerNode))
	}
	if rate := c.limits.ApprovalsPerMinute; rate < 1 || rate > 6000 {
		errs = append(errs, fmt.Errorf("--%s must be between 1 and 6000, but got %d", flagCertificateRate, rate))
	}
	return errs
}

// certificateConfiguration is the controller's part of /configz.
type certificateConfiguration struct {
	DenyForeignCSR                       bool
	ServingCertificateLongest            metav1.Duration
	ServingCertificatePendingPerNode     int
	ServingCertificateApprovalsPerMinute int
}

func (c *Certificate) show(shown *configuration) {
	shown.KubeletServingCSRController = certificateConfiguration{
		DenyForeignCSR:                       c.limits.DenyForeign,
		ServingCertificateLongest:            metav1.Duration{Duration: c.limits.Longest},
		ServingCertificatePendingPerNode:     c.limits.PendingPerNode,
		ServingCertificateApprovalsPerMinute: c.limits.ApprovalsPerMinute,
	}
}

// Config returns the configuration of the controller.
func (c *Certificate) Config(claim ownership.Claim) certificate.Config {
	return certificate.Config{Limits: c.limits, Claim: claim}
}
