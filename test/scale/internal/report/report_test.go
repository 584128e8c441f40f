package report

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"
)

func TestFacts(t *testing.T) {
	for want, fact := range map[string]Fact{
		"all initialised: 6.1 s":        Took("all initialised", 6123*time.Millisecond),
		"all initialised: 123 s":        Took("all initialised", 123400*time.Millisecond),
		"types follow: not within 62 s": Never("types follow", 62*time.Second),
		"deleted: 0 of 50":              Number("deleted", 0, 50),
		"calls: 0":                      Number("calls", 0, 0),
	} {
		want = strings.Replace(want, "62 s", "62.0 s", 1)
		if got := fact.String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func sample() Report {
	return Report{
		Date:     "2026-01-02T03:04:05Z",
		Machine:  Machine{CPU: "A CPU", Cores: 2, MemoryBytes: 8 << 30},
		Programs: []Program{{"fairlead", "v1"}},
		Flags:    map[string]string{"nodes": "500", "latency": "30ms", "scenario": ""},
		Rows: []Row{
			{
				Scenario: "init", Contender: "fairlead", What: "Nodes join.", Flags: []string{"--a=b"}, Outcome: []Fact{Took("done", time.Second)},
				CloudCalls: map[string]map[string]int{"GetInstance": {"OK": 3, "Throttled": 1}, "ListInstances": {"OK": 1}}, Throttled: 1,
				APIWrites: map[string]int{"patch nodes": 7, "create events": 2}, Events: 2, APIReads: map[string]int{"get nodes": 4},
				CPUSeconds: 1.5, PeakBytes: 80 << 20,
			},
			{Scenario: "init", Contender: "skeleton", What: "Nodes join.", Error: "it has ended\nwith a log"},
		},
	}
}

func TestTable(t *testing.T) {
	var b bytes.Buffer
	if err := sample().WriteTable(&b); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
	if len(lines) != 3 {
		t.Fatalf("%d lines:\n%s", len(lines), b.String())
	}
	want := "init fairlead 0 done: 1.0 s 5 1 7 2 4 1.5 s 80 MB"
	if got := strings.Join(strings.Fields(lines[1]), " "); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	want = "skeleton FAILED: it has ended"
	if got := strings.Join(strings.Fields(lines[2]), " "); got != want {
		t.Errorf("a failed run shows no numbers: got %q, want %q", got, want)
	}
	if failed := sample().Failed(); len(failed) != 1 || failed[0] != "init/skeleton" {
		t.Errorf("failed: %v", failed)
	}
}

func TestMarkdown(t *testing.T) {
	var b bytes.Buffer
	if err := sample().WriteMarkdown(&b, "x.json"); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"A CPU, 2 cores, 8 GiB", "- fairlead: `v1`", "`-latency=30ms -nodes=500`", "[x.json](x.json)",
		"**init**: Nodes join. fairlead runs with `--a=b`.", "done: 1.0 s", "| --",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is missing in\n%s", want, b.String())
		}
	}
	if n := strings.Count(b.String(), "**init**"); n != 1 {
		t.Errorf("the scenario is described %d times", n)
	}
}

func TestJSON(t *testing.T) {
	var b bytes.Buffer
	if err := sample().WriteJSON(&b); err != nil {
		t.Fatal(err)
	}
	var back Report
	if err := json.Unmarshal(b.Bytes(), &back); err != nil {
		t.Fatal(err)
	}
	if back.Rows[0].Calls() != 5 || back.Rows[0].Writes() != 7 || back.Rows[0].Outcome[0].Seconds != 1 {
		t.Errorf("got %+v", back.Rows[0])
	}
}

func TestThisMachine(t *testing.T) {
	if m := ThisMachine(); m.Cores < 1 || m.Go == "" {
		t.Errorf("got %+v", m)
	}
}
