package figures

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fairlead-k8s/fairlead/simulator"
	"github.com/fairlead-k8s/fairlead/test/scale/internal/report"
)

// line is a line of the table. If no result has the scenarios of the line, the
// table leaves the line out.
type line struct {
	scenarios []string
	// what returns the first cell. Its arguments are the figures of the scenarios, in
	// the order of the field scenarios.
	what func(...found) string
	// cell returns the cell of a contender. Its arguments are the contender's
	// rows of the scenarios, in the order of the field scenarios.
	cell func(...report.Row) string
}

// headlines returns the lines of the README's table.
func headlines() []line {
	return []line{
		{[]string{"lies-404-few", "lies-404-all"}, func(f ...found) string {
			return fmt.Sprintf("healthy nodes deleted while the cloud answers 404 for everything: with %d kubelets silent, with all %d silent", f[0].nodes/10, f[1].nodes)
		}, deleted},
		{[]string{"init"}, sized("%s nodes initialised"), initialised},
		{[]string{"outage"}, sized("outage of the cloud, %s nodes: calls in it, and after its end until all is done that waited"), facts(report.OutageCalls, report.OutageOver)},
		{[]string{"services-create"}, exposing("%s Services created at once have their addresses"), facts(report.AllExposed)},
		{[]string{"routes-init"}, sized("%s nodes get routes"), routed},
		{[]string{"removal", "spot-storm-10", "spot-storm-100"}, func(f ...found) string {
			return fmt.Sprintf("%d of %d machines end at once; %d of %d; %d of %d: their nodes are gone (Fairlead asks three times over 30 s, then deletes at a limited rate)",
				f[0].nodes/20, f[0].nodes, f[1].nodes*4/10, f[1].nodes, f[2].nodes*3/10, f[2].nodes)
		}, each(report.NodesGone)},
	}
}

// lines returns the other lines of the table in docs/benchmarks.
func lines() []line {
	return []line{
		{[]string{"lies-empty-list", "lies-half-list"}, func(...found) string {
			return "healthy nodes deleted while the cloud's list is empty, and while it lacks half of the instances"
		}, deleted},
		{[]string{"init-plain"}, func(f ...found) string {
			return report.Grouped(f[0].nodes) + " nodes initialised with a provider without fast paths" + f[0].bound()
		}, initialised},
		{[]string{"init"}, sized("largest memory while %s nodes are initialised"), func(r ...report.Row) string { return report.Megabytes(r[0].PeakBytes) }},
		{[]string{"idle"}, sized("cloud calls in an idle minute, %s nodes"), facts(report.IdleCalls)},
		{[]string{"heartbeats"}, sized("CPU of an idle daemon while %s kubelets write their status every 5 minutes, as they do by default"), facts(report.IdleCPU)},
		{[]string{"heartbeats-10s"}, func(...found) string { return "… every 10 s, as before Kubernetes 1.17" }, facts(report.IdleCPU)},
		{[]string{"drift"}, func(f ...found) string {
			return fmt.Sprintf("addresses of %d of %s instances change in the cloud: their nodes show it", min(f[0].nodes/20, 50), report.Grouped(f[0].nodes))
		}, facts(report.AddressesFollow)},
		{[]string{"mass-removal"}, func(f ...found) string {
			return fmt.Sprintf("%d of %d machines end at once, most of each zone: the first node is gone, all are (Fairlead holds them on purpose for 10 minutes, then deletes 10 %% a minute)",
				f[0].nodes*6/10, f[0].nodes)
		}, each(report.FirstGone, report.NodesGone)},
		{[]string{"two-deaths-5s", "two-deaths-20s", "two-deaths-30s", "two-deaths-50s"}, func(f ...found) string {
			return fmt.Sprintf("one of %d machines ends, and another one 5 s later; 20 s; 30 s; 50 s: the first node is gone, both are", f[0].nodes)
		}, each(report.FirstGone, report.NodesGone)},
		{[]string{"last-of-a-region-announced", "last-of-a-region"}, func(...found) string {
			return "the last machine of a region ends, and a taint has announced it; nothing has: its node is gone"
		}, each(report.NodesGone)},
		{[]string{"spot-storm-pods"}, func(f ...found) string {
			return fmt.Sprintf("4 of %d machines of a zone end, and with them pods of a StatefulSet with volumes: their nodes are gone, the pods are bound to others, the pods run", f[0].nodes/2)
		}, each(report.NodesGone, report.PodsBound, report.PodsMoved)},
		{[]string{"failover"}, func(...found) string { return "leader stopped by SIGTERM: the other replica has taken over" }, facts(report.AfterSIGTERM)},
		{[]string{"failover"}, func(...found) string {
			return "leader killed by SIGKILL: the other has taken over, when the lease is over"
		}, facts(report.AfterSIGKILL)},
		{[]string{"services-join-one"}, exposing("one node joins: all %s load balancers have it"), func(r ...report.Row) string {
			return fact(r[0], report.AllBackends) + ", " + calls(r[0])
		}},
		{[]string{"services-restart"}, exposing("the daemon is replaced, and %s Services have not changed"), func(r ...report.Row) string {
			return calls(r[0]) + ", events: " + report.Grouped(r[0].Events)
		}},
		{[]string{"routes-init-plain"}, sized("%s nodes get routes with a provider without fast paths"), routed},
		{[]string{"list-cache"}, func(f ...found) string {
			return fmt.Sprintf("cloud calls in %s, with a provider that keeps its list of %s instances for 10 s", f[0].idleFor(2), report.Grouped(f[0].nodes))
		}, facts(report.CallsInAll)},
	}
}

// quotaLines returns a line for each request quota of a well-known cloud.
func quotaLines() []line {
	var all []line
	for _, profile := range simulator.QuotaProfiles() {
		all = append(all, line{[]string{"quota-" + profile}, func(f ...found) string {
			return fmt.Sprintf("under %s's quota, used up at the start: %s nodes initialised%s; idle use of the quota; an hour later %s Services, one node; refused calls",
				profile, report.Grouped(f[0].nodes), f[0].bound(), report.Grouped(f[0].services))
		}, underQuota})
	}
	return all
}

// underQuota returns a cell with the times, the share of a bucket's rate that is used
// while nothing happens, and the number of refused calls. If there are several buckets,
// the one with the largest share counts.
func underQuota(rows ...report.Row) string {
	use := 0.0
	for _, f := range rows[0].Outcome {
		if strings.HasPrefix(f.What, report.IdleUse) {
			use = max(use, *f.Value)
		}
	}
	times := []string{fact(rows[0], report.AllInitialized), fact(rows[0], report.AllExposed), fact(rows[0], report.AllBackends)}
	if slices.Contains(times, "") {
		return ""
	}
	return fmt.Sprintf("%s; %.1f %%; %s, %s; %s", times[0], use, times[1], times[2], report.Grouped(rows[0].Throttled))
}

// idleFor returns a text with a multiple of the benchmark's flag -idle-for.
func (f found) idleFor(times float64) string {
	d, err := time.ParseDuration(f.flags["idle-for"])
	if err != nil {
		return "an idle time"
	}
	return fmt.Sprintf("%.0f idle minutes", times*d.Minutes())
}

// sized returns a function for the field what of a line. The function inserts the
// number of Nodes into the format.
func sized(format string) func(...found) string {
	return func(f ...found) string { return fmt.Sprintf(format, report.Grouped(f[0].nodes)) }
}

// exposing does the same as sized, with the number of Services.
func exposing(format string) func(...found) string {
	return func(f ...found) string { return fmt.Sprintf(format, report.Grouped(f[0].services)) }
}

// bound returns a text that says how long the calls take at least, because of the
// quota. The text is empty if that time is not known.
func (f found) bound() string {
	if fact, known := f.fairlead.Fact(report.QuotaNeeds); known {
		return " (the quota alone needs " + fact.Text() + ")"
	}
	return ""
}

// with returns the value of one of Fairlead's flags, between the texts before and
// after. It returns an empty text if Fairlead ran with the default of the flag.
func (f found) with(before, flag, after string) string {
	for _, given := range f.fairlead.Flags {
		if value, is := strings.CutPrefix(given, flag+"="); is {
			return before + value + after
		}
	}
	return ""
}

func deleted(rows ...report.Row) string {
	texts := make([]string, len(rows))
	for n, row := range rows {
		texts[n] = report.Grouped(row.HealthyNodesDeleted)
		if row.HealthyNodesDeleted == 0 {
			texts[n] = "**0**"
		}
	}
	return strings.Join(texts, ", ")
}

func initialised(rows ...report.Row) string {
	text := fact(rows[0], report.AllInitialized)
	if median, known := rows[0].Fact(report.MedianNode); known {
		text += ", half of them " + median.Text()
	}
	return text + ", " + calls(rows[0])
}

func routed(rows ...report.Row) string {
	return fmt.Sprintf("%s, %s, refused: %s", fact(rows[0], report.AllRouted), calls(rows[0]), report.Grouped(rows[0].Throttled))
}

func calls(row report.Row) string { return "calls: " + report.Grouped(row.Calls()) }

// facts returns a function that returns a cell with some facts of one row. The cell
// is empty if one of the facts is not known.
func facts(whats ...string) func(...report.Row) string {
	return func(rows ...report.Row) string {
		texts := make([]string, len(whats))
		for n, what := range whats {
			if texts[n] = fact(rows[0], what); texts[n] == "" {
				return ""
			}
		}
		return strings.Join(texts, ", ")
	}
}

// each returns a function that returns a cell with some facts of each row. The cell is
// empty if one of the facts is not known.
func each(whats ...string) func(...report.Row) string {
	return func(rows ...report.Row) string {
		texts := make([]string, len(rows))
		for n, row := range rows {
			if texts[n] = facts(whats...)(row); texts[n] == "" {
				return ""
			}
		}
		return strings.Join(texts, "; ")
	}
}

// fact returns the text of a fact. It returns an empty text if the row does not have
// the fact.
func fact(row report.Row, what string) string {
	f, known := row.Fact(what)
	if !known {
		return ""
	}
	return f.Text()
}

// Headlines returns the README's table with a sentence that introduces it.
func (all Results) Headlines() string {
	rows, _ := all.rows(headlines())
	return all.intro() + " " + measuredHow + "\n\n" + rows
}

const measuredHow = "[Benchmarks](docs/benchmarks/README.md) has all figures, and what they do not show."

// Table returns the table of docs/benchmarks with a sentence that introduces it. If a
// result has clusters of several sizes, the picture follows.
func (all Results) Table() string {
	rows, files := all.rows(slices.Concat(headlines(), lines(), quotaLines()))
	text := all.intro() + " All numbers are in " + strings.Join(files, ", ") + ".\n\n" + rows + all.conditions()
	if picture, ok := all.newestScaling(); ok {
		text += "\n![" + alternative + "](" + PictureFile + ")\n\nBoth axes are logarithmic. The picture is made from " + linked(picture.Name) + ".\n"
	}
	return text
}

// intro returns a sentence about the machine and the cloud of the newest result.
func (all Results) intro() string {
	return fmt.Sprintf("Fairlead and the skeleton were measured on a machine with %d cores, which also ran the control plane. Each call of the cloud takes %s, and the quota is %s calls a second.",
		all[0].Machine.Cores, strings.Replace(all[0].Flags["latency"], "ms", " ms", 1), all[0].Flags["quota"])
}

// rows returns a table with these lines, and links to the results from which its
// figures come.
func (all Results) rows(lines []line) (table string, files []string) {
	var rows strings.Builder
	rows.WriteString("| | Fairlead | skeleton |\n| --- | --- | --- |\n")
	for _, l := range lines {
		text, used := l.row(all)
		rows.WriteString(text)
		for _, name := range used {
			if !slices.Contains(files, linked(name)) {
				files = append(files, linked(name))
			}
		}
	}
	return rows.String(), files
}

// linked returns a link from docs/benchmarks to a result.
func linked(name string) string { return fmt.Sprintf("[%[1]s](%[1]s.json)", name) }

// conditions returns a paragraph about the conditions of some lines: the time for which
// the cloud's answers were wrong, and the flags that did not have their defaults.
func (all Results) conditions() string {
	var sentences []string
	if f, ok := all.newest("lies-404-few"); ok {
		if lie, err := time.ParseDuration(f.flags["lie-for"]); err == nil {
			sentences = append(sentences, fmt.Sprintf("The wrong answers last %.0f s: a 0 means that nothing was deleted in that time.", lie.Seconds()))
		}
	}
	if f, ok := all.newest("lies-404-few"); ok && slices.Contains(f.fairlead.Flags, "--node-deletion-young-age=0s") {
		sentences = append(sentences, "In the lines about silent kubelets, Fairlead runs with `--node-deletion-young-age=0s`. So new nodes count as old ones, which it deletes sooner.")
	}
	if _, ok := all.newest("spot-storm-10"); ok {
		sentences = append(sentences, "If machines end, the time begins when the first kubelet counts as silent, 45 s later; in the line about pods, when the machines end.")
	}
	if f, ok := all.newest("drift"); ok {
		sentences = append(sentences, f.with("For the line about changed addresses, both daemons run with `--node-status-update-frequency=", "--node-status-update-frequency", "`."))
	}
	if text := strings.TrimSpace(strings.Join(sentences, " ")); text != "" {
		return "\n" + text + " See also [what the figures do not show](#what-it-does-not-show).\n"
	}
	return ""
}

// row returns the line as text, and the pages from which its figures come. It
// returns nothing if no result has Fairlead's figures.
func (l line) row(all Results) (text string, pages []string) {
	var scenarios []found
	var ours, theirs []report.Row
	measured := true
	for _, name := range l.scenarios {
		f, ok := all.newest(name)
		if !ok {
			return "", nil
		}
		scenarios, pages = append(scenarios, f), append(pages, f.page)
		ours, theirs = append(ours, f.fairlead), append(theirs, f.skeleton)
		measured = measured && f.skeleton.Scenario != ""
	}
	our, their := l.cell(ours...), "–"
	if measured {
		their = l.cell(theirs...)
	}
	if our == "" { // The result is older than this measurement.
		return "", nil
	}
	return fmt.Sprintf("| %s | %s | %s |\n", l.what(scenarios...), our, their), pages
}
