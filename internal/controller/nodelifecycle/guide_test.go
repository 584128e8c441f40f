package nodelifecycle

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

const guide = "../../../docs/guides/node-deletion.md"

// TestGuideHasTheDefaults compares DefaultLimits with the values that the guide gives
// for the flags.
func TestGuideHasTheDefaults(t *testing.T) {
	text := readGuide(t)
	l := DefaultLimits()
	for flag, want := range map[string]any{
		"silent-after": l.SilentAfter, "absences": l.Absences, "absent-for": l.AbsentFor, "young-age": l.YoungAge, "young-absent-for": l.YoungAbsentFor,
		"witnesses": l.Witnesses, "foreign-after": l.ForeignAfter, "without-witness-after": l.WithoutWitnessAfter,
		"budget-nodes": l.Budget.Nodes, "budget-percent": l.Budget.Percent, "over-budget-after": l.OverBudgetAfter,
		"over-budget-rate-nodes": l.OverBudgetRate.Nodes, "over-budget-rate-percent": l.OverBudgetRate.Percent,
	} {
		if named := fmt.Sprintf("`--node-deletion-%s=%s`", flag, shown(want)); !strings.Contains(text, named) {
			t.Errorf("%s does not name %s", guide, named)
		}
	}
	for _, named := range []string{
		fmt.Sprintf("`--node-monitor-period` (%d s)", int(l.FirstPause.Seconds())),
		fmt.Sprintf("`--node-monitor-longest-period` (%d min)", int(l.LongestPause.Minutes())),
		fmt.Sprintf("every %d seconds", int((l.AbsentFor / time.Duration(l.Absences-1)).Seconds())),
		fmt.Sprintf("not recorded again for %d minutes", int(repeatAfter.Minutes())),
	} {
		if !strings.Contains(text, named) {
			t.Errorf("%s does not say %q", guide, named)
		}
	}
}

// shown returns a value as the guide writes it.
func shown(value any) string {
	text := fmt.Sprint(value)
	if text == "0s" {
		return "0"
	}
	return strings.TrimSuffix(text, "0s") + map[bool]string{true: "0s", false: ""}[strings.HasSuffix(text, "0s") && !strings.HasSuffix(text, "m0s")]
}

// TestGuideHasTheReasons compares the reasons in the guide's table with
// Reasons.
func TestGuideHasTheReasons(t *testing.T) {
	text := readGuide(t)
	var names []string
	for _, r := range Reasons() {
		names = append(names, r.Name)
		if !strings.Contains(text, "`"+r.Name+"`") {
			t.Errorf("%s does not name the reason %s", guide, r.Name)
		}
	}
	_, table, _ := strings.Cut(text, "| reason |")
	table, _, _ = strings.Cut(table, "\n\n")
	found := 0
	for line := range strings.Lines(table) {
		first, _, _ := strings.Cut(strings.TrimPrefix(line, "|"), "|")
		for _, m := range regexp.MustCompile("`([A-Z]\\w+)`").FindAllStringSubmatch(first, -1) {
			found++
			if !slices.Contains(names, m[1]) {
				t.Errorf("%s names the reason %s, which does not exist", guide, m[1])
			}
		}
	}
	if found < 15 {
		t.Errorf("found only %d reasons in the table", found)
	}
}

func readGuide(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(guide)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
