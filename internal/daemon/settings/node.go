package settings

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/pflag"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	cliflag "k8s.io/component-base/cli/flag"

	"github.com/fairlead-k8s/fairlead/internal/controller/node"
	"github.com/fairlead-k8s/fairlead/internal/controller/ownership"
)

// defaultConcurrentReads is the number of nodes that are looked up in the cloud at
// the same time. A flag or the provider can set another number. The number does not
// apply to changes. The limiter keeps the reads within the cloud's quota.
const defaultConcurrentReads = 16

// Node has the settings of the controller that initialises nodes and keeps them up
// to date with their instances.
type Node struct {
	syncs           int32
	statusUpdates   int32
	statusFrequency time.Duration
	labels          labelReconcile
	strictIDs       bool
	condition       string
	flags           *pflag.FlagSet // tells which flags are set
}

// Values of --node-condition.
const (
	conditionWaiting = "waiting"
	conditionAlways  = "always"
)

func newNode() Node {
	return Node{
		condition:       conditionWaiting,
		syncs:           defaultConcurrentReads,
		statusFrequency: 5 * time.Minute,
		labels:          labelReconcile{instanceType: true, additional: true},
	}
}

func (n *Node) addFlags(sections *cliflag.NamedFlagSets) {
	fs := sections.FlagSet(NodeController)
	n.flags = fs
	fs.Int32Var(&n.syncs, "concurrent-node-syncs", n.syncs,
		"How many nodes that wait to be initialised are looked up in the cloud at the same time. "+
			"If the provider answers for many nodes in one call, up to 200 are looked up, unless the value is 1.")
	deviates(fs, "concurrent-node-syncs", "Upstream: 1.")
	fs.Int32Var(&n.statusUpdates, "concurrent-node-status-updates", n.statusUpdates,
		"How many nodes are refreshed at the same time. 0 means --concurrent-node-syncs.")
	fs.Var(&n.labels, "node-label-reconcile",
		"Labels that are kept up to date after a node's initialisation: 'type' (instance type), 'additional' (what the provider adds), or 'none'. "+
			"With 'additional,remove' a label that came from the cloud is removed after three refreshes in a row without it. "+
			"Without 'remove' it stays. Do not use 'remove' if the provider returns a label only while the node does not have it.")
	fs.BoolVar(&n.strictIDs, "node-strict-provider-ids", n.strictIDs,
		"Leave a node alone if the provider answers with another provider ID than the node's. Without the flag, a node is left alone only if another node has that ID, because some providers spell the same ID in several ways.")
	fs.StringVar(&n.condition, "node-condition", n.condition,
		"Which nodes show the condition CloudInitialized: 'waiting' (nodes that wait for more than a minute, until they are initialised), or 'always' (also every node that is initialised, for rules that wait for the condition).")

	fs = sections.FlagSet("misc")
	fs.DurationVar(&n.statusFrequency, "node-status-update-frequency", n.statusFrequency,
		"How often each node is compared with the cloud.")
	deviates(fs, "node-status-update-frequency", "The nodes are spread over the period. Upstream compares all of them at once.")
}

func (n *Node) validate() []error {
	var errs []error
	if n.syncs < 1 {
		errs = append(errs, fmt.Errorf("--concurrent-node-syncs must be at least 1, but got %d", n.syncs))
	}
	if n.statusUpdates < 0 {
		errs = append(errs, fmt.Errorf("--concurrent-node-status-updates must not be negative, but got %d", n.statusUpdates))
	}
	if n.condition != conditionWaiting && n.condition != conditionAlways {
		errs = append(errs, fmt.Errorf("--node-condition must be %q or %q, but got %q", conditionWaiting, conditionAlways, n.condition))
	}
	if n.statusFrequency <= 0 {
		errs = append(errs, fmt.Errorf("--node-status-update-frequency must be positive, but got %v", n.statusFrequency))
	}
	return errs
}

// refreshes returns the number of nodes that are refreshed at the same time.
func (n *Node) refreshes() int32 {
	if n.statusUpdates == 0 {
		return n.syncs
	}
	return n.statusUpdates
}

// Config returns the configuration of the controller.
func (n *Node) Config(claim ownership.Claim) node.Config {
	return node.Config{
		Reads:      int(n.syncs),
		Refreshers: int(n.refreshes()),
		Refresh:    n.statusFrequency,
		Labels:     node.LabelPolicy{Type: n.labels.instanceType, Additional: n.labels.additional, Remove: n.labels.remove, Overwrite: utilfeature.DefaultFeatureGate.Enabled(additionalLabels)},
		StrictIDs:  n.strictIDs,
		AlwaysShow: n.condition == conditionAlways,
		Claim:      claim,
	}
}

// Concurrent adapts the configuration to the number of concurrent calls that the
// provider declares safe. The parameter declared is that number, or 0 if the provider
// declares none. Flags that are set take precedence.
func (n *Node) Concurrent(c node.Config, declared int) node.Config {
	if declared > 0 && !n.flags.Changed("concurrent-node-syncs") {
		c.Reads = declared
		if n.statusUpdates == 0 {
			c.Refreshers = declared
		}
	}
	return c
}

// nodeConfiguration is the NodeController part of /configz.
type nodeConfiguration struct {
	ConcurrentNodeSyncs         int32
	ConcurrentNodeStatusUpdates int32
	NodeCondition               string
}

func (n *Node) show(c *configuration) {
	c.NodeController = nodeConfiguration{
		ConcurrentNodeSyncs:         n.syncs,
		ConcurrentNodeStatusUpdates: n.refreshes(),
		NodeCondition:               n.condition,
	}
	c.NodeStatusUpdateFrequency.Duration = n.statusFrequency
}

// labelReconcile says which labels of a node are kept up to date after its
// initialisation. It is the value of a flag.
type labelReconcile struct {
	instanceType bool
	additional   bool
	remove       bool // whether additional labels are also removed
}

func (l *labelReconcile) Set(s string) error {
	if s == "none" {
		*l = labelReconcile{}
		return nil
	}
	var set labelReconcile
	for name := range strings.SplitSeq(s, ",") {
		switch name {
		case "type":
			set.instanceType = true
		case "additional":
			set.additional = true
		case "remove":
			set.remove = true
		default:
			return fmt.Errorf("%q is not 'type', 'additional' or 'remove'; 'none' must be the only value", name)
		}
	}
	if set.remove && !set.additional {
		return errors.New("'remove' needs 'additional': only additional labels are removed")
	}
	*l = set
	return nil
}

func (l *labelReconcile) String() string {
	var names []string
	if l.instanceType {
		names = append(names, "type")
	}
	if l.additional {
		names = append(names, "additional")
	}
	if l.remove {
		names = append(names, "remove")
	}
	if names == nil {
		return "none"
	}
	return strings.Join(names, ",")
}

func (*labelReconcile) Type() string { return "strings" }
