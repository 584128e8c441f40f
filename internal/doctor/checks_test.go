package doctor

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fairlead-k8s/fairlead/internal/cluster"
	"github.com/fairlead-k8s/fairlead/internal/controller/ownership"
	"github.com/fairlead-k8s/fairlead/internal/controller/service"
)

// TestChecks has rows for each check. A row has the changes of the cluster, and the
// expected finding. A row without a code expects no finding.
func TestChecks(t *testing.T) {
	shown := map[string]bool{}
	for _, row := range []struct {
		name    string
		changes []change
		want    string // the code and the object
	}{
		{"Healthy", nil, ""},
		{"OlderAPIServer", []change{func(v *cluster.View) { v.Version = "v1.34.0" }}, "FL101 "},
		{"NewerAPIServer", []change{func(v *cluster.View) { v.Version = "v1.38.0-alpha.1" }}, "FL101 "},
		{"OldestAPIServer", []change{func(v *cluster.View) { v.Version = "v1.35.9+k3s1" }}, ""},
		{"VersionThatCannotBeRead", []change{func(v *cluster.View) { v.Version = "main" }}, ""},

		{"CloudOfTheControllerManager", []change{pod(componentOf(cluster.ControllerManager, "--cloud-provider", "aws"))}, "FL102 pod/kube-system/kube-controller-manager-0"},
		{"ControllerManagerWithoutCloud", []change{pod(componentOf(cluster.ControllerManager))}, ""},
		{"OtherCIDR", []change{pod(componentOf(cluster.ControllerManager, "--cluster-cidr=10.1.0.0/16"))}, "FL103 deployment/kube-system/ccm"},
		{"SameCIDRsInAnotherOrder", []change{runsWith("--cluster-cidr=fd00::/48,10.0.0.0/8"), pod(componentOf(cluster.ControllerManager, "--cluster-cidr=10.0.0.0/8, fd00::1/48")), func(v *cluster.View) { v.Pods = slices.Delete(v.Pods, 3, 4) }}, ""},
		{"CIDRThatCannotBeRead", []change{pod(componentOf(cluster.ControllerManager, "--cluster-cidr=$(CIDR)"))}, ""},
		{"OtherCIDRWithoutRoutes", []change{runsWith("--configure-cloud-routes=false"), pod(componentOf(cluster.ControllerManager, "--cluster-cidr=10.1.0.0/16"))}, ""},
		{"TwoAllocators", []change{runsWith("--controllers=*,nodeipam"), pod(componentOf(cluster.ControllerManager, "--allocate-node-cidrs"))}, "FL103 deployment/kube-system/ccm"},
		{"CIDRsOfAManagedControlPlane", []change{noWorkload, lease("cloud-controller-manager", 0), pod(componentOf(cluster.ControllerManager, "--cluster-cidr=10.1.0.0/16"))}, ""},
		{"CloudOfTheAPIServer", []change{pod(componentOf(cluster.APIServer, "--cloud-provider=external"))}, "FL104 pod/kube-system/kube-apiserver-0"},
		{"NoPreferredAddress", []change{pod(componentOf(cluster.APIServer, "--kubelet-preferred-address-types=ExternalIP,Hostname"))}, "FL105 node/a"},
		{"PreferredAddress", []change{pod(componentOf(cluster.APIServer, "--kubelet-preferred-address-types=ExternalIP,InternalIP"))}, ""},
		{"MetalLB", []change{image("quay.io/metallb/controller:v0.15")}, "FL106 deployment/kube-system/other"},
		{"MetalLBWithAClass", []change{image("quay.io/metallb/controller:v0.15", "--lb-class=metallb.io/metallb")}, ""},
		{"MetalLBForServicesThatWeLeave", []change{runsWith("--load-balancer-class=acme.example/lb,-"), image("quay.io/metallb/controller:v0.15")}, ""},
		{"MetalLBForServicesThatWeDoNotServe", []change{runsWith("--controllers=*,-service"), image("quay.io/metallb/controller:v0.15")}, ""},

		{"NodeThatWasNeverInitialised", []change{aNode("n", bare, wrote("kubelet", time.Hour))}, "FL201 node/n"},
		{"InitialisedNodeOfAProviderWithoutData", []change{aNode("n", bare, shows("CloudInitialized", "True", "Initialized"))}, ""},
		{"YoungNode", []change{aNode("n", bare, young)}, ""},
		{"NodeThatIsLeftAlone", []change{aNode("n", bare, labelled(ownership.LabelExclude, ""))}, ""},
		{"NodeOfNobody", []change{aNode("n", bare, labelled(ownership.LabelProvider, "none"))}, ""},
		{"ClusterWithoutACloud", []change{noWorkload, noLeases, func(v *cluster.View) { v.Nodes = nil }, aNode("n", bare)}, ""},
		{"NoManager", []change{noWorkload, noLeases, aNode("n", tainted)}, "FL202 "},
		{"ManagerWithoutReplicas", []change{manager(func(w *cluster.Workload) { w.Replicas = 0 }), noLeases, aNode("n", tainted)}, "FL202 "},
		{"NoToleration", []change{manager(func(w *cluster.Workload) {
			w.Template.Tolerations = []corev1.Toleration{{Key: "node.kubernetes.io/network-unavailable", Operator: corev1.TolerationOpExists}}
		})}, "FL202 deployment/kube-system/ccm"},
		{"TolerationOfAnotherValue", []change{manager(func(w *cluster.Workload) {
			w.Template.Tolerations = []corev1.Toleration{{Key: "node.cloudprovider.kubernetes.io/uninitialized", Value: "false"}, {Key: "node.kubernetes.io/network-unavailable", Operator: corev1.TolerationOpExists}}
		})}, "FL202 deployment/kube-system/ccm"},
		{"StaticPodsNeedNoToleration", []change{manager(func(w *cluster.Workload) { w.Kind, w.Template.Tolerations = cluster.StaticPod, nil })}, ""},
		{"NodeThatWaits", []change{aNode("n", tainted, shows("CloudInitialized", "False", "CloudThrottled"))}, "FL203 node/n"},
		{"YoungNodeWaits", []change{aNode("n", tainted, young)}, ""},
		{"OldNodeThatWaitsAgain", []change{aNode("n", tainted, shows("CloudInitialized", "False", "CloudThrottled"), changedLately)}, ""},
		{"YoungNodeThatHasWaited", []change{aNode("n", tainted, young, shows("CloudInitialized", "False", "CloudThrottled"))}, "FL203 node/n"},
		{"InitialisedNodeThatWaitsAgain", []change{aNode("n", tainted, shows("CloudInitialized", "True", "Initialized"))}, "FL203 node/n"},
		{"NodeThatWaitsWithoutACondition", []change{aNode("n", tainted)}, "FL203 node/n"},
		{"SharedProviderID", []change{aNode("c", id("acme://a"))}, "FL204 node/c"},
		{"NodeThatTheCloudDoesNotKnow", []change{aNode("n", tainted, shows("CloudInitialized", "False", "InstanceNotFound"))}, "FL205 node/n"},
		{"ForeignNode", []change{aNode("n", id("k3s://n"))}, "FL206 node/n"},
		{"ForeignNodeThatAManagerClaims", []change{runsWith("--own-provider-id-schemes=acme,k3s"), aNode("n", id("k3s://n"))}, ""},
		{"SchemeThatIsNotTheProvidersName", []change{func(v *cluster.View) { v.Nodes = nil }, aNode("n", id("other://n"))}, ""},
		{"PendingRequest", []change{pending(time.Hour)}, "FL207 csr/csr"},
		{"YoungRequest", []change{pending(time.Minute)}, ""},
		{"NoPodCIDR", []change{aNode("n", func(n *corev1.Node) { n.Spec.PodCIDR = "" })}, "FL208 node/n"},
		{"NoPodCIDRWithoutRoutes", []change{runsWith("--configure-cloud-routes=false"), aNode("n", func(n *corev1.Node) { n.Spec.PodCIDR = "" })}, ""},
		{"OldLabels", []change{aNode("n", labelled(corev1.LabelFailureDomainBetaZone, "z"))}, "FL209 node/n"},
		{"DeletionIsHeld", []change{aNode("n", shows("CloudInstanceMissing", "True", "NoWitness"))}, "FL210 node/n"},

		{"ManyNodesWithoutAManager", []change{noWorkload, noLeases, func(v *cluster.View) {
			for i := range 12 {
				aNode(fmt.Sprint("n", i), tainted)(v)
			}
		}}, "FL202 "},
		{"LeaseThatNobodyRenews", []change{lease("cloud-controller-manager", time.Hour)}, "FL301 lease/kube-system/cloud-controller-manager"},
		{"ReleasedLease", []change{released}, "FL301 lease/kube-system/cloud-controller-manager"},
		{"LeaseThatWasNeverRenewed", []change{func(v *cluster.View) { v.Leases[0].Spec.RenewTime = nil }}, "FL301 lease/kube-system/cloud-controller-manager"},
		{"LeaseOfAManagerThatIsNotToBeSeen", []change{noWorkload, lease("cloud-controller-manager", time.Hour)}, "FL301 lease/kube-system/cloud-controller-manager"},
		{"NoLease", []change{noLeases}, "FL301 deployment/kube-system/ccm"},
		{"NoLeaseOfAYoungManager", []change{noLeases, manager(func(w *cluster.Workload) { w.Created = noon })}, ""},
		{"LeaseThatTheEnvironmentNames", []change{noLeases, runsWith("--leader-elect-resource-name=$(LEASE)")}, ""},
		{"LeftoverLease", []change{lease("old-ccm", time.Hour)}, ""},
		{"TwoWorkloads", []change{another("old-ccm", "--leader-elect-resource-name=old"), lease("old", 0)}, "FL302 deployment/kube-system/old-ccm"},
		{"TwoWorkloadsWithOneLease", []change{another("old-ccm")}, ""},
		{"TwoWorkloadsThatDivide", []change{another("old-ccm", "--leader-elect-resource-name=old", "--own-provider-id-schemes=x"), lease("old", 0)}, ""},
		{"WorkloadThatOnlyLooks", []change{another("new-ccm", "--leader-elect-resource-name=new", "--shadow")}, ""},
		{"WorkloadThatOnlyLooksBesideAHiddenOne", []change{noWorkload, another("new-ccm", "--shadow")}, ""},
		{"TwoLeases", []change{lease("hcloud-cloud-controller-manager", time.Second)}, "FL302 lease/kube-system/hcloud-cloud-controller-manager"},
		{"ManagerByItsFlags", []change{image("example.com/acme:v1", "--cloud-provider=acme", "--node-status-update-frequency=5m", "--leader-elect-resource-name=acme", "--cluster-cidr=10.0.0.0/8"), lease("acme", 0)}, "FL302 deployment/kube-system/other"},
		{"OperatorOfOpenShift", []change{image("quay.io/openshift/cluster-cloud-controller-manager-operator:v4"), lease("cluster-cloud-controller-manager-leader", 0)}, ""},
		{"ManagerInAShell", []change{image("example.com/acme:v1", "-c", "exec /bin/acme --cloud-provider=acme \\\n --configure-cloud-routes=false \\\n --leader-elect-resource-name=acme"), lease("acme", 0)}, "FL302 deployment/kube-system/other"},
		{"ControllerManagerIsNoManager", []change{image("registry.k8s.io/hyperkube:v1", "kube-controller-manager", "--cloud-provider=acme", "--allocate-node-cidrs")}, ""},
		{"AutoscalerIsNoManager", []change{image("registry.k8s.io/cluster-autoscaler:v1", "--cloud-provider=acme", "--leader-elect=false")}, ""},
		{"WritersInTurn", []change{aNode("n", wrote("hcloud-cloud-controller-manager", 30*time.Minute, 10*time.Minute), wrote("cloud-controller-manager", 20*time.Minute))}, "FL302 "},
		{"WriterThatWasReplaced", []change{aNode("n", wrote("hcloud-cloud-controller-manager", 30*time.Minute, 25*time.Minute), wrote("cloud-controller-manager", 20*time.Minute, time.Minute))}, ""},
		{"OlderWriterInTurn", []change{aNode("n", wrote("hcloud-cloud-controller-manager", 10*time.Minute, 30*time.Minute), wrote("cloud-controller-manager", 20*time.Minute))}, "FL302 "},
		{"WriterOfYesterday", []change{aNode("n", wrote("hcloud-cloud-controller-manager", 24*time.Hour), wrote("cloud-controller-manager", 20*time.Minute))}, ""},
		{"DNSOfTheCluster", []change{manager(func(w *cluster.Workload) { w.Template.DNSPolicy = corev1.DNSClusterFirst })}, "FL303 deployment/kube-system/ccm"},
		{"DNSOfTheHost", []change{manager(func(w *cluster.Workload) { w.Template.DNSPolicy, w.Template.HostNetwork = corev1.DNSClusterFirst, true })}, ""},
		{"RoutesAreNotWaitedFor", []change{manager(waitsForRoutes)}, "FL303 deployment/kube-system/ccm"},
		{"NoRoutesAreMade", []change{runsWith("--configure-cloud-routes=false"), manager(waitsForRoutes)}, ""},
		{"OneNode", []change{func(v *cluster.View) { v.Pods[1].Node = "a" }}, "FL304 deployment/kube-system/ccm"},
		{"TwoImages", []change{func(v *cluster.View) { v.Pods[1].Containers[0].ImageID = "sha256:2" }}, "FL306 deployment/kube-system/ccm"},
		{"TwoImagesInARollout", []change{manager(func(w *cluster.Workload) { w.Updating = true }), func(v *cluster.View) { v.Pods[1].Containers[0].ImageID = "sha256:2" }}, ""},
		{"NoElection", []change{runsWith("--leader-elect=false"), noLeases}, "FL309 deployment/kube-system/ccm"},
		{"NoElectionOfOneThatSurges", []change{runsWith("--leader-elect=false"), noLeases, manager(func(w *cluster.Workload) { w.Replicas, w.Ready = 1, 1 })}, "FL309 deployment/kube-system/ccm"},
		{"NoElectionOfOne", []change{runsWith("--leader-elect=false"), noLeases, manager(func(w *cluster.Workload) { w.Replicas, w.Ready, w.Surges = 1, 1, false })}, ""},
		{"NotReady", []change{manager(func(w *cluster.Workload) { w.Ready = 1 }), func(v *cluster.View) {
			v.Pods[1].Ready, v.Pods[1].Containers[0].Waiting = false, "CrashLoopBackOff"
		}}, "FL310 deployment/kube-system/ccm"},

		{"MissingRights", []change{reviewed(false, false)}, "FL401 deployment/kube-system/ccm"},
		{"RightsThatAreNeeded", []change{reviewed(false, true)}, ""},
		{"ExcessRights", []change{reviewed(true, true)}, "FL403 deployment/kube-system/ccm"},

		{"NodeWithoutAccess", []change{aNode("n", tainted, shows("CloudInitialized", "False", "CloudDenied"))}, "FL501 "},
		{"ServiceWithoutAccess", []change{with(says(service.ConditionProvisioning, "CloudDenied"))}, "FL501 "},
		{"ClockAhead", []change{func(v *cluster.View) { v.Offset = 6 * time.Second }}, "FL502 "},
		{"ClockBehind", []change{func(v *cluster.View) { v.Offset = -time.Minute }}, "FL502 "},
		{"ClockThatIsNearEnough", []change{func(v *cluster.View) { v.Offset = -5 * time.Second }}, ""},
		{"LeaseFromTheFuture", []change{lease("cloud-controller-manager", -time.Minute)}, "FL502 lease/kube-system/cloud-controller-manager"},
		{"CallsLimited", []change{happened("Lease", "l", "CloudCallsLimited", time.Minute)}, "FL504 lease/web/l"},
		{"CallsLimitedNoMore", []change{happened("Lease", "l", "CloudCallsLimited", 2*time.Minute), happened("Lease", "l", "CloudCallsNotLimited", time.Minute)}, ""},
		{"CallsLimitedAgain", []change{happened("Lease", "l", "CloudCallsLimited", 9*time.Minute), happened("Lease", "l", "CloudCallsLimited", time.Minute), happened("Lease", "l", "CloudCallsNotLimited", 5*time.Minute)}, "FL504 lease/web/l"},
		{"ComparisonsSlowed", []change{happened("Lease", "l", "CloudComparisonsSlowed", time.Minute)}, "FL505 lease/web/l"},
		{"ComparisonsAsBefore", []change{happened("Lease", "l", "CloudComparisonsSlowed", 2*time.Minute), happened("Lease", "l", "CloudCallsNotLimited", time.Minute)}, ""},
		{"CallsLimitedSaysSomebodyElse", []change{happenedBy("kubelet", "Lease", "l", "CloudCallsLimited", time.Minute)}, ""},
		{"CallsLimitedNoMoreSaysSomebodyElse", []change{happened("Lease", "l", "CloudCallsLimited", 2*time.Minute), happenedBy("kubelet", "Lease", "l", "CloudCallsNotLimited", time.Minute)}, "FL504 lease/web/l"},
		{"ComparisonsSlowedSaysSomebodyElse", []change{happenedBy("", "Lease", "l", "CloudComparisonsSlowed", time.Minute)}, ""},
		{"CallsLimitedLongAgo", []change{happened("Lease", "l", "CloudCallsLimited", 2*time.Hour)}, ""},

		{"NoAddress", []change{with()}, "FL601 service/web/other"},
		{"NoAddressWithAnEvent", []change{with(says(service.ConditionProvisioning, "CloudRejected")), happened("Service", "other", "SyncLoadBalancerFailed", time.Minute)}, "FL601 service/web/other"},
		{"NoAddressWithASeries", []change{with(), func(v *cluster.View) {
			for age := range 3 {
				e := corev1.Event{InvolvedObject: corev1.ObjectReference{Kind: "Service", Namespace: "web", Name: "other"}, Type: corev1.EventTypeWarning}
				switch at := metav1.NewMicroTime(noon.Add(-time.Duration(age) * time.Minute)); age {
				case 0:
					e.CreationTimestamp = metav1.NewTime(at.Time)
				case 1:
					e.EventTime = at
				default:
					e.Series = &corev1.EventSeries{LastObservedTime: at}
				}
				v.Events = append(v.Events, e)
			}
		}}, "FL601 service/web/other"},
		{"NoAddressInADeletion", []change{with(func(s *corev1.Service) { s.DeletionTimestamp = new(ago(0)) })}, ""},
		{"NoAddressForALease", []change{noWorkload, with(ofClass("x"))}, "FL601 service/web/other"},
		{"Contested", []change{happened("Service", "front", "LoadBalancerStatusContested", time.Minute)}, "FL602 service/web/front"},
		{"ContestedSaysSomebodyElse", []change{happenedBy("kubelet", "Service", "front", "LoadBalancerStatusContested", time.Minute)}, ""},
		{"NameThatIsAForgedLine", []change{happened("Service", "x\n  FL999", "LoadBalancerStatusContested", time.Minute)}, `FL602 service/web/x   FL999`},
		{"UnservedClass", []change{with(ofClass("x"))}, "FL603 service/web/other"},
		{"UnservedWithoutAClass", []change{runsWith("--load-balancer-class=x,-"), with()}, "FL603 service/web/other"},
		{"ServedClass", []change{runsWith("--load-balancer-class=x"), with(ofClass("x"), addressed)}, ""},
		{"HeldDeletion", []change{with(deleting, says(service.ConditionCleanupHeld, "ClassNotServed"))}, "FL604 service/web/other"},
		{"NoBackends", []change{with(addressed, says(service.ConditionServing, "NoNodes"))}, "FL605 service/web/other"},
		{"NoBackendsAndNoAddress", []change{with(says(service.ConditionServing, "NoNodes"))}, "FL605 service/web/other"},
		{"NoLocalEndpoint", []change{with(addressed, local), endpoints(new(false))}, "FL606 service/web/other"},
		{"LocalEndpoint", []change{with(addressed, local), endpoints(nil)}, ""},
		{"LocalServiceThatWasNotRead", []change{with(addressed, local)}, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			v := healthy()
			for _, c := range row.changes {
				c(v)
			}
			r := Run(v, Choice{})
			var got []string
			for _, f := range r.Findings {
				got = append(got, f.ID+" "+f.Object)
			}
			var want []string
			if row.want != "" {
				want = []string{row.want}
				shown[row.want[:len("FL101")]] = true
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("-want +got:\n%s\n%s", d, r.Text())
			}
		})
	}
	for _, c := range Checks() {
		if !shown[c.ID] {
			t.Errorf("no row finds %s", c.ID)
		}
	}
}

// TestEachCheckIsComplete checks that each check has all fields that the reference page
// needs.
func TestEachCheckIsComplete(t *testing.T) {
	var last string
	for _, c := range Checks() {
		if c.ID <= last || len(c.ID) != 5 || !strings.HasPrefix(c.ID, "FL") {
			t.Errorf("%s after %s: IDs are FL and three digits, in their order", c.ID, last)
		}
		last = c.ID
		if c.Title == "" || c.Why == "" || c.Fix == "" || c.find == nil || c.Level != Error && c.Level != Warning {
			t.Errorf("%s is not complete: %+v", c.ID, c)
		}
	}
}

var forbidden = apierrors.NewForbidden(schema.GroupResource{}, "", nil)

// TestMissingSources removes one source at a time. The checks that need this source
// must be unknown, and no others.
func TestMissingSources(t *testing.T) {
	for _, s := range []cluster.Source{cluster.Nodes, cluster.Services, cluster.Leases, cluster.Deployments, cluster.DaemonSets, cluster.StatefulSets, cluster.Pods, cluster.Events, cluster.Requests, cluster.Slices, cluster.Reviews} {
		t.Run(string(s), func(t *testing.T) {
			v := healthy()
			v.Missing[s] = forbidden
			r := Run(v, Choice{})
			if len(r.Findings) > 0 {
				t.Errorf("findings: %+v", r.Findings)
			}
			for _, c := range Checks() {
				at := slices.IndexFunc(r.Unknown, func(u Unknown) bool { return u.ID == c.ID })
				if needs := slices.Contains(c.Needs, s); needs != (at >= 0) {
					t.Errorf("%s needs it: %v, unknown: %v", c.ID, needs, at >= 0)
				} else if needs && r.Unknown[at].Why != "needs "+string(s) {
					t.Errorf("%s: %s", c.ID, r.Unknown[at].Why)
				}
			}
		})
	}
}

// TestNoLeaseIsNoProofThatNobodyWorks checks that the report mentions
// --leader-elect=false. With that flag, a manager that is not visible might work
// without a Lease.
func TestNoLeaseIsNoProofThatNobodyWorks(t *testing.T) {
	const hint = "one with --leader-elect=false "
	released := healthy()
	noWorkload(released)
	lease("cloud-controller-manager", time.Hour)(released)
	if all := Run(released, Choice{}).Findings; len(all) != 1 || len(all[0].Evidence) != 1 || !strings.Contains(all[0].Evidence[0], hint) {
		t.Errorf("a Lease that nobody renews: %+v", all)
	}
	nothing := healthy()
	nothing.Workloads, nothing.Leases, nothing.Reviews = nil, nil, nil
	for _, u := range Run(nothing, Choice{}).Unknown {
		if u.ID == "FL301" && strings.Contains(u.Why, hint) {
			return
		}
	}
	t.Error("FL301 does not name the flag if no manager is visible")
}

// TestNothingToLookAt lists, for some clusters, the checks whose result is unknown. A
// result is unknown if a check has nothing to look at, or if its sources were read only
// in part.
func TestNothingToLookAt(t *testing.T) {
	for name, row := range map[string]struct {
		change change
		want   []string
	}{
		"ManagedControlPlane":     {func(v *cluster.View) { v.Pods = v.Pods[:2] }, []string{"FL102", "FL103", "FL104", "FL105"}},
		"NoManager":               {func(v *cluster.View) { v.Workloads, v.Leases, v.Reviews = nil, nil, nil }, []string{"FL301", "FL401", "FL403", "FL603"}},
		"ManagerOutside":          {func(v *cluster.View) { v.Workloads, v.Reviews = nil, nil }, []string{"FL401", "FL403", "FL603"}},
		"MoreRequestsThanAreRead": {func(v *cluster.View) { v.Partly[cluster.Requests] = true }, []string{"FL207"}},
	} {
		t.Run(name, func(t *testing.T) {
			v := healthy()
			row.change(v)
			var got []string
			for _, u := range Run(v, Choice{}).Unknown {
				got = append(got, u.ID)
			}
			if d := cmp.Diff(row.want, got); d != "" {
				t.Errorf("-want +got:\n%s", d)
			}
		})
	}
}

func TestChoice(t *testing.T) {
	v := healthy()
	for _, c := range []change{aNode("n", tainted), aNode("m", tainted), aNode("c", id("acme://b")), with()} {
		c(v)
	}
	for name, row := range map[string]struct {
		choice Choice
		want   string
	}{
		"All":      {Choice{}, "FL203 node/n, FL203 node/m, FL204 node/c, FL601 service/web/other"},
		"Category": {Choice{Only: []string{"services"}}, "FL601 service/web/other"},
		"Skipped":  {Choice{Skip: []string{"fl203"}}, "FL204 node/c, FL601 service/web/other"},
		"Node":     {Choice{Node: "m"}, "FL203 node/m"},
		"OneOfTwo": {Choice{Node: "b"}, "FL204 node/c"},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, f := range Run(v, row.choice).Findings {
				got = append(got, f.ID+" "+f.Object)
			}
			if got := strings.Join(got, ", "); got != row.want {
				t.Errorf("got %s, want %s", got, row.want)
			}
		})
	}
	for want, c := range map[string]Choice{
		`--only: "node" is not one of control-plane, nodes, daemon, rights, cloud, services`: {Only: []string{"node"}},
		`--skip: there is no check "FL999"; docs/reference/doctor.md lists all`:              {Skip: []string{"FL999"}},
		"<nil>": {Only: []string{"nodes"}, Skip: []string{"FL201"}},
	} {
		if got := fmt.Sprint(c.Validate()); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

// The author of an event chooses the name of its object. A name that no object can
// have does not appear in a command.
func TestNameOfAnObjectInACommand(t *testing.T) {
	check := Check{
		Fix:   "kubectl -n {namespace} get {kind} {name}",
		FixOf: map[string]string{"lease": "kubectl -n {namespace} describe {kind} {name}", "": "kubectl get nodes"},
	}
	for object, want := range map[string]string{
		"service/shop/web":           "kubectl -n shop get service web",
		"node/a.example.com":         "kubectl -n NAMESPACE get node a.example.com",
		"service/shop/x; rm -rf ~ #": "kubectl -n NAMESPACE get KIND NAME",
		"service/shop/$(reboot)":     "kubectl -n NAMESPACE get KIND NAME",
		"service/shop/-A":            "kubectl -n NAMESPACE get KIND NAME",
		"service/shop/a\nb":          "kubectl -n NAMESPACE get KIND NAME",
		"lease/kube-system/ccm":      "kubectl -n kube-system describe lease ccm",
		"lease/kube-system/x;":       "kubectl -n NAMESPACE describe KIND NAME",
		"":                           "kubectl get nodes",
	} {
		if got := check.fixFor(object); got != want {
			t.Errorf("%q: %q, want %q", object, got, want)
		}
	}
}

func TestWarningsAboutAServiceAreQuoted(t *testing.T) {
	ours, theirs := happened("Service", "other", "SyncLoadBalancerFailed", 2*time.Minute), happenedBy("kubelet", "Service", "other", "SyncLoadBalancerFailed", time.Minute)
	for name, row := range map[string]struct {
		changes []change
		want    string
	}{
		"Daemon":              {[]change{ours}, "SyncLoadBalancerFailed: What."},
		"SomebodyElse":        {[]change{theirs}, "No cloud-controller-manager says why. A warning by kubelet: SyncLoadBalancerFailed: What."},
		"DaemonBeforeAnother": {[]change{ours, theirs}, "SyncLoadBalancerFailed: What."},
		"DaemonAfterAnother":  {[]change{theirs, ours}, "SyncLoadBalancerFailed: What."},
		"Nobody":              {nil, "No condition and no event says why."},
	} {
		t.Run(name, func(t *testing.T) {
			v := healthy()
			for _, c := range append([]change{with()}, row.changes...) {
				c(v)
			}
			r := Run(v, Choice{Only: []string{"services"}})
			if len(r.Findings) != 1 || !strings.HasSuffix(r.Findings[0].Message, ". "+row.want) {
				t.Errorf("got %v, want %q", r.Findings, row.want)
			}
		})
	}
}
