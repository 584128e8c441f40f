package settings

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	cliflag "k8s.io/component-base/cli/flag"
	"k8s.io/component-base/featuregate"
	featuregatetesting "k8s.io/component-base/featuregate/testing"
	logsapi "k8s.io/component-base/logs/api/v1"

	"github.com/fairlead-k8s/fairlead/internal/controller/ownership"
)

// TestUpstreamsFlags compares our flags with upstream's. All of upstream's flags must
// be here, under the same headings. If the default of a flag differs, the flag must
// have an annotation that says so.
func TestUpstreamsFlags(t *testing.T) {
	if got := len(upstreamFlags); got != 87 {
		t.Errorf("the list has %d flags, upstream has 87", got)
	}
	sections := sections()
	for _, want := range upstreamFlags {
		t.Run(want.Name, func(t *testing.T) {
			f := sections.FlagSets[want.Heading].Lookup(want.Name)
			switch {
			case f == nil:
				t.Fatalf("not under %q", want.Heading)
			case want.Name == "feature-gates":
				return // other tests have set gates, which belong to the process
			}
			how := strings.Join(f.Annotations[annotationDeviation], "")
			if f.DefValue != want.Default && !strings.Contains(how, want.Default) {
				t.Errorf("the default is %q, upstream's %q, and the annotation does not say so: %q", f.DefValue, want.Default, how)
			}
		})
	}
}

func TestHeadings(t *testing.T) {
	want := []string{
		"debugging", "leader-migration", "generic", "cloud-node-controller", "cloud-node-lifecycle-controller", "node ownership", "service-lb-controller",
		"node-route-controller", "kubelet-serving-csr-controller", "node-ipam-controller", "webhook", "webhook serving", "secure serving", "authentication", "authorization", "misc", "global",
	}
	if diff := cmp.Diff(want, sections().Order); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestUpstreamsGates sets each gate to its present value, because a locked gate
// accepts no other value.
func TestUpstreamsGates(t *testing.T) {
	flagSet(New(ours)) // This adds the gates of logging and metrics to the process.
	all := utilfeature.DefaultMutableFeatureGate.GetAll()
	for _, gate := range upstreamGates {
		t.Run(gate, func(t *testing.T) {
			_, known := all[featuregate.Feature(gate)]
			if !known {
				t.Error("unknown")
			}
			if strings.HasPrefix(gate, "All") {
				return // AllAlpha and AllBeta set gates for the whole process.
			}
			setting := fmt.Sprintf("--feature-gates=%s=%t", gate, utilfeature.DefaultFeatureGate.Enabled(featuregate.Feature(gate)))
			if err := flagSet(New(ours)).Parse([]string{setting}); err != nil {
				t.Error(err)
			}
		})
	}
}

const (
	allControllers = "cloud-node-controller, cloud-node-lifecycle-controller, service-lb-controller, node-route-controller, kubelet-serving-csr-controller, persistent-volume-label-controller, node-ipam-controller"
	nothingToTake  = "runs no controller: '*,-foo' runs all but foo, 'foo' runs foo alone; there are " + allControllers
)

func TestValidation(t *testing.T) {
	for _, tc := range []struct {
		name string
		args string
		want string // "": valid
	}{
		{"DefaultsAreValid", "", ""},
		{"ProviderIsRequired", "--cloud-provider=", ErrNoProvider.Error()},
		{"ExplicitConcurrencyIsObeyed", "--concurrent-node-syncs=1 --concurrent-node-status-updates=3", ""},
		{"SchemeIsNoProviderID", "--own-provider-id-schemes=hcloud://", `--own-provider-id-schemes: "hcloud://" is not the part of a provider ID before ://`},
		{"ProviderLabelIsALabel", "--own-provider-label=a/b", `--own-provider-label: "a/b" is not a valid label value`},
		{"BackendsAreChosenByAWordOrANumber", "--service-backends=0", `--service-backends must be all, endpoints or a number of at least 1, but got "0"`},
		{"BackendsAreOfAllOrOwn", "--service-backends-of=mine", `--service-backends-of must be "all" or "own", but got "mine"`},
		{"NodesNeedAWorker", "--concurrent-node-syncs=0", "--concurrent-node-syncs must be at least 1, but got 0"},
		{"NegativeConcurrencyIsAnError", "--concurrent-node-syncs=-1", "--concurrent-node-syncs must be at least 1, but got -1"},
		{"ZeroStatusUpdatesFollowSyncs", "--concurrent-node-status-updates=0", ""},
		{"NegativeStatusUpdatesAreAnError", "--concurrent-node-status-updates=-1", "--concurrent-node-status-updates must not be negative, but got -1"},
		{"RoutesNeedAWorker", "--concurrent-route-syncs=0", "--concurrent-route-syncs must be at least 1, but got 0"},
		{"RoutesNeedAPeriod", "--route-reconciliation-period=0s", "--route-reconciliation-period must be positive, but got 0s"},
		{"RouteStrayForIsNotNegative", "--route-deletion-stray-for=-1s", "--route-deletion-stray-for must not be negative, but got -1s"},
		{"RouteAdoptConditionsAfterIsNotNegative", "--route-adopt-conditions-after=-1s", "--route-adopt-conditions-after must not be negative, but got -1s"},
		{"RouteOverBudgetAfterIsNotNegative", "--route-deletion-over-budget-after=-1s", "--route-deletion-over-budget-after must not be negative, but got -1s"},
		{"CertificatesLastTenMinutesAtLeast", "--serving-certificate-longest=9m", "--serving-certificate-longest must be at least 10m, but got 9m0s"},
		{"OnePendingRequestAtLeast", "--serving-certificate-pending-per-node=0", "--serving-certificate-pending-per-node must be at least 1, but got 0"},
		{"OneApprovalAMinuteAtLeast", "--serving-certificate-approvals-per-minute=0", "--serving-certificate-approvals-per-minute must be between 1 and 6000, but got 0"},
		{"RouteBudgetIsNotNegative", "--route-deletion-budget-routes=-1", "--route-deletion-budget-routes must not be negative, but got -1"},
		{"RouteBudgetIsAPercentage", "--route-deletion-budget-percent=101", "--route-deletion-budget-percent must be between 0 and 100, but got 101"},
		{"NodeCIDRsNeedTheClustersCIDR", "--controllers=nodeipam --allocate-node-cidrs", "--cluster-cidr is empty: --allocate-node-cidrs needs the CIDR of the pods"},
		{"NodeCIDRsAreOfOneOrTwoFamilies", "--controllers=nodeipam --allocate-node-cidrs --cluster-cidr=10.0.0.0/8,10.0.0.0/9", "--cluster-cidr has two CIDRs of one family, and may have one of each: 10.0.0.0/8,10.0.0.0/9"},
		{"NodeCIDRsAreOff", "--allocate-node-cidrs --cluster-cidr=nonsense --node-cidr-mask-size=1", ""},
		{"NodeCIDRsAreNotAllocated", "--controllers=nodeipam --cluster-cidr=nonsense --node-cidr-mask-size=1", ""},
		{"OneAllocatorExists", "--controllers=nodeipam --allocate-node-cidrs --cluster-cidr=10.0.0.0/8 --cidr-allocator-type=CloudAllocator", `--cidr-allocator-type must be "RangeAllocator", but got "CloudAllocator"`},
		{"MaskIsLongerThanTheCluster", "--controllers=nodeipam --allocate-node-cidrs --cluster-cidr=10.0.0.0/16 --node-cidr-mask-size=15", "--node-cidr-mask-size must be between 16 and 32 for --cluster-cidr=10.0.0.0/16, but is 15"},
		{"MaskIsAsLongAsTheCluster", "--controllers=nodeipam --allocate-node-cidrs --cluster-cidr=10.0.0.0/16 --node-cidr-mask-size=16", ""},
		{"DefaultMaskIsLongEnough", "--controllers=nodeipam --allocate-node-cidrs --cluster-cidr=10.0.0.0/25", "--node-cidr-mask-size-ipv4 must be between 25 and 32 for --cluster-cidr=10.0.0.0/25, but is 24"},
		{"MaskOfIPv6IsSixteenLongerAtMost", "--controllers=nodeipam --allocate-node-cidrs --cluster-cidr=fd00::/47", "--node-cidr-mask-size-ipv6 must be between 47 and 63 for --cluster-cidr=fd00::/47, but is 64"},
		{"MaskOfOneFamilyOnly", "--controllers=nodeipam --allocate-node-cidrs --cluster-cidr=10.0.0.0/8,fd00::/48 --node-cidr-mask-size=24", "--node-cidr-mask-size is for one family, but --cluster-cidr has two; use --node-cidr-mask-size-ipv4 and --node-cidr-mask-size-ipv6"},
		{"MaskExcludesThatOfAFamily", "--controllers=nodeipam --allocate-node-cidrs --cluster-cidr=10.0.0.0/8 --node-cidr-mask-size=24 --node-cidr-mask-size-ipv4=24", "--node-cidr-mask-size excludes --node-cidr-mask-size-ipv4 and --node-cidr-mask-size-ipv6"},
		{"MasksOfTwoFamilies", "--controllers=nodeipam --allocate-node-cidrs --cluster-cidr=10.0.0.0/8,fd00::/48 --node-cidr-mask-size-ipv4=25 --node-cidr-mask-size-ipv6=60", ""},
		{"RangeOfServicesIsACIDR", "--controllers=nodeipam --allocate-node-cidrs --cluster-cidr=10.0.0.0/8 --service-cluster-ip-range=10.0.0.1", `--service-cluster-ip-range: "10.0.0.1" is not a CIDR: netip.ParsePrefix("10.0.0.1"): no '/'`},
		{"WrongClusterCIDRIsLeftToTheRouteController", "--cluster-cidr=nonsense", ""},
		{"RefreshNeedsAPeriod", "--node-status-update-frequency=0s", "--node-status-update-frequency must be positive, but got 0s"},
		{"ConditionIsForKnownNodes", "--node-condition=never", `--node-condition must be "waiting" or "always", but got "never"`},
		{"NotFoundIsKnown", "--node-deletion-not-found-error=gone", `--node-deletion-not-found-error must be "hold" or "absent", but got "gone"`},
		{"NotFoundNeedsWitnesses", "--node-deletion-not-found-error=absent --node-deletion-witnesses=0", "--node-deletion-not-found-error=absent needs witnesses, because a cloud that finds nothing at all answers the same, but got --node-deletion-witnesses=0"},
		{"LifecycleNeedsAWorker", "--concurrent-node-lifecycle-syncs=0", "--concurrent-node-lifecycle-syncs must be at least 1, but got 0"},
		{"AnAbsenceIsNeeded", "--node-deletion-absences=0", "--node-deletion-absences must be at least 1, but got 0"},
		{"WitnessesAreNotNegative", "--node-deletion-witnesses=-1", "--node-deletion-witnesses must not be negative, but got -1"},
		{"AbsenceIsNotNegative", "--node-deletion-absent-for=-1s", "--node-deletion-absent-for must not be negative, but got -1s"},
		{"BudgetIsAPartOfTheNodes", "--node-deletion-budget-percent=101", "--node-deletion-budget-percent must be between 0 and 100, but got 101"},
		{"BudgetIsNotNegative", "--node-deletion-budget-nodes=-1", "--node-deletion-budget-nodes must not be negative, but got -1"},
		{"AnnouncementIsATaint", "--node-deletion-announced-by-taints=a,b/c/d", `--node-deletion-announced-by-taints must be keys of taints, but got "b/c/d"`},
		{"SilenceAnnouncesNothing", "--node-deletion-announced-by-taints=node.kubernetes.io/out-of-service,node.kubernetes.io/unreachable", `--node-deletion-announced-by-taints must not have the taint "node.kubernetes.io/unreachable", because Kubernetes sets it on Nodes that stay`},
		{"InitialisationAnnouncesNothing", "--node-deletion-announced-by-taints=node.cloudprovider.kubernetes.io/shutdown", `--node-deletion-announced-by-taints must not have the taint "node.cloudprovider.kubernetes.io/shutdown", because Kubernetes sets it on Nodes that stay`},
		{"OverBudgetRateIsPositive", "--node-deletion-over-budget-rate-nodes=0", "--node-deletion-over-budget-rate-nodes must be at least 1, but got 0; --node-deletion=false keeps every node"},
		{"MonitorNeedsAPeriod", "--node-monitor-period=0s", "--node-monitor-period must be positive, but got 0s"},
		{"ServicesNeedAWorker", "--concurrent-service-syncs=0", "--concurrent-service-syncs must be at least 1, but got 0"},
		{"ServiceResyncIsNotNegative", "--service-resync-period=-1s", "--service-resync-period must be 0 or at least 1m0s, but got -1s"},
		{"ServiceResyncTakesAMinute", "--service-resync-period=59s", "--service-resync-period must be 0 or at least 1m0s, but got 59s"},
		{"ServiceResyncEachMinute", "--service-resync-period=1m", ""},
		{"ServiceResyncMayBeOff", "--service-resync-period=0", ""},
		{"RetiredClassHasAName", "--load-balancer-class-cleanup=a,", `--load-balancer-class-cleanup: "" is not a load balancer class, such as example.com/internal`},
		{"ServicesWithoutClassMayBeLeftToOthers", "--load-balancer-class=a,-", ""},
		{"AClassIsServed", "--load-balancer-class=-", "--load-balancer-class=- serves no Service at all: name a class, too, or switch the controller off"},
		{"NoClassIsNotRetired", "--load-balancer-class-cleanup=-", `--load-balancer-class-cleanup: "-" is not a load balancer class, such as example.com/internal`},
		{"ClassHasAName", "--load-balancer-class=a,", `--load-balancer-class: "" is not a load balancer class, such as example.com/internal`},
		{"ClassIsOneThatAServiceCanHave", "--load-balancer-class=a/b/c", `--load-balancer-class: "a/b/c" is not a load balancer class, such as example.com/internal`},
		{"BackendsAreRemovedForKnownReasons", "--service-remove-backends-on=cordon", `--service-remove-backends-on: "cordon" is none of "taint", "deletion" and condition:TYPE`},
		{"BackendsAreRemovedForANamedCondition", "--service-remove-backends-on=taint,condition:", `--service-remove-backends-on: "condition:" names no condition, as in condition:Terminating`},
		{"BackendsThatAreReadyStay", "--service-remove-backends-on=condition:Ready", `--service-remove-backends-on=condition:Ready would remove each node that is ready`},
		{"BackendsAreRemovedForConditions", "--service-remove-backends-on=condition:Terminating,condition:example.com/Draining", ""},
		{"ChangesNeedTime", "--cloud-mutation-timeout=0s", "--cloud-mutation-timeout must be positive, but got 0s"},
		{"RateOfCallsIsNotNegative", "--cloud-api-qps=-1", "--cloud-api-qps must be 0 for no maximum or a positive number, but got -1"},
		{"RateOfCallsIsANumber", "--cloud-api-qps=NaN", "--cloud-api-qps must be 0 for no maximum or a positive number, but got NaN"},
		{"BurstOfCallsIsNotNegative", "--cloud-api-burst=-1", "--cloud-api-burst must not be negative, but got -1"},
		{"BurstOfCallsNeedsARate", "--cloud-api-burst=5", "--cloud-api-burst has no effect without --cloud-api-qps: set both"},
		{"BudgetIsNotNegative", "--cloud-api-budget=-1", "--cloud-api-budget must be 0 for unknown or a positive number of calls a second, but got -1"},
		{"NumberOfCallsIsNotNegative", "--cloud-api-concurrency=-1", "--cloud-api-concurrency must not be negative, but got -1"},
		{"ReadsNeedTime", "--cloud-read-timeout=0s", "--cloud-read-timeout must be positive, but got 0s"},
		{"ResyncMayBeOff", "--min-resync-period=0s", ""},
		{"ResyncIsNotNegative", "--min-resync-period=-1s", "--min-resync-period must not be negative, but got -1s"},
		{"StartIntervalIsNotNegative", "--controller-start-interval=-1s", "--controller-start-interval must not be negative, but got -1s"},
		{"AliasIsKnown", "--controllers=cloud-node,-service", ""},
		{"UnknownController", "--controllers=*,-foo", `--controllers: "foo" is not in the list of known controllers: ` + allControllers},
		{"OnlyLeasesLock", "--leader-elect-resource-lock=endpoints", `--leader-elect-resource-lock: resourceLock value must be "leases"`},
		{"LockIsNotReadWithoutElection", "--leader-elect=false --leader-elect-resource-lock=endpoints", ""},
		{"LeaseIsLongerThanItsRenewal", "--leader-elect-renew-deadline=15s", "--leader-elect-lease-duration must be longer than --leader-elect-renew-deadline (15s), but got 15s"},
		{"RenewalAllowsARetry", "--leader-elect-retry-period=9s", "--leader-elect-renew-deadline must be longer than 1.2 times --leader-elect-retry-period (9s), but got 10s"},
		{"RetryTakesTime", "--leader-elect-retry-period=0s", "--leader-elect-retry-period must be positive, but got 0s"},
		{"RecoveryIsNotNegative", "--leader-elect-recovery-timeout=-1s", "--leader-elect-recovery-timeout must not be negative, but got -1s"},
		{"LeaseLastsASecond", "--leader-elect-lease-duration=900ms --leader-elect-renew-deadline=500ms --leader-elect-retry-period=100ms", "--leader-elect-lease-duration must be at least 1s, but got 900ms"},
		{"LeaseHasAName", "--leader-elect-resource-name=", "--leader-elect-resource-name cannot be empty"},
		{"LeaseHasANamespace", "--leader-elect-resource-namespace=", "--leader-elect-resource-namespace cannot be empty"},
		{"PortInRange", "--secure-port=-1", "--secure-port must be between 1 and 65535, or 0 to serve nothing, but got -1"},
		{"PortIsNotTooLarge", "--secure-port=99999", "--secure-port must be between 1 and 65535, or 0 to serve nothing, but got 99999"},
		{"ClusterHasAName", "--cluster-name=", `--cluster-name cannot be empty, because load balancers and routes are found by it; without the flag it is "kubernetes"`},
		{"ContentTypeIsKnown", "--kube-api-content-type=foo", `--kube-api-content-type: "foo" is none of ["application/vnd.kubernetes.protobuf" "application/json" "application/yaml"]`},
		{"WrongClusterCIDROfANamedController", "--cluster-cidr=foo --controllers=route", `--cluster-cidr: "foo" is not a CIDR: netip.ParsePrefix("foo"): no '/'`},
		{"TwoCIDRsOfOneFamily", "--cluster-cidr=10.0.0.0/8,11.0.0.0/8 --controllers=*,node-route-controller", "--cluster-cidr has two CIDRs of one family, and may have one of each: 10.0.0.0/8,11.0.0.0/8"},
		{"ClusterCIDRIsNotReadWithoutRoutes", "--cluster-cidr=foo --controllers=route --configure-cloud-routes=false", ""},
		{"NoControllers", "--controllers=", `--controllers: "" ` + nothingToTake},
		{"OnlyWhatDoesNotRun", "--controllers=-service", `--controllers: "-service" ` + nothingToTake},
		{"WhatRunsMayComeSecond", "--controllers=-service,cloud-node", ""},
		{"PortMayBeOff", "--secure-port=0", ""},
		{"MigrationNeedsAnElection", "--enable-leader-migration --leader-elect=false", "--enable-leader-migration needs --leader-elect"},
		{"MigrationNeedsItsFile", "--enable-leader-migration --leader-migration-config=/nowhere", `--leader-migration-config=/nowhere: unable to read leader migration configuration from "/nowhere": open /nowhere: no such file or directory`},
		{
			"TwoLeasesAreNotOne", "--enable-leader-migration --leader-elect-resource-name=cloud-provider-extraction-migration",
			`--enable-leader-migration: the lease of the migration and the main lease (--leader-elect-resource-name) are both called "cloud-provider-extraction-migration"; they must differ`,
		},
		{"FileIsNotReadWithoutMigration", "--leader-migration-config=/nowhere", ""},
		{"WebhookIsKnown", "--webhooks=zz", `--webhooks: "zz" is not in the list of known webhooks`},
		{"WebhookPortInRange", "--webhook-secure-port=70000", "--webhook-secure-port 70000 must be between 0 and 65535, inclusive. A value of 0 disables the webhook endpoint entirely."},
		{"WebhooksHaveAPortOfTheirOwn", "--webhook-secure-port=10258", "--webhook-secure-port cannot be the same value as --secure-port"},
		{"PortOfWebhooksMayBeOff", "--webhook-secure-port=0", ""},
		{"CallersOfWebhooksMayNeedACertificate", "--webhook-client-ca-file=/nowhere/ca", "--webhook-client-ca-file: open /nowhere/ca: no such file or directory"},
		{"BothPortsMayBeOff", "--webhook-secure-port=0 --secure-port=0", ""},
		{"CipherIsKnown", "--tls-cipher-suites=rot13", "--tls-cipher-suites: Cipher suite rot13 not supported or doesn't exist"},
		{"CurveIsKnown", "--tls-curve-preferences=-1", "--tls-curve-preferences: curve preference -1 is out of range (must be 1-65535)"},
		{"TLSVersionIsKnown", "--webhook-tls-min-version=VersionTLS9", `--webhook-tls-min-version: unknown tls version "VersionTLS9"`},
		{"CertificateNeedsItsKey", "--tls-cert-file=/dev/null", "--tls-cert-file and --tls-private-key-file must be set together"},
		{"FilesAreThere", "--kubeconfig=/nowhere/a --cloud-config=/nowhere/b", "[--cloud-config: open /nowhere/b: no such file or directory, --kubeconfig: open /nowhere/a: no such file or directory]"},
		{"CertificatesAreThere", "--tls-cert-file=/dev/null --tls-private-key-file=/nowhere/key", "--tls-private-key-file: open /nowhere/key: no such file or directory"},
		{"FileIsNoFolder", "--cloud-config=/", "--cloud-config: / is a folder"},
		{"AllErrorsAtOnce", "--cloud-provider= --controllers=foo", `[--controllers: "foo" is not in the list of known controllers: ` + allControllers + `, ` + ErrNoProvider.Error() + `]`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			o := New(ours)
			flags := flagSet(o)
			if err := flags.Parse(strings.Fields("--cloud-provider=test " + tc.args)); err != nil {
				t.Fatal(err)
			}
			var got string
			if err := validate(o); err != nil {
				got = err.Error()
			}
			if got != tc.want {
				t.Errorf("got  %q\nwant %q", got, tc.want)
			}
		})
	}
}

func TestFlagValues(t *testing.T) {
	for _, tc := range []struct {
		name string
		args string
		want string // part of the error; "": accepted
	}{
		{"TypeLabelsOnly", "--node-label-reconcile=type", ""},
		{"NoLabels", "--node-label-reconcile=none", ""},
		{"NoneStandsAlone", "--node-label-reconcile=type,none", `"none" is not 'type', 'additional' or 'remove'`},
		{"LabelsAreRemoved", "--node-label-reconcile=type,additional,remove", ""},
		{"OnlyAdditionalLabelsAreRemoved", "--node-label-reconcile=type,remove", "'remove' needs 'additional'"},
		{"EmptyIsNotNone", "--node-label-reconcile=", `"" is not 'type'`},
		{"UnderscoresAreDashes", "--cluster_name=east", ""},
		{"GateOfAdditionalLabels", "--feature-gates=CloudNodeAdditionalLabelsReconciliation=false", ""},
		{"GateOfRoutes", "--feature-gates=CloudControllerManagerWatchBasedRoutesReconciliation=false", ""},
		{"GateOfWebhooks", "--feature-gates=CloudControllerManagerWebhook=false", ""},
		{"GateOfLeaseRelease", "--feature-gates=ControllerManagerReleaseLeaderElectionLockOnExit=false", ""},
		{"GateOfLibrary", "--feature-gates=NativeHistograms=true,WatchList=true,ContextualLogging=true", ""},
		{"UnknownFlag", "--nope", "unknown flag: --nope"},
		{"VersionMayBeABool", "--version=1", ""},
		{"VersionIsNoWord", "--version=maybe", "neither a bool, nor 'raw', nor a version"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var got string
			if err := flagSet(New(ours)).Parse(strings.Fields(tc.args)); err != nil {
				got = err.Error()
			}
			if (tc.want == "") != (got == "") || !strings.Contains(got, tc.want) {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

func TestGateOfAdditionalLabelsOverwrites(t *testing.T) {
	n := New(ours).Node
	for _, on := range []bool{false, true} {
		featuregatetesting.SetFeatureGateDuringTest(t, utilfeature.DefaultFeatureGate, additionalLabels, on)
		if got := n.Config(ownership.Claim{}).Labels.Overwrite; got != on {
			t.Errorf("gate %v: labels are overwritten: %v", on, got)
		}
	}
}

func TestUnsetConcurrencyMeansConcurrentReads(t *testing.T) {
	type workers struct{ Syncs, Refreshes int32 }
	for _, tc := range []struct {
		name string
		args string
		want workers
	}{
		{"Unset", "", workers{16, 16}},
		{"RefreshesFollowSyncs", "--concurrent-node-syncs=4", workers{4, 4}},
		{"BothExplicit", "--concurrent-node-syncs=1 --concurrent-node-status-updates=2", workers{1, 2}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			o := parsed(t, tc.args)
			if diff := cmp.Diff(tc.want, workers{o.Node.syncs, o.Node.refreshes()}); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestClientHasNoRateLimitByDefault(t *testing.T) {
	for args, want := range map[string]float32{"": -1, "--kube-api-qps=20": 20} {
		config, err := parsed(t, "--master=http://127.0.0.1:1 "+args).Client.RESTConfig()
		if err != nil {
			t.Fatal(err)
		}
		if config.QPS != want {
			t.Errorf("%q: got %v requests a second, want %v", args, config.QPS, want)
		}
	}
}

// parsed returns the settings after the given flags were parsed.
func parsed(t *testing.T, args string) *Settings {
	t.Helper()
	o := New(ours)
	if err := flagSet(o).Parse(strings.Fields(args)); err != nil {
		t.Fatal(err)
	}
	return o
}

func flagSet(o *Settings) *pflag.FlagSet {
	all := pflag.NewFlagSet("", pflag.ContinueOnError)
	o.AddFlags(all)
	return all
}

func sections() cliflag.NamedFlagSets {
	return New(ours).AddFlags(pflag.NewFlagSet("", pflag.ContinueOnError))
}

func validate(o *Settings) error { return utilerrors.NewAggregate(o.Validate()) }

func TestWebhooksNeedTheirPort(t *testing.T) {
	program := ours
	program.Webhooks = []string{"a"}
	for args, want := range map[string]string{
		"--webhooks=* --webhook-secure-port=0":    "--webhooks: a cannot be served with --webhook-secure-port=0",
		"--webhooks=*,-a --webhook-secure-port=0": "",
		"--webhooks=a": "",
	} {
		o := New(program)
		if err := flagSet(o).Parse(strings.Fields("--cloud-provider=test " + args)); err != nil {
			t.Fatal(err)
		}
		var got string
		if err := validate(o); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s: got %q, want %q", args, got, want)
		}
	}
}

func TestJSONLoggingIsLinked(t *testing.T) {
	o := parsed(t, "--logging-format=json")
	if errs := logsapi.Validate(o.Global.logs, nil, nil); len(errs) != 0 {
		t.Error(errs)
	}
}

func TestClusterCIDRs(t *testing.T) {
	for _, tc := range []struct {
		name, value string
		want        string // as text; "": an error
		err         string
	}{
		{"One", "10.244.0.0/16", "[10.244.0.0/16]", ""},
		{"OneOfEachFamily", "10.244.0.0/16,fd00::/48", "[10.244.0.0/16 fd00::/48]", ""},
		{"SpacesDoNotMatter", "fd00::/48, 10.244.0.0/16", "[fd00::/48 10.244.0.0/16]", ""},
		{"HostBitsAreCut", "10.244.1.1/16", "[10.244.0.0/16]", ""},
		{"None", "", "", "--cluster-cidr is empty"},
		{"Nonsense", "10.244.0.0", "", `"10.244.0.0" is not a CIDR`},
		{"EmptyPart", "10.244.0.0/16,", "", `"" is not a CIDR`},
		{"TwoOfOneFamily", "10.244.0.0/16,10.0.0.0/16", "", "two CIDRs of one family"},
		{"Three", "10.244.0.0/16,fd00::/48,10.0.0.0/16", "", "has 3 CIDRs"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			o := newRoute()
			o.clusterCIDR = tc.value
			got, err := o.clusters()
			switch {
			case tc.want == "" && (err == nil || !strings.Contains(err.Error(), tc.err)):
				t.Errorf("%v, %v, want the error %q", got, err, tc.err)
			case tc.want != "" && (err != nil || fmt.Sprint(got) != tc.want):
				t.Errorf("%v, %v, want %s", got, err, tc.want)
			}
		})
	}
}

func TestNothingIsWatchedWithoutAPeriod(t *testing.T) {
	o := parsed(t, "--cloud-config=/etc/cloud.conf --cloud-config-watch=/nowhere --cloud-config-watch-period=0")
	if got := o.Rotation.Watched(); got != nil {
		t.Errorf("watched files are %q", got)
	}
}

func TestFilesOfTheProviderAreWatched(t *testing.T) {
	o := parsed(t, "--cloud-config=/etc/cloud.conf --cloud-config-watch=/run/token")
	if diff := cmp.Diff([]string{"/etc/cloud.conf", "/run/token"}, o.Rotation.Watched()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestRefusedAtStart tests a value with a space, and errors that Validate does
// not return.
func TestRefusedAtStart(t *testing.T) {
	s := New(ours)
	if err := flagSet(s).Parse([]string{"--cloud-provider=test", "--load-balancer-class=a b"}); err != nil {
		t.Fatal(err)
	}
	if err := validate(s); err == nil || err.Error() != `--load-balancer-class: "a b" is not a load balancer class, such as example.com/internal` {
		t.Errorf("a class with a space: %v", err)
	}
	for arg, want := range map[string]string{
		"--logging-format=xml":     `--logging-format: Invalid value: "xml": Unsupported log format`,
		"--log-flush-frequency=0s": "--log-flush-frequency: Invalid value: ",
	} {
		s := New(ours)
		if err := flagSet(s).Parse([]string{arg}); err != nil {
			t.Fatal(err)
		}
		if err := s.Global.ApplyLogging(); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", arg, err, want)
		}
	}
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	t.Setenv("KUBERNETES_MASTER", "")
	_, err := New(ours).Client.RESTConfig()
	if want := "--kubeconfig is missing, and the service account of a Pod cannot be used instead: "; err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("without a cluster: got %v, want %s", err, want)
	}
}
