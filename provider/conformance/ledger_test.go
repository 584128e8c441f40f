package conformance

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestLedgerListsWhatHasNotEnded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "made.jsonl")
	ledger, err := OpenLedger(path, "acme")
	if err != nil {
		t.Fatal(err)
	}
	machine := Entry{Check: "instances/by-name", Cluster: "c", Kind: KindMachine, Name: "fl-1-a"}
	known := machine
	known.ID, known.ProviderID = "i-1", "acme://i-1"
	route := Entry{Check: "routes/round-trip", Cluster: "c", Kind: KindRoute, Name: "node 10.0.0.0/24"}
	gone := Entry{Check: "instances/by-name", Cluster: "c", Kind: KindMachine, Name: "fl-1-b"}
	for _, err := range []error{ledger.Begin(machine), ledger.Begin(known), ledger.Begin(gone), ledger.Begin(route), ledger.End(gone), ledger.Close()} {
		if err != nil {
			t.Fatal(err)
		}
	}
	again, err := OpenLedger(path, "acme")
	if err != nil {
		t.Fatal(err)
	}
	left, err := again.Left()
	if d := cmp.Diff([]Entry{route, known}, left); d != "" || err != nil {
		t.Errorf("error %v; (-want +left, the last first):\n%s", err, d)
	}
}

// Two runs may create foreign resources of the same name. Here the first run is
// killed, and the second one ends.
func TestLedgerTellsForeignResourcesByTheirIDs(t *testing.T) {
	unfinished := Entry{Kind: KindRoute, Name: "10.0.3.0/24", Foreign: true}
	first, second := unfinished, unfinished
	first.ID, second.ID = "rt-1", "rt-2"
	path := filepath.Join(t.TempDir(), "made.jsonl")
	write(t, path, func(l *FileLedger) error {
		return errors.Join(l.Begin(unfinished), l.Begin(first), l.Begin(unfinished), l.Begin(second), l.End(second))
	})
	write(t, path, func(l *FileLedger) error {
		left, err := l.Left()
		if d := cmp.Diff([]Entry{first}, left); d != "" {
			t.Errorf("(-want +left):\n%s", d)
		}
		return err
	})
}

// A process that is killed may leave a part of a line. The thing of that line
// was not created, because Begin had not returned.
func TestLedgerReadsWhatACrashHasCutOff(t *testing.T) {
	path := filepath.Join(t.TempDir(), "made.jsonl")
	first := Entry{Cluster: "c", Kind: KindMachine, Name: "a"}
	write(t, path, func(l *FileLedger) error { return l.Begin(first) })
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	write(t, path, func(l *FileLedger) error { return l.Begin(Entry{Cluster: "c", Kind: KindMachine, Name: "b"}) })
	both, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	last := Entry{Cluster: "c", Kind: KindMachine, Name: "last"}
	for cut := len(whole); cut < len(both)-1; cut++ { // at least the last brace is missing
		if err := os.WriteFile(path, both[:cut], 0o600); err != nil {
			t.Fatal(err)
		}
		write(t, path, func(l *FileLedger) error { return l.Begin(last) })
		write(t, path, func(l *FileLedger) error {
			left, err := l.Left()
			if d := cmp.Diff([]Entry{last, first}, left); d != "" {
				t.Errorf("cut off after %d bytes (-want +left):\n%s", cut, d)
			}
			warnings, failed := l.Warnings()
			if want := cut > len(whole)+1; (len(warnings) == 1) != want { // A line break alone is not reported.
				t.Errorf("cut off after %d bytes: warnings %q", cut, warnings)
			}
			return errors.Join(err, failed)
		})
	}
}

func TestLedgerIsOfOneProvider(t *testing.T) {
	path := filepath.Join(t.TempDir(), "made.jsonl")
	write(t, path, func(*FileLedger) error { return nil })
	_, err := OpenLedger(path, "other")
	if err == nil || !strings.Contains(err.Error(), `lists what the provider "acme" has created, and this is "other"`) {
		t.Errorf("got %v", err)
	}
	if _, err := ExistingLedger(path+"x", "acme"); err == nil {
		t.Error("a file that does not exist was opened")
	}
	if err := os.WriteFile(path, []byte("apiVersion: v1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenLedger(path, "acme"); err == nil || !strings.Contains(err.Error(), "line 1: this is no line of a ledger") {
		t.Errorf("another file: got %v", err)
	}
}

// A ledger that lists a thing belongs to the account of that thing.
func TestLedgerIsOfOneAccount(t *testing.T) {
	machine := Entry{Kind: KindMachine, Name: "fl-1-a"}
	for name, row := range map[string]struct {
		first, second string
		left, refused bool
	}{
		"Same":           {first: "a", second: "a", left: true},
		"Another":        {first: "a", second: "b", left: true, refused: true},
		"AnotherIfEmpty": {first: "a", second: "b"},
		"Unknown":        {first: "a", refused: true},
		"BeforeUnknown":  {second: "a", left: true},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "made.jsonl")
			write(t, path, func(l *FileLedger) error {
				err := errors.Join(l.Claim(row.first), l.Begin(machine))
				if !row.left {
					err = errors.Join(err, l.End(machine))
				}
				return err
			})
			write(t, path, func(l *FileLedger) error {
				err := l.Claim(row.second)
				if other, refused := errors.AsType[*OtherAccountError](err); refused != row.refused || refused && (other.Ledger != row.first || other.This != row.second) {
					t.Errorf("got %v, refused is %v", err, row.refused)
				}
				if refused := l.belongs(row.second) != nil; refused != row.refused {
					t.Errorf("cleanup: refused is %v", refused)
				}
				return nil
			})
		})
	}
}

// write opens the ledger of the provider acme, passes it to the function, and closes it.
func write(t *testing.T, path string, do func(*FileLedger) error) {
	t.Helper()
	ledger, err := OpenLedger(path, "acme")
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{do(ledger), ledger.Close()} {
		if err != nil {
			t.Fatal(err)
		}
	}
}
