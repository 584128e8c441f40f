package cluster

import (
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func example() Config {
	return Config{
		PodCIDRs:     []netip.Prefix{netip.MustParsePrefix("10.244.0.0/16")},
		ServiceCIDRs: []netip.Prefix{netip.MustParsePrefix("10.96.0.0/16"), netip.MustParsePrefix("fd00:96::/112")},
	}
}

var at = listeners{etcd: 1, apiServer: 2, controllerManager: 3, scheduler: 4}

// value returns the value of a flag. If the flag is repeated, the last value counts.
func value(args []string, flag string) string {
	for _, arg := range slices.Backward(args) {
		if name, value, _ := strings.Cut(arg, "="); name == flag {
			return value
		}
	}
	return ""
}

func TestAllServeOnTheLoopbackInterfaceOnly(t *testing.T) {
	c, l := example(), layout{"/data"}
	for name, args := range map[string][]string{
		"kube-apiserver":          apiServerArgs(c, l, at),
		"kube-controller-manager": controllerManagerArgs(c, l, at),
		"kube-scheduler":          schedulerArgs(c, l, at),
	} {
		if got := value(args, "--bind-address"); got != "127.0.0.1" {
			t.Errorf("%s serves on %q", name, got)
		}
	}
	if got := value(etcdArgs(l, at), "--listen"); got != "https://127.0.0.1:1" {
		t.Errorf("etcd serves on %q", got)
	}
}

func TestTheClusterWaitsForACloud(t *testing.T) {
	if got := value(controllerManagerArgs(example(), layout{}, at), "--cloud-provider"); got != "external" {
		t.Errorf("got %q", got)
	}
}

func TestNetworks(t *testing.T) {
	args := controllerManagerArgs(example(), layout{}, at)
	if got, want := value(args, "--cluster-cidr"), "10.244.0.0/16"; got != want {
		t.Errorf("pods: got %s, want %s", got, want)
	}
	if got, want := value(args, "--service-cluster-ip-range"), "10.96.0.0/16,fd00:96::/112"; got != want {
		t.Errorf("Services: got %s, want %s", got, want)
	}
	if got, want := value(apiServerArgs(example(), layout{}, at), "--service-cluster-ip-range"), "10.96.0.0/16,fd00:96::/112"; got != want {
		t.Errorf("Services in the API server: got %s, want %s", got, want)
	}
}

func TestOptionalArgs(t *testing.T) {
	l := layout{"/data"}
	plain, all := example(), example()
	all.AuditLog = true
	all.NodeMonitorGracePeriod = 8 * time.Second
	for _, test := range []struct {
		flag string
		args func(Config, layout, listeners) []string
		want string
	}{
		{"--audit-log-path", apiServerArgs, "/data/audit.log"},
		{"--audit-policy-file", apiServerArgs, "/data/audit-policy.yaml"},
		{"--node-monitor-grace-period", controllerManagerArgs, "8s"},
	} {
		if got := value(test.args(all, l, at), test.flag); got != test.want {
			t.Errorf("%s: got %q, want %q", test.flag, got, test.want)
		}
		if got := value(test.args(plain, l, at), test.flag); got != "" {
			t.Errorf("%s is %q without being asked for", test.flag, got)
		}
	}
}

func TestExtraArgsWin(t *testing.T) {
	c := example()
	extra := []string{"--bind-address=127.0.0.9"}
	c.APIServerArgs, c.ControllerManagerArgs, c.SchedulerArgs = extra, extra, extra
	for _, args := range [][]string{
		apiServerArgs(c, layout{}, at), controllerManagerArgs(c, layout{}, at), schedulerArgs(c, layout{}, at),
	} {
		if got := value(args, "--bind-address"); got != "127.0.0.9" {
			t.Errorf("got %q from %q", got, args)
		}
	}
}

func TestParseCIDRs(t *testing.T) {
	for name, test := range map[string]struct {
		text string
		want string
		err  string
	}{
		"One":                 {"10.0.0.0/8", "10.0.0.0/8", ""},
		"OneOfEachFamily":     {"fd00::/48, 10.0.0.0/8", "fd00::/48,10.0.0.0/8", ""},
		"TwoOfAFamily":        {"10.0.0.0/16,10.1.0.0/16", "", "two networks must be of different families"},
		"Three":               {"10.0.0.0/16,fd00::/48,fd01::/48", "", "more than two networks"},
		"HostBitsAreAMistake": {"10.0.0.1/8", "", "10.0.0.1/8 has host bits set; did you mean 10.0.0.0/8?"},
		"NoNetwork":           {"ten", "", `netip.ParsePrefix("ten"): no '/'`},
		"Empty":               {"", "", `netip.ParsePrefix(""): no '/'`},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := ParseCIDRs(test.text)
			text := ""
			if err != nil {
				text = err.Error()
			}
			if diff := cmp.Diff(test.err, text); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(test.want, join(got)); diff != "" {
				t.Error(diff)
			}
		})
	}
}
