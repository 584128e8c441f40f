package settings

import (
	"errors"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	cliflag "k8s.io/component-base/cli/flag"
	componentbaseconfig "k8s.io/component-base/config"
	baseoptions "k8s.io/component-base/config/options"
)

// Election has the settings of the leader election.
type Election struct {
	componentbaseconfig.LeaderElectionConfiguration

	// RecoveryTimeout is the longest outage of the API server that a leader outlives. 0
	// ends the process once the lease was not renewed in time.
	RecoveryTimeout time.Duration
}

func newElection() Election {
	return Election{LeaderElectionConfiguration: componentbaseconfig.LeaderElectionConfiguration{
		LeaderElect:       true,
		LeaseDuration:     metav1.Duration{Duration: 15 * time.Second},
		RenewDeadline:     metav1.Duration{Duration: 10 * time.Second},
		RetryPeriod:       metav1.Duration{Duration: 2 * time.Second},
		ResourceLock:      resourcelock.LeasesResourceLock,
		ResourceName:      ManagerName,
		ResourceNamespace: metav1.NamespaceSystem,
	}}
}

func (e *Election) addFlags(sections *cliflag.NamedFlagSets) {
	fs := sections.FlagSet("generic")
	baseoptions.BindLeaderElectionFlags(&e.LeaderElectionConfiguration, fs)
	fs.DurationVar(&e.RecoveryTimeout, "leader-elect-recovery-timeout", e.RecoveryTimeout,
		"How long a leader that cannot renew its lease waits for the API server before it ends. It changes nothing meanwhile, and goes on if no other replica has taken the lease. "+
			"It ends at once if a change of the cloud is in flight. Do not set it if the program has controllers of its own that change the cloud. 0: end once --leader-elect-renew-deadline is over.")
}

// validate reports errors that the election itself would report only at its
// start.
func (e *Election) validate() []error {
	if !e.LeaderElect {
		return nil
	}
	var errs []error
	if e.ResourceLock != resourcelock.LeasesResourceLock {
		errs = append(errs, errors.New(`--leader-elect-resource-lock: resourceLock value must be "leases"`))
	}
	if e.ResourceName == "" {
		errs = append(errs, errors.New("--leader-elect-resource-name cannot be empty"))
	}
	if e.ResourceNamespace == "" {
		errs = append(errs, errors.New("--leader-elect-resource-namespace cannot be empty"))
	}
	lease, renew, retry := e.LeaseDuration.Duration, e.RenewDeadline.Duration, e.RetryPeriod.Duration
	if retry <= 0 {
		errs = append(errs, fmt.Errorf("--leader-elect-retry-period must be positive, but got %v", retry))
	}
	// The retry period has a jitter. A leader must be able to retry at least once
	// before its deadline.
	if least := time.Duration(leaderelection.JitterFactor * float64(retry)); renew <= least {
		errs = append(errs, fmt.Errorf("--leader-elect-renew-deadline must be longer than %v times --leader-elect-retry-period (%v), but got %v",
			leaderelection.JitterFactor, retry, renew))
	}
	if lease <= renew {
		errs = append(errs, fmt.Errorf("--leader-elect-lease-duration must be longer than --leader-elect-renew-deadline (%v), but got %v", renew, lease))
	}
	if e.RecoveryTimeout < 0 {
		errs = append(errs, fmt.Errorf("--leader-elect-recovery-timeout must not be negative, but got %v", e.RecoveryTimeout))
	}
	// The Lease object counts whole seconds.
	if lease < time.Second {
		errs = append(errs, fmt.Errorf("--leader-elect-lease-duration must be at least 1s, but got %v", lease))
	}
	return errs
}

func (e *Election) show(c *configuration) {
	shown := &c.Generic.LeaderElection
	shown.LeaderElect = &e.LeaderElect
	shown.LeaseDuration = e.LeaseDuration
	shown.RenewDeadline = e.RenewDeadline
	shown.RetryPeriod = e.RetryPeriod
	shown.ResourceLock = e.ResourceLock
	shown.ResourceName = e.ResourceName
	shown.ResourceNamespace = e.ResourceNamespace
}

// Lease returns the name of this process's Lease.
func (e *Election) Lease() types.NamespacedName {
	return types.NamespacedName{Namespace: e.ResourceNamespace, Name: e.ResourceName}
}
