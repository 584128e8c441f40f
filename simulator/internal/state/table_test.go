package state

import (
	"testing"
	"time"
)

func TestTable(t *testing.T) {
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	second := func(n int) time.Time { return start.Add(time.Duration(n) * time.Second) }
	table := newTable[string](nil)
	set := func(at int, id, value string) {
		row := &value
		if value == "" {
			row = nil
		}
		table.remember(table.exchange(second(at), id, row))
	}
	set(1, "b", "b1")
	set(2, "a", "a1")
	set(3, "b", "b2")
	set(4, "a", "")
	set(5, "c", "c1")

	values := func(rows []*string) []string {
		all := []string{}
		for _, row := range rows {
			all = append(all, *row)
		}
		return all
	}
	for at, want := range map[int][]string{
		0: {}, 1: {"b1"}, 2: {"a1", "b1"}, 3: {"a1", "b2"}, 4: {"b2"}, 5: {"b2", "c1"},
	} {
		diff(t, "as of "+second(at).String(), want, values(table.asOf(second(at)).all()))
	}
	diff(t, "the present after asOf", []string{"b2", "c1"}, values(table.all()))
	diff(t, "after b", []string{"c1"}, values(table.after("b")))
	diff(t, "after the ID of a removed row", []string{"b2", "c1"}, values(table.after("a")))
	diff(t, "after the last", []string{}, values(table.after("c")))
	table.replace("nobody", nil)
	diff(t, "removing nobody", []string{"b2", "c1"}, values(table.all()))
}

func TestTableRemembersBoundedly(t *testing.T) {
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	table := newTable[int](nil)
	for n := range 3 * maxPast {
		table.remember(table.exchange(start.Add(time.Duration(n)), "a", &n))
	}
	if len(table.past) > maxPast {
		t.Errorf("%d changes are remembered, want at most %d", len(table.past), maxPast)
	}
	if got := *table.asOf(start.Add(3*maxPast - 10)).row("a"); got != 3*maxPast-10 {
		t.Errorf("a moment ago it was %d", got)
	}
	if got := table.asOf(start).row("a"); got == nil {
		t.Error("for a time before all remembered changes, asOf must return the oldest known state")
	}
}
