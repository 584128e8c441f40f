package report

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"
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
		"calls: 12,345":                 Number("calls", 12345, 0),
		"calls: 0.60 a minute":          Quantity("calls", 0.6, "a minute"),
		"CPU: 12.5 % of a core":         Quantity("CPU", 12.5, "% of a core"),
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
	want := "init fairlead 0 done: 1.0 s 5 1 (20.0 %) 7 2 4 1.5 s 80 MB"
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

// Each list of numbers is on one line, because people also read the JSON.
func TestSeriesTakesFewLines(t *testing.T) {
	r := sample()
	r.Rows[0].Series = &Series{EverySeconds: 10, Calls: []int{1, 22, 333}, Refused: []int{0}, MemoryBytes: []int64{1 << 20}}
	var b bytes.Buffer
	if err := r.WriteJSON(&b); err != nil {
		t.Fatal(err)
	}
	if want := `"calls": [1, 22, 333],`; !strings.Contains(b.String(), want) {
		t.Errorf("%s is missing in\n%s", want, b.String())
	}
	var back Report
	if err := json.Unmarshal(b.Bytes(), &back); err != nil || back.Rows[0].Series.Calls[2] != 333 {
		t.Errorf("got %+v, %v", back.Rows[0].Series, err)
	}
}

func TestNewSeries(t *testing.T) {
	// everySecond returns samples of n seconds, one for each second. Each
	// sample is a little late.
	everySecond := func(n int) []Sample {
		var samples []Sample
		for at := range n {
			samples = append(samples, Sample{Seconds: float64(at) + 1.02, Calls: 2 * (at + 1), Refused: (at + 1) / 10, MemoryBytes: int64(at)})
		}
		return samples
	}
	for name, row := range map[string]struct {
		samples []Sample
		want    *Series
	}{
		"Nothing": {nil, nil},
		"Short":   {everySecond(3), &Series{1, []int{2, 2, 2}, []int{0, 0, 0}, []int64{0, 1, 2}}},
		"Long":    {everySecond(75), &Series{10, []int{20, 20, 20, 20, 20, 20, 20, 10}, []int{1, 1, 1, 1, 1, 1, 1, 0}, []int64{9, 19, 29, 39, 49, 59, 69, 74}}},
		"MissedSample": {
			[]Sample{{Seconds: 1, Calls: 1, MemoryBytes: 5}, {Seconds: 3.1, Calls: 4, MemoryBytes: 6}},
			&Series{1, []int{1, 0, 3}, []int{0, 0, 0}, []int64{5, 5, 6}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if got := NewSeries(row.samples); !reflect.DeepEqual(got, row.want) {
				t.Errorf("got %+v, want %+v", got, row.want)
			}
		})
	}
}

func TestUnevenness(t *testing.T) {
	for name, row := range map[string]struct {
		calls []int
		want  float64
	}{
		"Even":               {[]int{5, 5, 5, 5}, 1},
		"Burst":              {[]int{12, 0, 0, 0}, 3},
		"PartAtTheEnd":       {[]int{5, 5, 5, 1}, 1},
		"NothingHasHappened": {[]int{0, 0}, 0},
		"One":                {[]int{7}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			if got := (&Series{EverySeconds: 10, Calls: row.calls}).Unevenness(); got != row.want {
				t.Errorf("got %v, want %v", got, row.want)
			}
		})
	}
}

func TestMinuteByMinute(t *testing.T) {
	r := sample()
	r.Rows[0].Series = NewSeries([]Sample{{Seconds: 10, Calls: 3, MemoryBytes: 7 << 20}, {Seconds: 70, Calls: 5, Refused: 1, MemoryBytes: 9 << 20}})
	var b bytes.Buffer
	if err := r.WriteMarkdown(&b, "x.json"); err != nil {
		t.Fatal(err)
	}
	if want := "| init | fairlead | 3, 2 | 0, 1 | 7, 9 |"; !strings.Contains(strings.Join(strings.Fields(b.String()), " "), want) {
		t.Errorf("%q is missing in\n%s", want, b.String())
	}
}

func TestWhatANodeCosts(t *testing.T) {
	cost := func(scenario, contender, fastPaths string, nodes int) Row {
		return Row{
			Scenario: scenario, Contender: contender, FastPaths: fastPaths, Nodes: nodes, CPUSeconds: 2, PeakBytes: 80 << 20,
			CloudCalls: map[string]map[string]int{"GetInstance": {"OK": nodes}}, APIWrites: map[string]int{"patch nodes": 2 * nodes},
			Outcome: []Fact{Took(MedianNode, time.Second), Took(AllInitialized, 2*time.Second)},
		}
	}
	r := Report{Rows: []Row{
		cost("init", "fairlead", "on", 1000), cost("init", "skeleton", "on", 1000), cost("init-plain", "fairlead", "off", 1000),
		cost("scale-10", "fairlead", "on", 100), cost("scale-10", "skeleton", "on", 100), cost("scale-10-plain", "fairlead", "off", 100),
		cost("init-text", "fairlead", "", 500), cost("idle", "fairlead", "on", 1000),
	}}
	var got []string
	for _, row := range r.scaling()[1:] {
		got = append(got, strings.Join(row, " "))
	}
	want := []string{
		"fairlead 100 1.0 s 2.0 s 100 1.00 20.0 ms 2.00 80 MB",
		"fairlead 1,000 1.0 s 2.0 s 1,000 1.00 2.00 ms 2.00 80 MB",
		"fairlead, without fast paths 100 1.0 s 2.0 s 100 1.00 20.0 ms 2.00 80 MB",
		"fairlead, without fast paths 1,000 1.0 s 2.0 s 1,000 1.00 2.00 ms 2.00 80 MB",
		"skeleton 100 1.0 s 2.0 s 100 1.00 20.0 ms 2.00 80 MB",
		"skeleton 1,000 1.0 s 2.0 s 1,000 1.00 2.00 ms 2.00 80 MB",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	r.Rows = r.Rows[:3]
	if table := r.scaling(); table != nil {
		t.Errorf("one size shows no scaling: %v", table)
	}
}

func TestThisMachine(t *testing.T) {
	if m := ThisMachine(); m.Cores < 1 || m.Go == "" {
		t.Errorf("got %+v", m)
	}
}
