package settings

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"
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

// The provider chooses the number of Services that are changed at once, unless a
// flag or a default of the program has set it.
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

func TestFlagsThatAControllerOfTheProgramReadsAreNotIgnored(t *testing.T) {
	p := ours
	p.Read = map[string]string{"allocate-node-cidrs": "acme-ipam", "node-sync-period": "acme-ipam"}
	s := New(p)
	fs := flagSet(s)
	if err := fs.Parse([]string{"--allocate-node-cidrs", "--node-sync-period=1s", "--external-cloud-volume-plugin=x"}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]Ignored{{"--external-cloud-volume-plugin", "No cloud-controller-manager has read it since volumes moved to CSI drivers."}}, s.Ignored()); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
	usages := fs.FlagUsages()
	for _, want := range []string{"--allocate-node-cidrs ", "--node-sync-period "} {
		if _, rest, ok := strings.Cut(usages, want); !ok || strings.Contains(strings.SplitN(rest, "\n", 2)[0], "ignored") {
			t.Errorf("%sis not in the help, or called ignored", want)
		}
	}
	p.Read = map[string]string{"nope": "acme-ipam"}
	s = New(p)
	flagSet(s)
	if got := fmt.Sprint(s.wrong); got != `[the program's controller "acme-ipam" reads --nope, and there is no such flag]` {
		t.Error(got)
	}
}

func TestShorthandThatIsTaken(t *testing.T) {
	var own cliflag.NamedFlagSets
	own.FlagSet("acme").BoolP("acme-verbose", "v", false, "")
	own.FlagSet("acme").BoolP("acme-quick", "q", false, "")
	own.FlagSet("more").BoolP("acme-quiet", "q", false, "")
	p := ours
	p.Flags = own
	s := New(p)
	fs := flagSet(s)
	want := "[the program's flag --acme-verbose has the shorthand -v, which --v already has; give it another shorthand or none " +
		"the program's flag --acme-quiet has the shorthand -q, which --acme-quick already has; give it another shorthand or none]"
	if got := fmt.Sprint(s.wrong); got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
	if fs.Lookup("acme-verbose") == nil || fs.ShorthandLookup("q").Name != "acme-quick" {
		t.Error("the flags are not there")
	}
}

// Imported packages put flags into pflag.CommandLine, and cobra accepts them.
func TestFlagsOfLinkedPackagesAreInTheHelp(t *testing.T) {
	former := pflag.CommandLine
	defer func() { pflag.CommandLine = former }()
	pflag.CommandLine = pflag.NewFlagSet("", pflag.ContinueOnError)
	pflag.String("acme_endpoint", "", "Where the cloud is.")
	pflag.BoolP("acme-debug", "v", false, "Log more.")
	pflag.String("cloud_config", "", "Ours has this name.")
	s := New(ours)
	linked := s.AddFlags(pflag.NewFlagSet("", pflag.ContinueOnError)).FlagSets[linkedHeading]
	var got []string
	linked.VisitAll(func(f *pflag.Flag) { got = append(got, f.Name) })
	if diff := cmp.Diff([]string{"acme-debug", "acme-endpoint"}, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if got := fmt.Sprint(s.wrong); !strings.Contains(got, "--acme-debug has the shorthand -v, which --v already has") {
		t.Error(got)
	}
}
