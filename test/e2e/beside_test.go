package e2e

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"

	"github.com/fairlead-k8s/fairlead/providers/simulated"
	"github.com/fairlead-k8s/fairlead/simulator"
	"github.com/fairlead-k8s/fairlead/test/internal/bed"
	"github.com/fairlead-k8s/fairlead/test/internal/daemon"
	"github.com/fairlead-k8s/fairlead/test/internal/expect"
	"github.com/fairlead-k8s/fairlead/test/internal/nodes"
	"github.com/fairlead-k8s/fairlead/test/internal/timeout"
)

// contender is one of the two daemons, with a control plane and a cloud of its own.
type contender struct {
	*bed.Bed

	cloud  *bed.Cloud
	daemon *daemon.Daemon
	ours   bool
	born   sync.Map // the instances of the rows by name
}

// deleteAsUpstream are the flags that bring back upstream's conditions for the deletion of
// a Node. docs/differences.yaml names them.
var deleteAsUpstream = []string{
	"--node-deletion-absences=1", "--node-deletion-absent-for=0", "--node-deletion-young-absent-for=0", "--node-deletion-silent-after=0",
	"--node-deletion-witnesses=0", "--node-deletion-budget-percent=100", "--node-monitor-longest-period=1s",
}

// newSide brings up one of the two daemons. Both get the same short periods.
func newSide(t *testing.T, name string) *contender {
	t.Helper()
	skipWithoutPrograms(t)
	program := shared.Programs.Path("scale/upstream")
	if _, err := os.Stat(program); err != nil {
		t.Skip("the skeleton is not built: make bin/scale/upstream")
	}
	s := &contender{ours: name == "Fairlead"}
	flags := []string{"--route-reconciliation-period=1s", "--node-monitor-period=1s", "--node-status-update-frequency=2s"}
	if s.ours {
		s.Bed = ownBed(t)
		s.cloud = s.NewCloudWithoutTraffic(t)
		s.daemon = s.Daemon(t, daemon.Setup{Cloud: s.cloud.URL, Pods: "10.128.0.0/9", Flags: slices.Concat(flags, deleteAsUpstream)})
		return s
	}
	s.Bed = unchecked(t) // The skeleton releases Nodes before it has written their addresses.
	s.cloud = s.NewCloudWithoutTraffic(t)
	config := bed.WriteFile(t, filepath.Join(t.TempDir(), "cloud.yaml"), daemon.Setup{}.Config(s.cloud.URL))
	admin := s.Cluster.Kubeconfig
	s.daemon = s.Run(t, slices.Concat([]string{
		program, "--cloud-provider=simulated", "--cloud-config=" + config, "--kubeconfig=" + admin, "--leader-elect=false",
		"--authentication-kubeconfig=" + admin, "--authorization-kubeconfig=" + admin, "--cluster-cidr=10.128.0.0/9",
	}, flags))
	return s
}

// The same events happen beside the community's skeleton and beside the daemon, each with a
// control plane and a cloud of its own. Both have the same ends, except for the differences
// that docs/differences.yaml documents.
func TestBesideTheSkeleton(t *testing.T) {
	skipWithoutPrograms(t)
	t.Parallel()
	var both [2][]string
	t.Run("Both", func(t *testing.T) {
		for n, name := range []string{"Skeleton", "Fairlead"} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				s := newSide(t, name)
				s.lifeWithoutFaults(t)
				s.playAll(t)
				both[n] = seriesIn(s.metrics(t))
			})
		}
	})
	for _, series := range both[0] {
		if !slices.Contains(both[1], series) && seriesDiffer(series) == "" {
			t.Errorf("only the skeleton has the series %s", series)
		}
	}
}

// Each row that differs names a difference in docs/differences.yaml, and each difference
// with an ID there is in a row.
func TestDifferencesAreDocumented(t *testing.T) {
	text := string(bed.ReadFile(t, "../../docs/differences.yaml"))
	documented, used := map[string]bool{}, map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^ +(?:- )?id: ([\w-]+)$`).FindAllStringSubmatch(text, -1) {
		documented[m[1]] = true
	}
	for _, r := range besideRows() {
		for _, s := range r.steps {
			if (s.ours == nil) != (len(s.differs) == 0) {
				t.Errorf("%s: ours %v, differs %q", r.name, s.ours, s.differs)
			}
			for _, id := range s.differs {
				used[id] = true
			}
		}
	}
	for _, d := range differingSeries {
		used[d.id] = true
	}
	if err := expect.Equal("IDs", documented, used); err != nil {
		t.Error(err)
	}
}

// besideRow is the life of one Node or of one Service. The name is also the name of the
// object and of its instance.
type besideRow struct {
	name  string
	steps []besideStep
}

// besideStep is something that happens to an object, and what it looks like afterwards.
type besideStep struct {
	acts []act
	// want is what differs from the usual look. A * stands for any text.
	want look
	// ours is what differs further with Fairlead, as documented under the IDs in differs.
	ours    look
	differs []string
}

// act is something that happens to the object of a row.
type act func(context.Context, *contender, string) error

// look is what is visible of an object in the cluster and in the cloud.
type look map[string]string

// usualNode and usualService are what most rows lead to.
var (
	usualNode = look{
		"id": "own", "place": "own", "labels": "", "addresses": "own", "taints": "",
		"network": "False RouteCreated", "route": "own", "backend": "yes",
		"events": "Normal Synced: Node synced successfully",
	}
	usualService = look{
		"finalizer": "yes", "ingress": "own", "balancers": "1", "ports": "TCP 80", "from": simulator.Everyone, "affinity": "0s", "check": "",
		"events": "Normal EnsuredLoadBalancer: Ensured load balancer | Normal EnsuringLoadBalancer: Ensuring load balancer",
	}
)

// playAll plays all rows at the same time.
func (s *contender) playAll(t *testing.T) {
	t.Helper()
	var wait sync.WaitGroup
	rows := besideRows()
	errs := make([]error, len(rows))
	for n, r := range rows {
		wait.Go(func() { errs[n] = r.play(t.Context(), s) })
	}
	wait.Wait()
	for n, r := range rows { // Nothing has changed after the last step.
		if errs[n] == nil {
			errs[n] = s.differs(t.Context(), r.name, r.steps[len(r.steps)-1])
		}
		if errs[n] != nil {
			t.Errorf("%s: %v", r.name, errs[n])
		}
	}
}

func (r besideRow) play(ctx context.Context, s *contender) error {
	for n, step := range r.steps {
		for _, do := range step.acts {
			if err := do(ctx, s, r.name); err != nil {
				return fmt.Errorf("step %d: %w", n+1, err)
			}
		}
		if err := s.await(ctx, r.name, step); err != nil {
			return fmt.Errorf("step %d: %w", n+1, err)
		}
	}
	return nil
}

// await waits until the object looks as wanted.
func (s *contender) await(ctx context.Context, name string, step besideStep) error {
	return awaitLook(ctx, func() error { return s.differs(ctx, name, step) })
}

// differs returns an error unless the object looks as wanted.
func (s *contender) differs(ctx context.Context, name string, step besideStep) error {
	usual, of := usualNode, s.lookOfNode
	if strings.HasPrefix(name, "service-") {
		usual, of = usualService, s.lookOfService
	}
	want := maps.Clone(usual)
	maps.Copy(want, step.want)
	if s.ours {
		maps.Copy(want, step.ours)
	}
	got, err := of(ctx, name)
	if err != nil {
		return err
	}
	if _, gone := want["gone"]; gone {
		want = look{"gone": want["gone"], "events": want["events"]}
	}
	for key, value := range want {
		if pattern := strings.ReplaceAll(regexp.QuoteMeta(value), `\*`, ".*"); regexp.MustCompile("^" + pattern + "$").MatchString(got[key]) {
			got[key] = value
		}
	}
	return expect.Equal("look", want, got)
}

// lookOfNode returns the look of a Node.
func (s *contender) lookOfNode(ctx context.Context, name string) (look, error) {
	told, err := s.told(ctx, "Node", name)
	if err != nil {
		return nil, err
	}
	node, err := s.Admin.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
	routed, err2 := s.routeOf(ctx, name)
	instance := s.instanceOf(name)
	behind, err3 := s.isBackend(ctx, instance)
	if apierrors.IsNotFound(err) {
		return look{"gone": fmt.Sprintf("route %v, backend %s", len(routed) > 0, behind), "events": told}, errors.Join(err2, err3)
	}
	if err := errors.Join(err, err2, err3); err != nil {
		return nil, err
	}
	l := look{
		"id": node.Spec.ProviderID, "place": placeOf(node), "labels": labelsOf(node), "addresses": fmt.Sprint(node.Status.Addresses),
		"taints": taintsOf(node), "network": networkOf(node), "route": strings.Join(routed, " "), "backend": behind, "events": told,
	}
	own := look{
		"id": nodes.ProviderID(instance), "place": strings.Join([]string{instance.Type, instance.Zone, instance.Region}, " "),
		"addresses": fmt.Sprint(nodes.AddressesOf(instance)), "route": strings.Join(node.Spec.PodCIDRs, " "),
	}
	for key, value := range own {
		if instance.ID != "" && value != "" && l[key] == value {
			l[key] = "own"
		}
	}
	return l, nil
}

// routeOf returns the destinations of the routes to a Node.
func (s *contender) routeOf(ctx context.Context, node string) (destinations []string, err error) {
	all, err := s.cloud.Routes(ctx)
	for _, r := range all {
		if r.Tags[simulated.TagNode] == node {
			destinations = append(destinations, r.Destination)
		}
	}
	return destinations, err
}

// instanceOf returns the instance of a row as it was last changed, even if it is gone.
func (s *contender) instanceOf(name string) simulator.Instance {
	i, ok := s.born.Load(name)
	if !ok {
		return simulator.Instance{}
	}
	return i.(simulator.Instance)
}

// isBackend reports whether the instance is a backend of the Service that no row touches.
func (s *contender) isBackend(ctx context.Context, of simulator.Instance) (string, error) {
	balancers, err := s.balancersOf(ctx, "service-of-all")
	for _, l := range balancers {
		if slices.Contains(l.Backends, of.ID) {
			return "yes", err
		}
	}
	return "no", err
}

func (s *contender) balancersOf(ctx context.Context, service string) ([]simulator.LoadBalancer, error) {
	all, err := s.cloud.LoadBalancers(ctx)
	return slices.DeleteFunc(all, func(l simulator.LoadBalancer) bool {
		return l.Tags[simulated.TagService] != metav1.NamespaceDefault+"/"+service
	}), err
}

// placeOf returns type, zone and region, if the older labels say the same.
func placeOf(node *corev1.Node) string {
	ga := []string{node.Labels[corev1.LabelInstanceTypeStable], node.Labels[corev1.LabelTopologyZone], node.Labels[corev1.LabelTopologyRegion]}
	beta := []string{
		node.Labels[corev1.LabelInstanceType], node.Labels[corev1.LabelFailureDomainBetaZone], node.Labels[corev1.LabelFailureDomainBetaRegion],
	}
	if !slices.Equal(ga, beta) {
		return fmt.Sprintf("%q, before %q", ga, beta)
	}
	return strings.Join(ga, " ")
}

// labelsOf returns the labels that are of a row.
func labelsOf(node *corev1.Node) string {
	var all []string
	for key, value := range node.Labels {
		if strings.HasPrefix(key, "row") {
			all = append(all, key+"="+value)
		}
	}
	slices.Sort(all)
	return strings.Join(all, " ")
}

// taintsOf returns the taints that controllers of clouds or a row have set.
func taintsOf(node *corev1.Node) string {
	var all []string
	for _, taint := range node.Spec.Taints {
		if !strings.HasPrefix(taint.Key, "node.kubernetes.io/") {
			all = append(all, taint.Key+":"+string(taint.Effect))
		}
	}
	return strings.Join(all, " ")
}

func networkOf(node *corev1.Node) string {
	for _, c := range node.Status.Conditions {
		if c.Type == corev1.NodeNetworkUnavailable {
			return string(c.Status) + " " + c.Reason
		}
	}
	return ""
}

// lookOfService returns the look of a Service and of its load balancer.
func (s *contender) lookOfService(ctx context.Context, name string) (look, error) {
	told, err := s.told(ctx, "Service", name)
	if err != nil {
		return nil, err
	}
	balancers, err := s.balancersOf(ctx, name)
	if err != nil {
		return nil, err
	}
	service, err := s.Admin.CoreV1().Services(metav1.NamespaceDefault).Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return look{"gone": fmt.Sprint(len(balancers), " balancers"), "events": told}, nil
	}
	if err != nil {
		return nil, err
	}
	l := look{
		"finalizer": "no", "ingress": "", "balancers": strconv.Itoa(len(balancers)), "ports": "", "from": "", "affinity": "", "check": "", "events": told,
	}
	if len(service.Finalizers) > 0 {
		l["finalizer"] = "yes"
	}
	for _, i := range service.Status.LoadBalancer.Ingress {
		l["ingress"] += i.IP
	}
	for _, b := range balancers {
		var ports []string
		for _, listener := range b.Listeners {
			ports = append(ports, fmt.Sprint(listener.Protocol, " ", listener.Port))
		}
		l["ports"], l["from"], l["affinity"] = strings.Join(ports, ", "), strings.Join(b.SourceRanges, ", "), time.Duration(b.Affinity).String()
		l["check"] = b.HealthCheck.Path
		if b.Address != "" && b.Address == l["ingress"] {
			l["ingress"] = "own"
		}
	}
	return l, nil
}

// varying matches what differs from run to run in a text: IDs, CIDRs and durations.
var varying = regexp.MustCompile(`(lb|rt)-\d+|-[0-9a-f]{10}\b|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|` +
	`\d+\.\d+\.\d+\.\d+/\d+|\d+(\.\d+)?(ns|µs|ms|s)\b`)

// besideSources are the sources of the events that both daemons record.
var besideSources = []string{"cloud-node-controller", "cloud-node-lifecycle-controller", "route_controller", "service-controller"}

// told returns the different events about an object, without those about updates of nodes.
func (s *contender) told(ctx context.Context, kind, name string) (string, error) {
	list, err := s.Admin.CoreV1().Events(metav1.NamespaceDefault).List(ctx, metav1.ListOptions{
		FieldSelector: fields.Set{"involvedObject.kind": kind, "involvedObject.name": name}.String(),
	})
	var all []string
	for _, e := range list.Items {
		// Neither those of kube-controller-manager, nor how often something was repeated or updated.
		if !slices.Contains(besideSources, e.Source.Component) || e.Reason == "UpdatedLoadBalancer" || strings.HasPrefix(e.Message, "(combined from") {
			continue
		}
		all = append(all, fmt.Sprintf("%s %s: %s", e.Type, e.Reason, varying.ReplaceAllString(e.Message, "…")))
	}
	slices.Sort(all)
	return strings.Join(slices.Compact(all), " | "), err
}

// awaitLook calls check until it returns nil, for half a minute, or longer on a busy
// machine.
func awaitLook(ctx context.Context, check func() error) error {
	limit := timeout.New(expect.Soon)
	for {
		err := check()
		if err == nil || limit.IsOver() || ctx.Err() != nil {
			return err
		}
		bed.Pause(ctx, 200*time.Millisecond)
	}
}
