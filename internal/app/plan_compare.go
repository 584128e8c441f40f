package app

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/fairlead-k8s/fairlead/internal/app/internal/settings"
	"github.com/fairlead-k8s/fairlead/internal/app/internal/skeleton"
	"github.com/fairlead-k8s/fairlead/internal/controller/step"
	"github.com/fairlead-k8s/fairlead/internal/printable"
)

// upstream is the only value of --compare-with.
const upstream = "upstream"

// comparison lists the objects that upstream's skeleton would treat differently. Its
// JSON is part of the output: fields may be added, and none is renamed.
type comparison struct {
	With string `json:"with"`
	// CloudCalls is the number of calls that were made only for the comparison. Like
	// all calls of a dry run, they only read.
	CloudCalls int `json:"cloudCalls"`
	// Differences are the objects whose fates differ.
	Differences []skeleton.Difference `json:"differences"`
}

// compare returns the differences between the skeleton and this daemon for the same
// observations. It first makes the calls to the cloud that the skeleton would make
// and that the plan has not made. There are at most two such calls for a Node that
// is not Ready, and one for a Node that waits to be initialised.
func (d *dryRun) compare(ctx context.Context, looks []*look, f planFlags) (*comparison, error) {
	nodes, err := d.informers.Core().V1().Nodes().Lister().List(labels.Everything())
	if err != nil {
		return nil, err
	}
	chosen := nodes
	if f.node != "" || f.service != "" {
		chosen = slices.DeleteFunc(slices.Clone(nodes), func(n *corev1.Node) bool { return n.Name != f.node })
	}
	before := d.calls()
	d.askMore(ctx, chosen)
	theirs := d.ofNodes(chosen)
	if f.node == "" && f.service == "" {
		theirs = append(theirs, d.ofRoutes(nodes)...)
	}
	of, err := d.ofServices(f)
	if err != nil {
		return nil, err
	}
	var ours []step.Step
	for _, l := range looks {
		ours = append(ours, l.steps...)
	}
	return &comparison{With: upstream, CloudCalls: d.calls() - before, Differences: skeleton.Compare(ours, append(theirs, of...))}, ctx.Err()
}

// plans reports whether a controller takes part in the dry run.
func (d *dryRun) plans(name string) bool {
	return slices.ContainsFunc(d.planners, func(l look) bool { return l.Name == name })
}

// askMore asks the cloud about Nodes that only the skeleton asks about. The daemon
// does not ask because it leaves these Nodes alone, or because their kubelets have
// reported recently.
func (d *dryRun) askMore(ctx context.Context, nodes []*corev1.Node) {
	if d.gateway.Load().Instances() == nil {
		return
	}
	var all sync.WaitGroup
	free := make(chan struct{}, lookers)
	for _, node := range nodes {
		free <- struct{}{}
		all.Go(func() {
			defer func() { <-free }()
			d.askAbout(ctx, node)
		})
	}
	all.Wait()
}

// askAbout makes the calls about one Node that the skeleton would make and that the
// plan has not made. It records the answers, including errors.
func (d *dryRun) askAbout(ctx context.Context, node *corev1.Node) {
	instances, known := seenInstances{d.gateway.Load().Instances(), d.seen}, d.seen.about(node)
	if d.plans(settings.NodeController) && skeleton.Waits(node) && known.described == nil {
		_, _ = instances.Metadata(ctx, node)
	}
	if d.plans(settings.NodeLifecycleController) && skeleton.Asks(node) && !known.asked {
		if e, err := instances.Existence(ctx, node); err == nil && e.Present {
			_, _ = instances.Shutdown(ctx, node)
		}
	}
}

func (d *dryRun) ofNodes(nodes []*corev1.Node) []step.Step {
	var all []step.Step
	for _, node := range nodes {
		said := d.seen.about(node)
		if d.plans(settings.NodeController) {
			all = append(all, skeleton.Initialised(node, said.described))
		}
		if d.plans(settings.NodeLifecycleController) {
			all = append(all, skeleton.Monitored(node, said.existence))
		}
	}
	return all
}

func (d *dryRun) ofRoutes(nodes []*corev1.Node) []step.Step {
	listed, ok := d.seen.listed()
	c, err := d.settings.Route.Config()
	if !ok || err != nil {
		return nil // Without a list of routes, the skeleton's own pass would also end here.
	}
	return skeleton.Table{Clusters: c.Clusters, Nodes: nodes, Listed: listed}.Routes()
}

func (d *dryRun) ofServices(f planFlags) ([]step.Step, error) {
	if !d.plans(settings.ServiceController) || f.node != "" && f.service == "" {
		return nil, nil
	}
	services, err := d.informers.Core().V1().Services().Lister().List(labels.Everything())
	var all []step.Step
	for _, s := range services {
		if f.service == "" || f.service == s.Namespace+"/"+s.Name {
			all = append(all, skeleton.Service(s))
		}
	}
	return all, err
}

// maxNamed is the maximum number of objects that the sentence about deletions names.
const maxNamed = 5

// print writes a line for each object whose fate differs, and a sentence about the
// deletions that only the skeleton would make.
func (c *comparison) print(w *strings.Builder) {
	fmt.Fprintf(w, "Compared with the skeleton, which took %d more calls to the cloud:\n", c.CloudCalls)
	var deleted []string
	for _, d := range c.Differences {
		object := printable.Line(d.Object, maxName)
		fmt.Fprintf(w, "  %s %s  here %s, skeleton %s: %s\n", signs[d.Skeleton.Effect], object,
			printable.Line(d.Daemon.Do, maxName), printable.Line(d.Skeleton.Do, maxName), printable.Line(d.Skeleton.Why, maxLine))
		if d.Skeleton.Effect == step.Delete {
			deleted = append(deleted, object)
		}
	}
	if len(deleted) > 0 {
		more := ""
		if n := len(deleted); n > maxNamed {
			deleted, more = deleted[:maxNamed], fmt.Sprintf(" and %d more", n-maxNamed)
		}
		fmt.Fprintf(w, "With the skeleton %s%s would be deleted at once.\n", strings.Join(deleted, ", "), more)
	}
	fmt.Fprintf(w, "Another fate with the skeleton: %s.\n", counted(c.kinds()))
}

func (c *comparison) kinds() map[string]int {
	kinds := map[string]int{}
	for _, d := range c.Differences {
		kinds[kindOf(d.Object)]++
	}
	return kinds
}
