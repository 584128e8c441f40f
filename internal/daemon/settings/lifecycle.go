package settings

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	cliflag "k8s.io/component-base/cli/flag"

	"github.com/fairlead-k8s/fairlead/internal/controller/nodelifecycle"
	"github.com/fairlead-k8s/fairlead/internal/controller/ownership"
)

// Lifecycle has the settings of the controller that deletes nodes. The reasons for
// the defaults are in docs/guides/node-deletion.md.
type Lifecycle struct {
	syncs  int32
	flags  *pflag.FlagSet // tells which flags are set
	delete bool
	// notFound is the meaning of the error "instance not found".
	notFound string
	limits   nodelifecycle.Limits
}

const flagAnnouncingTaints = "node-deletion-announced-by-taints"

// Values of --node-deletion-not-found-error.
const (
	notFoundHolds    = "hold"
	notFoundIsAbsent = "absent"
)

func newLifecycle() Lifecycle {
	return Lifecycle{
		syncs:    defaultConcurrentReads,
		delete:   true,
		notFound: notFoundHolds,
		limits:   nodelifecycle.DefaultLimits(),
	}
}

func (l *Lifecycle) addFlags(sections *cliflag.NamedFlagSets) {
	fs := sections.FlagSet(NodeLifecycleController)
	l.flags = fs
	fs.Int32Var(&l.syncs, "concurrent-node-lifecycle-syncs", l.syncs,
		"How many nodes with silent kubelets the cloud is asked about at the same time.")
	fs.BoolVar(&l.delete, "node-deletion", l.delete,
		"Delete nodes whose instances no longer exist. With false they stay, and a condition on them says so.")
	fs.IntVar(&l.limits.Absences, "node-deletion-absences", l.limits.Absences,
		"How many separate calls have to say that an instance does not exist before its node may be deleted.")
	fs.IntVar(&l.limits.Witnesses, "node-deletion-witnesses", l.limits.Witnesses,
		"How many other nodes with reporting kubelets the cloud has to confirm before a node is deleted. If there are fewer, the cloud has to confirm all of them, and at least one. 0 means that it has to confirm none.")
	fs.StringVar(&l.notFound, "node-deletion-not-found-error", l.notFound,
		"What the contract's error InstanceNotFound means when the cloud is asked whether the instance of a node with a provider ID exists: "+
			"'hold' (nothing, like every other error), or 'absent' (that the instance does not exist). Use 'absent' if the provider returns this error for instances that are gone.")
	fs.StringSliceVar(&l.limits.AnnouncedByTaints, flagAnnouncingTaints, l.limits.AnnouncedByTaints,
		"The taints that announce the removal of a node. Such a node does not count for --node-deletion-budget-* and does not wait. An empty list means none.")
	fs.BoolVar(&l.limits.AnnouncedByConditions, "node-deletion-announced-by-conditions", l.limits.AnnouncedByConditions,
		"The conditions Drained and MaintenanceInProgress announce the removal of a node, as the taints of --node-deletion-announced-by-taints do. Such a node does not count for --node-deletion-budget-* and does not wait. "+
			"Kubelets can write these conditions on their own nodes, so such nodes are deleted at the rate of --node-deletion-over-budget-rate-*.")
	deviates(fs, "concurrent-node-lifecycle-syncs", "Upstream: 1.")
	for _, d := range l.durations() {
		fs.DurationVar(d.value, d.flag, *d.value, d.usage)
	}
	deviates(fs, "node-monitor-period", "Upstream checks every silent node once in this period, for ever.")
	for _, s := range l.shares() {
		fs.IntVar(&s.value.Nodes, s.flag+"-nodes", s.value.Nodes, s.usage)
		fs.IntVar(&s.value.Percent, s.flag+"-percent", s.value.Percent, "The same as --"+s.flag+"-nodes, in percent of the nodes. The larger number counts.")
	}
}

// duration is a flag with a duration.
type duration struct {
	value     *time.Duration
	flag      string
	mayBeZero bool
	usage     string
}

func (l *Lifecycle) durations() []duration {
	return []duration{
		{&l.limits.FirstPause, "node-monitor-period", false, "Time between the first two checks of a node whose kubelet is silent. It doubles while the answers stay the same."},
		{&l.limits.LongestPause, "node-monitor-longest-period", false, "Longest time between two checks of a node whose kubelet is silent."},
		{&l.limits.SilentAfter, "node-deletion-silent-after", true, "A kubelet that does not report Ready counts as silent when its last report is this old. With Ready=Unknown it counts as silent at once."},
		{&l.limits.AbsentFor, "node-deletion-absent-for", true, "Time for which the cloud has to say that an instance does not exist before its node may be deleted."},
		{&l.limits.YoungAge, "node-deletion-young-age", true, "Up to this age a node is young, and --node-deletion-young-absent-for applies to it."},
		{&l.limits.YoungAbsentFor, "node-deletion-young-absent-for", true, "Time for which the cloud has to say that the instance of a young or never initialised node does not exist. The longer of this time and --node-deletion-absent-for counts."},
		{
			&l.limits.ForeignAfter, "node-deletion-foreign-after", false,
			"If the cloud says for this long that a node does not exist, although its kubelet reports, the node counts as another provider's. Until then, no node is deleted for which this node could be a witness.",
		},
		{&l.limits.WithoutWitnessAfter, "node-deletion-without-witness-after", true, "Time after which an absent node is deleted if no other node is left that the cloud could confirm. 0 means never, except for the last node of a region and for a cluster whose nodes are all announced to be removed."},
		{&l.limits.OverBudgetAfter, "node-deletion-over-budget-after", true, "While more nodes than the budget are absent, each of them has to be absent for this long before it may be deleted, unless more than half of the nodes of its zone report and the cloud confirms them."},
	}
}

// invalid returns the error of the value, or nil.
func (d duration) invalid() error {
	switch {
	case *d.value < 0:
		return fmt.Errorf("--%s must not be negative, but got %v", d.flag, *d.value)
	case *d.value == 0 && !d.mayBeZero:
		return fmt.Errorf("--%s must be positive, but got %v", d.flag, *d.value)
	}
	return nil
}

// share is a pair of flags for a share of the nodes: a number and a percentage.
type share struct {
	value       *nodelifecycle.Share
	flag, usage string
}

func (l *Lifecycle) shares() []share {
	return []share{
		{&l.limits.Budget, "node-deletion-budget", "How many nodes may be absent at the same time and be deleted without further delay. While more are absent, each is kept for --node-deletion-over-budget-after, or deleted at the rate of --node-deletion-over-budget-rate-* if the cloud confirms its zone. Nodes whose removal is announced (--node-deletion-announced-by-taints) do not count."},
		{&l.limits.OverBudgetRate, "node-deletion-over-budget-rate", "How many nodes are deleted in a minute while more nodes than the budget are absent."},
	}
}

func (s share) validate() []error {
	var errs []error
	if s.value.Nodes < 0 {
		errs = append(errs, fmt.Errorf("--%s-nodes must not be negative, but got %d", s.flag, s.value.Nodes))
	}
	if s.value.Percent < 0 || s.value.Percent > 100 {
		errs = append(errs, fmt.Errorf("--%s-percent must be between 0 and 100, but got %d", s.flag, s.value.Percent))
	}
	return errs
}

func (l *Lifecycle) validate() []error {
	var errs []error
	if l.syncs < 1 {
		errs = append(errs, fmt.Errorf("--concurrent-node-lifecycle-syncs must be at least 1, but got %d", l.syncs))
	}
	if l.limits.Absences < 1 {
		errs = append(errs, fmt.Errorf("--node-deletion-absences must be at least 1, but got %d", l.limits.Absences))
	}
	if l.limits.Witnesses < 0 {
		errs = append(errs, fmt.Errorf("--node-deletion-witnesses must not be negative, but got %d", l.limits.Witnesses))
	}
	if err := l.invalidNotFound(); err != nil {
		errs = append(errs, err)
	}
	for _, key := range l.limits.AnnouncedByTaints {
		if err := invalidAnnouncement(key); err != nil {
			errs = append(errs, err)
		}
	}
	for _, d := range l.durations() {
		if err := d.invalid(); err != nil {
			errs = append(errs, err)
		}
	}
	for _, s := range l.shares() {
		errs = append(errs, s.validate()...)
	}
	if rate := l.limits.OverBudgetRate; rate.Nodes < 1 {
		errs = append(errs, fmt.Errorf("--node-deletion-over-budget-rate-nodes must be at least 1, but got %d; --node-deletion=false keeps every node", rate.Nodes))
	}
	return errs
}

// invalidAnnouncement returns an error for a taint that cannot announce a removal. Kubernetes
// itself sets taints of these domains on each Node whose kubelet is silent. With them, no
// Node would count towards the budget. The exception is set by an administrator.
func invalidAnnouncement(key string) error {
	switch domain, _, _ := strings.Cut(key, "/"); {
	case len(validation.IsQualifiedName(key)) > 0:
		return fmt.Errorf("--%s must be keys of taints, but got %q", flagAnnouncingTaints, key)
	case key == corev1.TaintNodeOutOfService:
		return nil
	case domain == "node.kubernetes.io", domain == "node.cloudprovider.kubernetes.io":
		return fmt.Errorf("--%s must not have the taint %q, because Kubernetes sets it on Nodes that stay", flagAnnouncingTaints, key)
	default:
		return nil
	}
}

func (l *Lifecycle) invalidNotFound() error {
	switch {
	case l.notFound != notFoundHolds && l.notFound != notFoundIsAbsent:
		return fmt.Errorf("--node-deletion-not-found-error must be %q or %q, but got %q", notFoundHolds, notFoundIsAbsent, l.notFound)
	case l.notFound == notFoundIsAbsent && l.limits.Witnesses == 0:
		return fmt.Errorf("--node-deletion-not-found-error=%s needs witnesses, because a cloud that finds nothing at all answers the same, but got --node-deletion-witnesses=0", notFoundIsAbsent)
	default:
		return nil
	}
}

// lifecycleConfiguration is the NodeLifecycleController part of /configz.
type lifecycleConfiguration struct {
	NodeMonitorPeriod            metav1.Duration
	ConcurrentNodeLifecycleSyncs int32
	NodeMonitorLongestPeriod     metav1.Duration

	NodeDeletion                      bool
	NodeDeletionNotFoundError         string
	NodeDeletionSilentAfter           metav1.Duration
	NodeDeletionAbsences              int
	NodeDeletionAbsentFor             metav1.Duration
	NodeDeletionYoungAge              metav1.Duration
	NodeDeletionYoungAbsentFor        metav1.Duration
	NodeDeletionWitnesses             int
	NodeDeletionWithoutWitnessAfter   metav1.Duration
	NodeDeletionForeignAfter          metav1.Duration
	NodeDeletionBudgetNodes           int
	NodeDeletionBudgetPercent         int
	NodeDeletionOverBudgetAfter       metav1.Duration
	NodeDeletionOverBudgetRateNodes   int
	NodeDeletionOverBudgetRatePercent int
	NodeDeletionAnnouncedByTaints     []string
	NodeDeletionAnnouncedByConditions bool
}

func (l *Lifecycle) show(c *configuration) {
	c.NodeLifecycleController = lifecycleConfiguration{
		NodeMonitorPeriod:            metav1.Duration{Duration: l.limits.FirstPause},
		ConcurrentNodeLifecycleSyncs: l.syncs,
		NodeMonitorLongestPeriod:     metav1.Duration{Duration: l.limits.LongestPause},

		NodeDeletion:                      l.delete,
		NodeDeletionNotFoundError:         l.notFound,
		NodeDeletionSilentAfter:           metav1.Duration{Duration: l.limits.SilentAfter},
		NodeDeletionAbsences:              l.limits.Absences,
		NodeDeletionAbsentFor:             metav1.Duration{Duration: l.limits.AbsentFor},
		NodeDeletionYoungAge:              metav1.Duration{Duration: l.limits.YoungAge},
		NodeDeletionYoungAbsentFor:        metav1.Duration{Duration: l.limits.YoungAbsentFor},
		NodeDeletionWitnesses:             l.limits.Witnesses,
		NodeDeletionWithoutWitnessAfter:   metav1.Duration{Duration: l.limits.WithoutWitnessAfter},
		NodeDeletionForeignAfter:          metav1.Duration{Duration: l.limits.ForeignAfter},
		NodeDeletionBudgetNodes:           l.limits.Budget.Nodes,
		NodeDeletionBudgetPercent:         l.limits.Budget.Percent,
		NodeDeletionOverBudgetAfter:       metav1.Duration{Duration: l.limits.OverBudgetAfter},
		NodeDeletionOverBudgetRateNodes:   l.limits.OverBudgetRate.Nodes,
		NodeDeletionOverBudgetRatePercent: l.limits.OverBudgetRate.Percent,
		NodeDeletionAnnouncedByTaints:     l.limits.AnnouncedByTaints,
		NodeDeletionAnnouncedByConditions: l.limits.AnnouncedByConditions,
	}
}

// Config returns the configuration of the controller.
func (l *Lifecycle) Config(claim ownership.Claim) nodelifecycle.Config {
	limits := l.limits
	limits.Off, limits.NotFoundIsAbsent = !l.delete, l.notFound == notFoundIsAbsent
	return nodelifecycle.Config{Reads: int(l.syncs), Limits: limits, Claim: claim}
}

// Concurrent adapts the configuration to the number of concurrent calls that the
// provider declares safe. The parameter declared is that number, or 0 if the provider
// declares none. A flag that is set takes precedence.
func (l *Lifecycle) Concurrent(c nodelifecycle.Config, declared int) nodelifecycle.Config {
	if declared > 0 && !l.flags.Changed("concurrent-node-lifecycle-syncs") {
		c.Reads = declared
	}
	return c
}
