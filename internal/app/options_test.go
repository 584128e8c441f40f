package app

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/spf13/pflag"
	logsapi "k8s.io/component-base/logs/api/v1"
)

type flagRow struct{ Heading, Name, Default string }

// upstreamFlags are upstream's flags that exist here, with upstream's headings
// and defaults.
var upstreamFlags = []flagRow{
	{"debugging", "profiling", "true"},
	{"debugging", "contention-profiling", "false"},
	{"generic", "allow-untagged-cloud", "false"},
	{"generic", "cloud-config", ""},
	{"generic", "cloud-provider", ""},
	{"generic", "cluster-name", "kubernetes"},
	{"generic", "controller-start-interval", "0s"},
	{"generic", "controllers", "[*]"},
	{"generic", "feature-gates", ""},
	{"generic", "kube-api-burst", "30"},
	{"generic", "kube-api-content-type", "application/vnd.kubernetes.protobuf"},
	{"generic", "leader-elect", "true"},
	{"generic", "leader-elect-lease-duration", "15s"},
	{"generic", "leader-elect-renew-deadline", "10s"},
	{"generic", "leader-elect-resource-lock", "leases"},
	{"generic", "leader-elect-resource-name", "cloud-controller-manager"},
	{"generic", "leader-elect-resource-namespace", "kube-system"},
	{"generic", "leader-elect-retry-period", "2s"},
	{"generic", "min-resync-period", "12h0m0s"},
	{"cloud-node-controller", "concurrent-node-status-updates", "0"},
	{"cloud-node-lifecycle-controller", "node-monitor-period", "5s"},
	{"secure serving", "bind-address", "0.0.0.0"},
	{"secure serving", "cert-dir", ""},
	{"secure serving", "disable-http2-serving", "false"},
	{"secure serving", "http2-max-streams-per-connection", "0"},
	{"secure serving", "permit-address-sharing", "false"},
	{"secure serving", "permit-port-sharing", "false"},
	{"secure serving", "secure-port", "10258"},
	{"secure serving", "tls-cert-file", ""},
	{"secure serving", "tls-cipher-suites", "[]"},
	{"secure serving", "tls-curve-preferences", "[]"},
	{"secure serving", "tls-min-version", ""},
	{"secure serving", "tls-private-key-file", ""},
	{"secure serving", "tls-sni-cert-key", "[]"},
	{"authentication", "authentication-kubeconfig", ""},
	{"authentication", "authentication-skip-lookup", "false"},
	{"authentication", "authentication-token-webhook-cache-ttl", "10s"},
	{"authentication", "authentication-tolerate-lookup-failure", "false"},
	{"authentication", "client-ca-file", ""},
	{"authentication", "requestheader-allowed-names", "[]"},
	{"authentication", "requestheader-client-ca-file", ""},
	{"authentication", "requestheader-extra-headers-prefix", "[x-remote-extra-]"},
	{"authentication", "requestheader-group-headers", "[x-remote-group]"},
	{"authentication", "requestheader-uid-headers", "[]"},
	{"authentication", "requestheader-username-headers", "[x-remote-user]"},
	{"authorization", "authorization-always-allow-paths", "[/healthz,/readyz,/livez]"},
	{"authorization", "authorization-kubeconfig", ""},
	{"authorization", "authorization-webhook-cache-authorized-ttl", "10s"},
	{"authorization", "authorization-webhook-cache-unauthorized-ttl", "10s"},
	{"misc", "kubeconfig", ""},
	{"misc", "master", ""},
	{"misc", "node-status-update-frequency", "5m0s"},
	{"global", "help", "false"},
	{"global", "log-flush-frequency", "5s"},
	{"global", "log-json-info-buffer-size", "0"},
	{"global", "log-json-split-stream", "false"},
	{"global", "log-text-info-buffer-size", "0"},
	{"global", "log-text-split-stream", "false"},
	{"global", "logging-format", "text"},
	{"global", "v", "0"},
	{"global", "version", "false"},
	{"global", "vmodule", ""},
}

// ownFlags are flags that upstream has not, and flags of upstream whose default
// is another here.
var ownFlags = []flagRow{
	{"generic", "cloud-read-timeout", "5m0s"},
	{"generic", "cloud-mutation-timeout", "15m0s"},
	{"service-lb-controller", "concurrent-service-syncs", "1"},
	{"service-lb-controller", "load-balancer-class", "[]"},
	{"service-lb-controller", "service-remove-backends-on", "[]"},
	{"service-lb-controller", "service-resync-period", "12h0m0s"},
	{"generic", "kube-api-qps", "-1"},                        // upstream: 20
	{"cloud-node-controller", "concurrent-node-syncs", "16"}, // upstream: 1
	{"cloud-node-controller", "node-label-reconcile", "type,additional"},
	{"cloud-node-lifecycle-controller", "concurrent-node-lifecycle-syncs", "16"},
	{"cloud-node-lifecycle-controller", "node-deletion", "true"},
	{"cloud-node-lifecycle-controller", "node-deletion-absences", "3"},
	{"cloud-node-lifecycle-controller", "node-deletion-absent-for", "30s"},
	{"cloud-node-lifecycle-controller", "node-deletion-crowd-absent-for", "10m0s"},
	{"cloud-node-lifecycle-controller", "node-deletion-crowd-nodes", "3"},
	{"cloud-node-lifecycle-controller", "node-deletion-crowd-pace-nodes", "5"},
	{"cloud-node-lifecycle-controller", "node-deletion-crowd-pace-percent", "10"},
	{"cloud-node-lifecycle-controller", "node-deletion-crowd-percent", "10"},
	{"cloud-node-lifecycle-controller", "node-deletion-silent-after", "10m0s"},
	{"cloud-node-lifecycle-controller", "node-deletion-stranger-after", "10m0s"},
	{"cloud-node-lifecycle-controller", "node-deletion-without-witness-after", "0s"},
	{"cloud-node-lifecycle-controller", "node-deletion-witnesses", "10"},
	{"cloud-node-lifecycle-controller", "node-deletion-young-absent-for", "2m0s"},
	{"cloud-node-lifecycle-controller", "node-deletion-young-age", "5m0s"},
	{"cloud-node-lifecycle-controller", "node-monitor-longest-period", "2m0s"},
}

func TestFlags(t *testing.T) {
	var got []flagRow
	sections := newOptions(managerName, controllers).flags()
	for heading, fs := range sections.FlagSets {
		fs.VisitAll(func(f *pflag.Flag) {
			row := flagRow{heading, f.Name, f.DefValue}
			if f.Name == "feature-gates" {
				row.Default = "" // the gates belong to the process, and other tests have set them
			}
			got = append(got, row)
		})
	}
	want := append(append([]flagRow{}, upstreamFlags...), ownFlags...)
	byName := cmpopts.SortSlices(func(a, b flagRow) bool { return a.Name < b.Name })
	if diff := cmp.Diff(want, got, byName); diff != "" {
		t.Errorf("flags (-want +got):\n%s", diff)
	}
	wantOrder := []string{
		"debugging", "generic", "cloud-node-controller", "cloud-node-lifecycle-controller", "service-lb-controller",
		"secure serving", "authentication", "authorization", "misc", "global",
	}
	if diff := cmp.Diff(wantOrder, sections.Order); diff != "" {
		t.Errorf("headings (-want +got):\n%s", diff)
	}
}

func TestValidation(t *testing.T) {
	for _, tc := range []struct {
		name string
		args string
		want string // "": valid
	}{
		{"DefaultsAreValid", "", ""},
		{"ProviderIsRequired", "--cloud-provider=", "--cloud-provider cannot be empty"},
		{"ExplicitConcurrencyIsObeyed", "--concurrent-node-syncs=1 --concurrent-node-status-updates=3", ""},
		{"NoWorkerInitialisesNobody", "--concurrent-node-syncs=0", "--concurrent-node-syncs must be at least 1, but got 0"},
		{"NegativeConcurrencyIsAnError", "--concurrent-node-syncs=-1", "--concurrent-node-syncs must be at least 1, but got -1"},
		{"ZeroStatusUpdatesFollowSyncs", "--concurrent-node-status-updates=0", ""},
		{"NegativeStatusUpdatesAreAnError", "--concurrent-node-status-updates=-1", "--concurrent-node-status-updates must not be negative, but got -1"},
		{"RefreshNeedsAPeriod", "--node-status-update-frequency=0s", "--node-status-update-frequency must be positive, but got 0s"},
		{"LifecycleNeedsWorkers", "--concurrent-node-lifecycle-syncs=0", "concurrent-node-lifecycle-syncs must be at least 1, but got 0"}, // upstream's text
		{"AnAbsenceIsNeeded", "--node-deletion-absences=0", "--node-deletion-absences must be at least 1, but got 0"},
		{"WitnessesAreCounted", "--node-deletion-witnesses=-1", "--node-deletion-witnesses must not be negative, but got -1"},
		{"AbsenceHasALength", "--node-deletion-absent-for=-1s", "--node-deletion-absent-for must not be negative, but got -1s"},
		{"CrowdIsAPartOfTheNodes", "--node-deletion-crowd-percent=101", "--node-deletion-crowd-percent must be between 0 and 100, but got 101"},
		{"CrowdIsNoDebt", "--node-deletion-crowd-nodes=-1", "--node-deletion-crowd-nodes must not be negative, but got -1"},
		{"CrowdMoves", "--node-deletion-crowd-pace-nodes=0", "--node-deletion-crowd-pace-nodes must be at least 1, but got 0; --node-deletion=false keeps every node"},
		{"MonitorNeedsAPeriod", "--node-monitor-period=0s", "--node-monitor-period must be positive, but got 0s"},
		{"ServicesNeedAWorker", "--concurrent-service-syncs=0", "--concurrent-service-syncs must be at least 1, but got 0"},
		{"ResyncLooksForward", "--service-resync-period=-1s", "--service-resync-period must not be negative, but got -1s"},
		{"ClassHasAName", "--load-balancer-class=a,", `--load-balancer-class has an empty entry in ["a" ""]`},
		{"BackendsGoForAKnownReason", "--service-remove-backends-on=cordon", `--service-remove-backends-on: "cordon" is neither "taint" nor "deletion"`},
		{"ChangesNeedTime", "--cloud-mutation-timeout=0s", "--cloud-mutation-timeout must be positive, but got 0s"},
		{"ReadsNeedTime", "--cloud-read-timeout=0s", "--cloud-read-timeout must be positive, but got 0s"},
		{"ResyncMayBeOff", "--min-resync-period=0s", ""},
		{"ResyncIsNotNegative", "--min-resync-period=-1s", "--min-resync-period must not be negative, but got -1s"},
		{"StartIntervalIsNotNegative", "--controller-start-interval=-1s", "--controller-start-interval must not be negative, but got -1s"},
		{"AliasIsKnown", "--controllers=cloud-node,-service", ""},
		{"UnknownController", "--controllers=*,-foo", `"foo" is not in the list of known controllers`},
		{"OnlyLeasesLock", "--leader-elect-resource-lock=endpoints", `resourceLock value must be "leases"`},
		{"LockIsNotReadWithoutElection", "--leader-elect=false --leader-elect-resource-lock=endpoints", ""},
		{"LeaseOutlivesRenewal", "--leader-elect-renew-deadline=15s", "--leader-elect-lease-duration must be longer than --leader-elect-renew-deadline (15s), but got 15s"},
		{"RenewalAllowsARetry", "--leader-elect-retry-period=9s", "--leader-elect-renew-deadline must be longer than 1.2 times --leader-elect-retry-period (9s), but got 10s"},
		{"RetryTakesTime", "--leader-elect-retry-period=0s", "--leader-elect-retry-period must be positive, but got 0s"},
		{"LeaseCountsSeconds", "--leader-elect-lease-duration=900ms --leader-elect-renew-deadline=500ms --leader-elect-retry-period=100ms", "--leader-elect-lease-duration must be at least 1s, but got 900ms"},
		{"LeaseHasAName", "--leader-elect-resource-name=", "--leader-elect-resource-name cannot be empty"},
		{"LeaseHasANamespace", "--leader-elect-resource-namespace=", "--leader-elect-resource-namespace cannot be empty"},
		{"PortInRange", "--secure-port=-1", "--secure-port -1 must be between 0 and 65535, inclusive. 0 for turning off secure port"},
		{"PortMayBeOff", "--secure-port=0", ""},
		{"AllErrorsAtOnce", "--cloud-provider= --controllers=foo", `["foo" is not in the list of known controllers, --cloud-provider cannot be empty]`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			o := parsed(t, "--cloud-provider=test "+tc.args)
			var got string
			if err := o.validate(); err != nil {
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
		{"NoneStandsAlone", "--node-label-reconcile=type,none", `"none" is neither 'type' nor 'additional'`},
		{"EmptyIsNotNone", "--node-label-reconcile=", `"" is neither`},
		{"UnderscoresAreDashes", "--cluster_name=east", ""},
		{"GateOfAdditionalLabels", "--feature-gates=CloudNodeAdditionalLabelsReconciliation=false", ""},
		{"GateOfRoutes", "--feature-gates=CloudControllerManagerWatchBasedRoutesReconciliation=false", ""},
		{"GateOfWebhooks", "--feature-gates=CloudControllerManagerWebhook=false", ""},
		{"GateOfLeaseRelease", "--feature-gates=ControllerManagerReleaseLeaderElectionLockOnExit=false", ""},
		{"GateOfLibrary", "--feature-gates=NativeHistograms=true,WatchList=true,ContextualLogging=true", ""},
		{"UnknownFlag", "--nope", "unknown flag: --nope"},
		{"VersionIsNoNumber", "--version=1", ""},
		{"VersionIsNoWord", "--version=maybe", "neither a bool, nor 'raw', nor a version"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var got string
			if err := flagSet(newOptions(managerName, controllers)).Parse(strings.Fields(tc.args)); err != nil {
				got = err.Error()
			}
			if (tc.want == "") != (got == "") || !strings.Contains(got, tc.want) {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
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
			if diff := cmp.Diff(tc.want, workers{o.node.syncs, o.node.refreshes()}); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestClientHasNoPaceUnlessAsked(t *testing.T) {
	for args, want := range map[string]float32{"": -1, "--kube-api-qps=20": 20} {
		config, err := parsed(t, "--master=http://127.0.0.1:1 "+args).client.restConfig()
		if err != nil {
			t.Fatal(err)
		}
		if config.QPS != want {
			t.Errorf("%q: got %v requests a second, want %v", args, config.QPS, want)
		}
	}
}

// parsed returns the options after the given flags.
func parsed(t *testing.T, args string) *options {
	t.Helper()
	o := newOptions(managerName, controllers)
	if err := flagSet(o).Parse(strings.Fields(args)); err != nil {
		t.Fatal(err)
	}
	return o
}

func flagSet(o *options) *pflag.FlagSet {
	all := pflag.NewFlagSet("", pflag.ContinueOnError)
	sections := o.flags()
	for _, fs := range sections.FlagSets {
		all.AddFlagSet(fs)
	}
	all.SetNormalizeFunc(sections.NormalizeNameFunc)
	return all
}

func TestCommand(t *testing.T) {
	for _, tc := range []struct {
		name string
		args string
		out  string // part of stdout
		want string // part of the error
	}{
		{"NoArguments", "foo", "", `"cloud-controller-manager" does not take any arguments, got ["foo"]`},
		{"EmptyArgumentIsNone", " --version", "cloud-controller-manager v", ""},
		{"RawVersion", "--version=raw", "GitVersion:", ""},
		{"HelpHasUpstreamsHeadings", "--help", "Cloud-node-controller flags:", ""},
		{"ValidationError", "", "", "--cloud-provider cannot be empty"},
		{"UnknownProvider", "--cloud-provider=nowhere --master=http://127.0.0.1:1", "", `"nowhere" is not linked into this binary`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			cmd := NewCommand(managerName)
			var stdout, stderr bytes.Buffer
			cmd.SetOut(&stdout)
			cmd.SetErr(&stderr)
			cmd.SilenceErrors, cmd.SilenceUsage = true, true // as cli.Run does
			cmd.SetArgs(strings.Split(tc.args, " "))
			err := cmd.ExecuteContext(t.Context())
			var got string
			if err != nil {
				got = err.Error()
			}
			if (tc.want == "") != (got == "") || !strings.Contains(got, tc.want) {
				t.Errorf("got error %q, want %q", got, tc.want)
			}
			if !strings.Contains(stdout.String(), tc.out) {
				t.Errorf("got output %q, want %q", stdout.String(), tc.out)
			}
		})
	}
}

func TestValidationErrorIsPrintedInWords(t *testing.T) {
	cmd := NewCommand(managerName)
	var stderr bytes.Buffer
	cmd.SetErr(&stderr)
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	cmd.SetArgs([]string{"--controllers=foo", "--cloud-provider=test"})
	if err := cmd.ExecuteContext(t.Context()); err == nil {
		t.Error("an unknown controller was accepted")
	}
	if diff := cmp.Diff("\"foo\" is not in the list of known controllers\n", stderr.String()); diff != "" {
		t.Errorf("stderr (-want +got):\n%s", diff)
	}
}

func TestJSONLoggingIsLinked(t *testing.T) {
	o := parsed(t, "--logging-format=json")
	if errs := logsapi.Validate(o.global.logs, nil, nil); len(errs) != 0 {
		t.Error(errs)
	}
}
