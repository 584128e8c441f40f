package settings

import (
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// judged returns the judgements of a command line as text, one per line.
func judged(t *testing.T, s *Settings, args ...string) string {
	t.Helper()
	flagSet(s).SetOutput(io.Discard)
	var lines []string
	for _, j := range s.Judge(args) {
		lines = append(lines, strings.TrimSuffix(j.Argument+": "+string(j.Verdict)+": "+j.Why, ": "))
	}
	return strings.Join(lines, "\n")
}

func TestJudge(t *testing.T) {
	for _, tc := range []struct {
		name string
		args []string
		want string // without --cloud-provider=test
	}{
		{"Used", []string{"--cluster-name=east"}, "--cluster-name=east: used"},
		{"ValueIsTheNextWord", []string{"--cluster-name", "east", "-v", "4"}, "--cluster-name east: used\n-v 4: used"},
		{"ShortFlagWithItsValue", []string{"-v2"}, "-v2: used"},
		{"BoolTakesNoWord", []string{"--leader-elect", "--profiling=false"}, "--leader-elect: used\n--profiling=false: used"},
		{"UnderscoresAreDashes", []string{"--cluster_name=east"}, "--cluster_name=east: used"},
		{"DifferenceIsSaid", []string{"--cloud-config=/nowhere"}, "--cloud-config=/nowhere: used: The file is watched, see --cloud-config-watch. Upstream reads it once."},
		{"OtherDefaultIsNot", []string{"--kube-api-qps=20"}, "--kube-api-qps=20: used"},
		{"ChangesNothing", []string{"--external-cloud-volume-plugin=x"}, "--external-cloud-volume-plugin=x: changes nothing: No cloud-controller-manager has read it since volumes moved to CSI drivers."},
		{"ChangesNothingWithoutAnotherFlag", []string{"--allocate-node-cidrs"}, "--allocate-node-cidrs: changes nothing: Only the controller node-ipam-controller reads it, which --controllers has to choose. Otherwise kube-controller-manager gives the CIDRs."},
		{"ReadWithTheOtherFlag", []string{"--allocate-node-cidrs", "--controllers=*,node-ipam-controller", "--cluster-cidr=10.0.0.0/16"}, "--allocate-node-cidrs: used: Upstream's skeleton ignores it; its sample program brings a controller for it, which runs by default.\n" +
			"--controllers=*,node-ipam-controller: used\n--cluster-cidr=10.0.0.0/16: used: " + flagSet(New(ours)).Lookup("cluster-cidr").Annotations[annotationDeviation][0]},
		{"WithoutRoutes", []string{"--cluster-cidr=10.0.0.0/33"}, `--cluster-cidr=10.0.0.0/33: used: The daemon starts, but its route controller does not run: --cluster-cidr: "10.0.0.0/33" is not a CIDR: netip.ParsePrefix("10.0.0.0/33"): prefix length out of range.`},
		{"RoutesAreNotWanted", []string{"--cluster-cidr=10.0.0.0/33", "--controllers=*,-node-route-controller"}, "--cluster-cidr=10.0.0.0/33: used: " +
			flagSet(New(ours)).Lookup("cluster-cidr").Annotations[annotationDeviation][0] + "\n--controllers=*,-node-route-controller: used"},
		{"DeprecatedAndIgnored", []string{"--node-sync-period=1m"}, "--node-sync-period=1m: changes nothing: Upstream ignores it, too, and warns."},
		{"Deprecated", []string{"--allow-untagged-cloud"}, "--allow-untagged-cloud: deprecated: tag the cluster's instances with a cluster ID."},
		{"Removed", []string{"--logtostderr=true"}, "--logtostderr=true: unknown: unknown flag: --logtostderr: Kubernetes 1.26 has removed it; the log always goes to standard error"},
		{"Mistyped", []string{"--cluster-nam=x"}, "--cluster-nam=x: unknown: unknown flag: --cluster-nam; did you mean --cluster-name?"},
		{"UnknownBool", []string{"--acme", "--cluster-name=x"}, "--acme: unknown: unknown flag: --acme\n--cluster-name=x: used"},
		{"WrongType", []string{"--concurrent-service-syncs=many"}, `--concurrent-service-syncs=many: refused: invalid argument "many" for "--concurrent-service-syncs" flag: strconv.ParseInt: parsing "many": invalid syntax`},
		{"WrongValue", []string{"--node-monitor-period=0s"}, "--node-monitor-period=0s: refused: --node-monitor-period must be positive, but got 0s"},
		{"ValueIsMissing", []string{"--cluster-name"}, "--cluster-name: refused: flag needs an argument: --cluster-name"},
		{"FlagIsMissing", []string{"--cloud-api-burst=5"}, "--cloud-api-burst=5: refused: --cloud-api-burst has no effect without --cloud-api-qps: set both"},
		{"WordIsNoArgument", []string{"--node-deletion", "false"}, "--node-deletion: used\nfalse: refused: the daemon takes flags only; a flag that is true or false needs =, as in --node-deletion=false"},
		{"EmptyWordIsNone", []string{"", "--cluster-name=x"}, "--cluster-name=x: used"},
		{"FilesAreElsewhere", []string{"--kubeconfig=/nowhere", "--enable-leader-migration", "--leader-migration-config=/nowhere"}, "--kubeconfig=/nowhere: used\n" +
			"--enable-leader-migration: used\n--leader-migration-config=/nowhere: used: " + flagSet(New(ours)).Lookup(flagMigrationFile).Annotations[annotationDeviation][0]},
		{"ValueOfTheEnvironment", []string{"--concurrent-service-syncs=$(SYNCS)"}, "--concurrent-service-syncs=$(SYNCS): used: the kubelet fills in its value, which is not checked here"},
		{"ValueOfTheEnvironmentIsNotCompared", []string{"--leader-elect-lease-duration=$(LEASE)", "--leader-elect-renew-deadline=40s"}, "--leader-elect-lease-duration=$(LEASE): used: the kubelet fills in its value, which is not checked here\n" +
			"--leader-elect-renew-deadline=40s: used"},
		{"ValueThatCannotBeParsedIsNotCompared", []string{"--cloud-api-qps=5/s", "--cloud-api-burst=5"}, `--cloud-api-qps=5/s: refused: invalid argument "5/s" for "--cloud-api-qps" flag: strconv.ParseFloat: parsing "5/s": invalid syntax` + "\n" +
			"--cloud-api-burst=5: used"},
		{"ElectionIsOff", []string{"--leader-elect=false"}, "--leader-elect=false: used: " + withoutLease},
		{
			"GateThatChangesNothing",
			[]string{"--feature-gates=CloudControllerManagerWatchBasedRoutesReconciliation=true"},
			"--feature-gates=CloudControllerManagerWatchBasedRoutesReconciliation=true: changes nothing: Accepted, so that manifests keep working.",
		},
		{"GateIsTheNextWord", []string{"--feature-gates", "CloudControllerManagerWebhook=false,"}, "--feature-gates CloudControllerManagerWebhook=false,: changes nothing: Accepted, so that manifests keep working."},
		{"GateWithAnEffect", []string{"--feature-gates=ContextualLogging=true"}, "--feature-gates=ContextualLogging=true: used"},
		{
			"GatesOfBothKinds",
			[]string{"--feature-gates=ContextualLogging=true, CloudControllerManagerWebhook=false"},
			"--feature-gates=ContextualLogging=true, CloudControllerManagerWebhook=false: used: Some of these gates change nothing: CloudControllerManagerWebhook.",
		},
		{"ProgramsOwnFlag", []string{"--acme-zone=north"}, "--acme-zone=north: used"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := judged(t, program(nil), append([]string{"--cloud-provider=test"}, tc.args...)...)
			if diff := cmp.Diff(tc.want, strings.TrimPrefix(got, "--cloud-provider=test: used\n")); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestMissingFlagIsJudged(t *testing.T) {
	if diff := cmp.Diff("--v=2: used\n--cloud-provider: refused: --cloud-provider cannot be empty; name a provider that this program links, as in --cloud-provider=mycloud", judged(t, New(ours), "--v=2")); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestFlagOfTheEnvironmentIsNotMissing(t *testing.T) {
	if diff := cmp.Diff("--cloud-provider=$(P): used: the kubelet fills in its value, which is not checked here", judged(t, New(ours), "--cloud-provider=$(P)")); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// The daemon starts with each of upstream's flags at its default.
func TestUpstreamsCommandLineIsAccepted(t *testing.T) {
	var args []string
	for _, f := range upstreamFlags {
		switch {
		case f.Name == "cloud-provider", f.Name == "help", f.Name == "version", f.Default == "[]": // [] cannot be given as a value
		default:
			args = append(args, "--"+f.Name+"="+strings.Trim(f.Default, "[]"))
		}
	}
	s := New(ours)
	flagSet(s)
	for _, j := range s.Judge(append(args, "--cloud-provider=test")) {
		if !j.Starts() {
			t.Errorf("%s: %s: %s", j.Argument, j.Verdict, j.Why)
		}
	}
}
