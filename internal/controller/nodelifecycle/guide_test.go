package nodelifecycle

import (
	"fmt"
	"os"
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

func readGuide(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(guide)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
