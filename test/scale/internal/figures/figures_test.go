package figures

import (
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-k8s/fairlead/internal/golden"
	"github.com/fairlead-k8s/fairlead/test/scale/internal/report"
)

const root = "../../../.."

// TestPages checks that the figures in the README and in docs/benchmarks and the
// picture are made from the newest results.
func TestPages(t *testing.T) {
	dir := filepath.Join(root, "docs/benchmarks")
	all, err := Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	for path, make := range map[string]func(string) (string, error){
		"README.md":                 func(page string) (string, error) { return Fill(page, all.Headlines()) },
		"docs/benchmarks/README.md": func(page string) (string, error) { return Fill(page, all.Table()) },
		"docs/benchmarks/scale.svg": func(string) (string, error) { return all.Picture(), nil },
	} {
		t.Run(path, func(t *testing.T) {
			have := read(t, path)
			want, err := make(have)
			if err != nil {
				t.Fatal(err)
			}
			golden.Compare(t, filepath.Join(root, path), want, "docs/benchmarks/*.json, with make bench-record")
		})
	}
}

// read returns the content of a file of the repository. It is empty if the file
// does not exist.
func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, path))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	return string(text)
}

// initialising returns the row of a contender in a scenario that initialises
// Nodes.
func initialising(scenario, name string, nodes int, took time.Duration) report.Row {
	row := report.Row{
		Scenario: scenario, Contender: name, Nodes: nodes, PeakBytes: 80 << 20, FastPaths: "on",
		CloudCalls: map[string]map[string]int{"GetInstance": {"OK": nodes}},
		Outcome:    []report.Fact{report.Took(report.MedianNode, took/2), report.Took(report.AllInitialized, took)},
	}
	if strings.HasSuffix(scenario, "-plain") {
		row.FastPaths = "off"
		row.Outcome = append(row.Outcome, report.Took(report.QuotaNeeds, 48*time.Second))
	}
	return row
}

// underLinode returns the row of a contender under the quota of linode.
func underLinode(name string, took time.Duration, refused int) report.Row {
	return report.Row{Scenario: "quota-linode", Contender: name, Nodes: 300, Services: 20, Throttled: refused, Outcome: []report.Fact{
		report.Took(report.AllInitialized, took), report.Took(report.QuotaNeeds, 176*time.Second),
		report.Quantity(report.IdleUse+"lists", 0, ""), report.Quantity(report.IdleUse+"others", 7.65, ""),
		report.Took(report.AllExposed, 12*time.Second), report.Took(report.AllBackends, time.Second),
	}}
}

// removing returns the row of a contender in a scenario in which machines end.
func removing(scenario, name string, took time.Duration) report.Row {
	return report.Row{Scenario: scenario, Contender: name, Outcome: []report.Fact{report.Took(report.NodesGone, took)}}
}

func sample() Results {
	return Results{
		{Name: "new", Report: report.Report{Date: "2026-01-03T00:00:00Z", Machine: report.Machine{Cores: 2}, Flags: map[string]string{"latency": "30ms", "quota": "100"}, Rows: []report.Row{
			initialising("init", "fairlead", 5000, 17*time.Second), initialising("init", "skeleton", 5000, 745*time.Second),
			initialising("init-plain", "fairlead", 5000, 49*time.Second),
			initialising("scale-10", "fairlead", 500, 3*time.Second), initialising("scale-10", "skeleton", 500, 74*time.Second),
			{Scenario: "idle", Contender: "fairlead", Error: "it has ended"},
		}}},
		{Name: "old", Report: report.Report{Date: "2026-01-02T00:00:00Z", Flags: map[string]string{"nodes": "500", "lie-for": "1m30s", "idle-for": "5m0s"}, Rows: []report.Row{
			initialising("init", "fairlead", 500, 9*time.Second),
			{Scenario: "idle", Contender: "fairlead", Outcome: []report.Fact{report.Quantity(report.IdleCalls, 2, "a minute")}},
			{Scenario: "idle", Contender: "skeleton", Outcome: []report.Fact{report.Quantity(report.IdleCalls, 1000, "a minute")}},
			removing("last-of-a-region", "fairlead", 601*time.Second), removing("last-of-a-region", "skeleton", 2*time.Second),
			removing("last-of-a-region-announced", "fairlead", 31*time.Second), removing("last-of-a-region-announced", "skeleton", 3*time.Second),
			{Scenario: "mass-removal", Contender: "fairlead", Outcome: []report.Fact{report.Took(report.FirstGone, 10*time.Minute), {What: report.NodesGone, NotWithin: 2400}}},
			removing("removal", "fairlead", 34*time.Second), removing("spot-storm-10", "fairlead", 31*time.Second),
			{Scenario: "drift", Contender: "fairlead", Flags: []string{"--node-status-update-frequency=10s"}},
			{Scenario: "lies-404-few", Contender: "fairlead", Flags: []string{"--node-deletion-young-age=0s"}},
			{Scenario: "lies-404-few", Contender: "skeleton", HealthyNodesDeleted: 50},
			{Scenario: "lies-404-all", Contender: "fairlead"},
			{Scenario: "lies-404-all", Contender: "skeleton", HealthyNodesDeleted: 500},
			underLinode("fairlead", 180*time.Second, 1), underLinode("skeleton", 900*time.Second, 4000),
			{Scenario: "quota-ec2", Contender: "fairlead"},
			{Scenario: "list-cache", Contender: "fairlead", Nodes: 1000, Outcome: []report.Fact{report.Number(report.CallsInAll, 1200, 0)}},
		}}},
	}
}

func TestTable(t *testing.T) {
	got := sample().Table()
	for name, want := range map[string]string{
		"TheNewestCounts":        "| 5,000 nodes initialised | 17.0 s, half of them 8.5 s, calls: 5,000 | 745 s, half of them 372 s, calls: 5,000 |\n",
		"NotMeasuredIsADash":     "| 5,000 nodes initialised with a provider without fast paths (the quota alone needs 48.0 s) | 49.0 s, half of them 24.5 s, calls: 5,000 | – |\n",
		"AFailedRunCountsAsNone": "| cloud calls in an idle minute, 500 nodes | 2.00 a minute | 1000 a minute |\n",
		"SizeOfAnOldResult":      "with 50 kubelets silent, with all 500 silent | **0**, **0** | 50, 500 |\n",
		"NotDoneInTime":          "then deletes 10 % a minute) | 600 s, not within 2400 s | – |\n",
		"SeveralScenarios":       "nothing has: its node is gone | 31.0 s; 601 s | 3.0 s; 2.0 s |\n",
		"ATimeAndAShareOfTheQuota": "| under linode's quota, used up at the start: 300 nodes initialised (the quota alone needs 176 s); idle use of the quota; an hour later 20 Services, one node; " +
			"refused calls | 180 s; 7.7 %; 12.0 s, 1.0 s; 1 | 900 s; 7.7 %; 12.0 s, 1.0 s; 4,000 |\n",
		"AMultipleOfTheIdleTime":  "| cloud calls in 10 idle minutes, with a provider that keeps its list of 1,000 instances for 10 s | 1,200 | – |\n",
		"TheLieIsShort":           "\nThe wrong answers last 90 s: ",
		"NodesCountAsOld":         " Fairlead runs with `--node-deletion-young-age=0s`. So ",
		"AFlagOfBoth":             " both daemons run with `--node-status-update-frequency=10s`. ",
		"TheMachine":              "on a machine with 2 cores, which also ran the control plane. Each call of the cloud takes 30 ms, and the quota is 100 calls a second. ",
		"ThePagesAreNamed":        "All numbers are in [old](old.json), [new](new.json).\n",
		"ThePictureIsOfTheNewest": "made from [new](new.json)",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%s: %q is missing in\n%s", name, want, got)
		}
	}
	if strings.Contains(got, "SIGTERM") || strings.Contains(got, "limited rate") || strings.Contains(got, "ec2") {
		t.Errorf("what nobody has measured has no line:\n%s", got)
	}
}

func TestPicture(t *testing.T) {
	got := sample().Picture()
	decoder := xml.NewDecoder(strings.NewReader(got))
	for {
		if _, err := decoder.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatalf("%v in\n%s", err, got)
		}
	}
	for _, want := range []string{"Made from new.json", ">745 s<", ">49 s<", ">17 s<", ">5,000<", ">500<", "fairlead, without fast paths"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing in\n%s", want, got)
		}
	}
	if strings.Contains(got, "NaN") || strings.Contains(got, "Inf") {
		t.Errorf("a place is no number:\n%s", got)
	}
	if got := sample()[1:].Picture(); got != "" {
		t.Errorf("one size is no picture: %s", got)
	}
}

func TestFill(t *testing.T) {
	const begin, end = "<!-- Code generated by make generate from docs/benchmarks; DO NOT EDIT. -->\n", "<!-- end -->\n"
	got, err := Fill("a\n"+begin+"old $1\n"+end+"b\n", "new $1\n")
	if want := "a\n" + begin + "new $1\n" + end + "b\n"; err != nil || got != want {
		t.Errorf("got %q, %v", got, err)
	}
	if _, err := Fill("a\n", "new"); err == nil {
		t.Error("a page without a place for it is an error")
	}
}
