package conformance

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
)

// Change is a check whose outcome differs between two reports. Before is empty if the
// first report does not have the check. After is empty if the second report does not
// have it.
type Change struct {
	ID            string
	Level         Level
	Before, After Outcome
	// Why is the reason for the outcome in the second report.
	Why string
}

// Worse reports whether the check has failed in the second report, or has passed only
// in the first one. A check of level Measured is never worse.
func (c Change) Worse() bool {
	if c.Level == Measured {
		return false
	}
	return c.After == Failed || c.Before == Passed && c.After != Passed
}

// Compare returns the changes from one report to another. Changes for the worse
// come first. Both groups are in the order of IDs.
func Compare(before, after *Report) []Change {
	all := map[string]Change{}
	for _, c := range before.Checks {
		all[c.ID] = Change{ID: c.ID, Level: c.Level, Before: c.Outcome}
	}
	for _, c := range after.Checks {
		all[c.ID] = Change{ID: c.ID, Level: c.Level, Before: all[c.ID].Before, After: c.Outcome, Why: c.Why}
	}
	var changes []Change
	for _, c := range all {
		if c.Before != c.After {
			changes = append(changes, c)
		}
	}
	slices.SortFunc(changes, func(a, b Change) int {
		if a.Worse() != b.Worse() {
			if a.Worse() {
				return -1
			}
			return 1
		}
		return cmp.Compare(a.ID, b.ID)
	})
	return changes
}

// WriteChanges writes the changes for people, a line for each.
func WriteChanges(to io.Writer, changes []Change) error {
	var w strings.Builder
	for _, c := range changes {
		mark := "+"
		if c.Worse() {
			mark = "✗"
		}
		fmt.Fprintf(&w, "%s %s  %s  %s -> %s", mark, c.ID, c.Level, cmp.Or(string(c.Before), "not in the report"), cmp.Or(string(c.After), "not in the report"))
		if c.Why != "" {
			fmt.Fprintf(&w, ": %s", firstLine(c.Why))
		}
		fmt.Fprintln(&w)
	}
	if len(changes) == 0 {
		fmt.Fprintln(&w, "No check has a different result.")
	}
	_, err := io.WriteString(to, w.String())
	return err
}
