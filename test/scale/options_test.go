package main

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/fairlead-k8s/fairlead/test/scale/internal/scenario"
)

func TestParse(t *testing.T) {
	for name, row := range map[string]struct {
		args    []string
		want    string // name of the result
		problem string // part of the error
	}{
		"Everything":           {nil, "all", ""},
		"Large":                {[]string{"-nodes=5000", "-services=500"}, "all", ""},
		"Part":                 {[]string{"-scenario=init,idle", "-fast-paths=on"}, "init-idle-on", ""},
		"Named":                {[]string{"-scenario=init", "-name=quick"}, "quick", ""},
		"UnknownScenario":      {[]string{"-scenario=start"}, "", "there is no scenario \"start\". The scenarios are:\n  init\n  init-plain\n"},
		"UnknownContender":     {[]string{"-contender=me"}, "", "-contender: there is no \"me\"; there are [fairlead skeleton]"},
		"UnknownFastPaths":     {[]string{"-fast-paths=yes"}, "", "-fast-paths: there is no \"yes\"; there are [on off]"},
		"NothingIsLeft":        {[]string{"-scenario=init-plain", "-contender=skeleton"}, "", "nothing is left to run"},
		"UnknownFlag":          {[]string{"-size=3"}, "", "-h explains all flags"},
		"NoNumber":             {[]string{"-nodes=many"}, "", "invalid value \"many\" for flag -nodes"},
		"TooManyNodes":         {[]string{"-nodes=50000"}, "", "between 1 and 20,000, not 50000"},
		"ArgumentThatIsNoFlag": {[]string{"init"}, "", "\"init\" is not a flag"},
		"FolderAsName":         {[]string{"-name=docs/x"}, "", "-write-to is the folder"},
	} {
		t.Run(name, func(t *testing.T) {
			o, err := parse(row.args)
			if row.problem == "" {
				if err != nil || o.name != row.want {
					t.Errorf("got %q, %v; want %q", o.name, err, row.want)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), row.problem) {
				t.Errorf("got %v, want %q", err, row.problem)
			}
		})
	}
}

func TestHelpExplainsAll(t *testing.T) {
	var b bytes.Buffer
	if err := help(&b); err != nil {
		t.Fatal(err)
	}
	wanted := []string{"make bench NODES=5000", "-fast-paths", "(default 500)"}
	for _, s := range scenario.All() {
		wanted = append(wanted, "  "+s.Name+" ")
	}
	if n := slices.IndexFunc(wanted, func(want string) bool { return !strings.Contains(b.String(), want) }); n >= 0 {
		t.Errorf("%q is missing in\n%s", wanted[n], b.String())
	}
	for line := range strings.Lines(b.String()) {
		if strings.Contains(line, "%!") {
			t.Errorf("a wrong format: %s", line)
		}
	}
}
