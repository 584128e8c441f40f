package settings

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	cliflag "k8s.io/component-base/cli/flag"
)

// program returns the settings of a program with flags of its own.
func program(defaults map[string]string) *Settings {
	var own cliflag.NamedFlagSets
	own.FlagSet("acme").String("acme-zone", "north", "The zone.")
	own.FlagSet("acme").StringToString("acme-tags", nil, "Tags.")
	p := ours
	p.Flags, p.Defaults = own, defaults
	return New(p)
}

func TestDefaultsOfAProgram(t *testing.T) {
	for _, tc := range []struct {
		name     string
		defaults string // flag=value
		args     string
		want     string // value after the command line was parsed
		shown    string // default in the help text
	}{
		{"DefaultIsUsed", "authentication-skip-lookup=true", "", "true", "true"},
		{"CommandLineWins", "authentication-skip-lookup=true", "--authentication-skip-lookup=false", "false", "true"},
		{"NameMayHaveUnderscores", "cluster_name=acme", "", "acme", "acme"},
		{"ListIsReplacedByTheCommandLine", "controllers=*,-route", "--controllers=service", "[service]", "*,-route"},
		{"ListIsUsed", "controllers=*,-route", "", "[*,-route]", "*,-route"},
		{"ProgramsOwnFlag", "acme-zone=south", "", "south", "south"},
		{"ProgramsOwnMapIsReplaced", "acme-tags=a=b", "--acme-tags=c=d", "[c=d]", "a=b"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			name, value, _ := strings.Cut(tc.defaults, "=")
			s := program(map[string]string{name: value})
			fs := flagSet(s)
			shown := fs.Lookup(name).DefValue
			if err := fs.Parse(strings.Fields(tc.args)); err != nil {
				t.Fatal(err)
			}
			s.ApplyDefaults()
			got := []string{fs.Lookup(name).Value.String(), shown, fmt.Sprint(s.wrong)}
			if diff := cmp.Diff([]string{tc.want, tc.shown, "[]"}, got); diff != "" {
				t.Errorf("value, help, errors (-want +got):\n%s", diff)
			}
		})
	}
}

// The number of Services that are changed at once is chosen by the provider
// unless somebody has chosen it, and the program's main may.
func TestDefaultOfAProgramCountsAsSet(t *testing.T) {
	s := program(map[string]string{flagServiceSyncs: "1"})
	if err := flagSet(s).Parse(nil); err != nil {
		t.Fatal(err)
	}
	s.ApplyDefaults()
	if got := s.Service.concurrency(8); got != 1 {
		t.Errorf("%d Services at once, want 1", got)
	}
	if got := s.Ignored(); got != nil {
		t.Errorf("warnings about defaults: %v", got)
	}
}

