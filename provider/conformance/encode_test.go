package conformance

import (
	"encoding/xml"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// fullReport has a check of each outcome and level.
func fullReport() *Report {
	r := &Report{
		APIVersion: APIVersion, Kind: Kind, Date: time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC),
		Suite:       Suite{Module: modulePath, Version: "v0.2.0", Checks: 9},
		Provider:    Provider{Name: "acme", Module: "example.com/acme", Version: "v1.4.0", Revision: "abc", URL: "https://example.com", Contact: []string{"@acme"}},
		Environment: Environment{Live: true, CloudProviderVersion: "v0.37.1", Go: "go1.26", OS: "linux/amd64", CPUs: 2},
		Features:    Tried{Features: Features{Supported: []Feature{UDP}, Unsupported: []Feature{SCTP}}, Undeclared: []Feature{IPMode}},
		Reproduce:   "acme-ccm conformance",
		Checks: []CheckResult{
			{ID: "instances/by-name", Title: "Found by name", Level: Core, Outcome: Passed, Seconds: 0.25, Calls: &Calls{Reads: 3}},
			{ID: "instances/gone-by-name", Title: "Gone", Level: Core, Outcome: Failed, Why: "InstanceExists = false, \"not found\"\nsecond line", Source: "cloud.go", Cost: "The Node is never deleted."},
			{ID: "instances/stopped", Title: "Stopped", Level: Extended, Outcome: NotRun, Why: "needs PowerSwitch"},
			{ID: "instances/denied-as-404", Title: "Denied", Level: Measured, Outcome: Failed, Why: "not found"},
			{ID: "loadbalancers/sctp", Title: "SCTP", Level: Extended, Outcome: Unsupported, Why: "refused"},
			{ID: "loadbalancers/udp", Title: "UDP", Level: Extended, Outcome: Skipped, Why: "no quota"},
			{ID: "loadbalancers/crash", Title: "Crash", Level: Core, Outcome: ExpectedFailure, Why: "two", Issue: "acme#1", Source: "x", Cost: "y"},
			{
				ID: "cost/sync-of-100", Title: "Sync", Level: Measured, Outcome: Passed, Measurements: map[string]float64{"readsPerSync100": 100},
				Leftovers: []Resource{{Kind: KindMachine, ID: "i-1", Name: "fl-a", Owner: "c"}},
			},
		},
	}
	r.summarize()
	return r
}

func TestReportIsReadAsItWasWritten(t *testing.T) {
	want := fullReport()
	for name, encode := range map[string]func() ([]byte, error){"yaml": want.YAML, "json": want.JSON} {
		text, err := encode()
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(t.TempDir(), "report."+name)
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := ReadReport(path)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
	}
}

func TestOtherFilesAreNoReports(t *testing.T) {
	for name, row := range map[string]struct{ text, want string }{
		"OtherKind":    {"apiVersion: v1\nkind: ConfigMap\n", `it is "ConfigMap" of "v1"`},
		"LaterVersion": {"apiVersion: conformance.fairlead.dev/v9\nkind: ConformanceReport\n", `want "ConformanceReport" of "conformance.fairlead.dev/v1alpha1"`},
		"UnknownField": {"apiVersion: " + APIVersion + "\nkind: " + Kind + "\nextra: 1\n", "extra"},
		"NoYAML":       {"\t", "is no report"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "file")
			if err := os.WriteFile(path, []byte(row.text), 0o600); err != nil {
				t.Fatal(err)
			}
			if _, err := ReadReport(path); err == nil || !strings.Contains(err.Error(), row.want) || !strings.Contains(err.Error(), path) {
				t.Errorf("got %v, want %q and the file's name", err, row.want)
			}
		})
	}
}

func TestText(t *testing.T) {
	var b strings.Builder
	if err := fullReport().WriteText(&b); err != nil {
		t.Fatal(err)
	}
	want := `acme v1.4.0 (cloud-provider v0.37.1) against a live account, suite v0.2.0, without -race
Instances       ✓ 2   ✗ 1    – 1 not run (needs PowerSwitch)
  ✗ instances/gone-by-name  core  InstanceExists = false, "not found"
      second line
      The Node is never deleted.
      cloud.go
Cost            ✓ 1   ✗ 0  
Load balancers  ✓ 0   ✗ 0    ! 1 expected to fail (two)  ~ 1 unsupported (refused)  – 1 skipped (no quota)
Measured        readsPerSync100 100
Left behind     machine i-1 fl-a
Result          failure: 1 core check failed
`
	if d := cmp.Diff(want, b.String()); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// If the target says that the account is live, the heading says so. Otherwise the heading says
// nothing about the cloud, because the target has not described it.
func TestTextSaysWhereOnlyIfItIsKnown(t *testing.T) {
	r := fullReport()
	r.Environment.Live = false
	want := "acme v1.4.0 (cloud-provider v0.37.1), suite v0.2.0, without -race"
	if got := r.heading(); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// The text says "1 more reason", but "2 more reasons".
func TestReasons(t *testing.T) {
	for more, want := range map[string]string{"d": "(a; b; c; and 1 more reason)", "d e": "(a; b; c; and 2 more reasons)"} {
		if got := reasons(append([]string{"a", "b", "c", "a", ""}, strings.Fields(more)...)); got != " "+want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// A partial result says what is missing.
func TestPartialVerdict(t *testing.T) {
	core := func(o Outcome) CheckResult { return CheckResult{ID: "instances/x", Level: Core, Outcome: o} }
	extended := CheckResult{ID: "instances/y", Level: Extended, Outcome: Skipped}
	for name, row := range map[string]struct {
		race   bool
		checks []CheckResult
		want   string
	}{
		"NoRace":  {checks: []CheckResult{core(Passed), extended}, want: "the suite was built without -race"},
		"NotRun":  {race: true, checks: []CheckResult{core(Passed), core(NotRun), core(NotRun)}, want: "2 core checks not run"},
		"Skipped": {race: true, checks: []CheckResult{core(Passed), core(Skipped), extended}, want: "1 core check skipped"},
		"All": {
			checks: []CheckResult{core(ExpectedFailure), core(Skipped), core(NotRun)},
			want:   "the suite was built without -race; 1 core check not run; 1 core check skipped; 1 core check expected to fail",
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := &Report{Environment: Environment{Race: row.race}, Checks: row.checks}
			r.summarize()
			if got, want := r.verdict(), "partial: no core check failed unexpectedly; "+row.want; got != want {
				t.Errorf("got  %s\nwant %s", got, want)
			}
		})
	}
}

func TestJUnit(t *testing.T) {
	text, err := fullReport().JUnit()
	if err != nil {
		t.Fatal(err)
	}
	var got junitSuites
	if err := xml.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	counts := [][4]any{}
	for _, s := range got.Suites {
		counts = append(counts, [4]any{s.Name, s.Tests, s.Failures, s.Skipped})
	}
	if d := cmp.Diff([][4]any{{"instances", 4, 1, 1}, {"cost", 1, 0, 0}, {"loadbalancers", 3, 0, 3}}, counts); d != "" {
		t.Errorf("tests, failures, skipped (-want +got):\n%s", d)
	}
	if got.Failures != 1 || !strings.Contains(got.Suites[0].Cases[1].Failure.Text, "The Node is never deleted.") {
		t.Errorf("got %s", text)
	}
}

func TestCompare(t *testing.T) {
	report := func(outcomes map[string]Outcome) *Report {
		r := &Report{}
		for id, o := range outcomes {
			level := Core
			if strings.HasPrefix(id, "cost/") {
				level = Measured
			}
			r.Checks = append(r.Checks, CheckResult{ID: id, Level: level, Outcome: o, Why: "why\nmore"})
		}
		return r
	}
	before := report(map[string]Outcome{"a/same": Failed, "a/mended": Failed, "a/broken": Passed, "a/lost": Passed, "a/retired": NotRun, "cost/number": Passed})
	after := report(map[string]Outcome{"a/same": Failed, "a/mended": Passed, "a/broken": Failed, "a/lost": NotRun, "a/new": Passed, "cost/number": Failed})
	var b strings.Builder
	if err := WriteChanges(&b, Compare(before, after)); err != nil {
		t.Fatal(err)
	}
	want := `✗ a/broken  core  passed -> failed: why
✗ a/lost  core  passed -> notRun: why
+ a/mended  core  failed -> passed: why
+ a/new  core  not in the report -> passed: why
+ a/retired  core  notRun -> not in the report
+ cost/number  measured  passed -> failed: why
`
	if d := cmp.Diff(want, b.String()); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}
