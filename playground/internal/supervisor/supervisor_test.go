package supervisor

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// supervise returns a supervisor and the deaths that it reports.
func supervise(t *testing.T) (*Supervisor, <-chan error) {
	t.Helper()
	deaths := make(chan error, 10)
	s := New(t.TempDir(), func(err error) { deaths <- err })
	t.Cleanup(s.Close)
	return s, deaths
}

func shell(name, script string) Spec {
	return Spec{Name: name, Command: []string{"/bin/sh", "-c", script}}
}

// sleeper runs until it gets SIGTERM.
func sleeper(name string) Spec { return Spec{Name: name, Command: []string{"/bin/sleep", "600"}} }

func start(t *testing.T, s *Supervisor, spec Spec) {
	t.Helper()
	if err := s.Start(spec); err != nil {
		t.Fatal(err)
	}
}

func TestDeathIsReportedWithTheEndOfTheLog(t *testing.T) {
	s, deaths := supervise(t)
	start(t, s, shell("c", "echo one; echo two >&2; exit 3"))
	var death *Death
	if err := <-deaths; !errors.As(err, &death) {
		t.Fatalf("got %v, want a *Death", err)
	}
	want := "c died: exit status 3\nthe end of " + death.Log + ":\n    one\n    two"
	if diff := cmp.Diff(want, death.Error()); diff != "" {
		t.Error(diff)
	}
}

func TestWhatWasAskedForIsNoDeath(t *testing.T) {
	s, deaths := supervise(t)
	ctx := t.Context()
	for name, end := range map[string]func() error{
		"stopped":   func() error { return s.Stop(ctx, "stopped", syscall.SIGTERM) },
		"killed":    func() error { return s.Stop(ctx, "killed", syscall.SIGKILL) },
		"forgotten": func() error { return s.Forget(ctx, "forgotten") },
		"closed":    func() error { s.Close(); return nil },
	} {
		t.Run(name, func(t *testing.T) {
			s, deaths = supervise(t)
			start(t, s, sleeper(name))
			if err := end(); err != nil {
				t.Error(err)
			}
			select {
			case err := <-deaths:
				t.Error(err)
			default:
			}
			for _, c := range s.List() {
				if c.PID != 0 {
					t.Errorf("%s still runs", c.Name)
				}
			}
		})
	}
}

func TestStopKillsWhoDoesNotListen(t *testing.T) {
	s, _ := supervise(t)
	start(t, s, shell("deaf", "trap '' TERM; while :; do sleep 600; done"))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Stop(ctx, "deaf", syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if pid := s.List()[0].PID; pid != 0 {
		t.Errorf("it still runs as %d", pid)
	}
}

func TestResume(t *testing.T) {
	s, _ := supervise(t)
	start(t, s, sleeper("c"))
	if err := s.Resume("c"); !errors.Is(err, ErrRunning) {
		t.Errorf("a running child: got %v, want %v", err, ErrRunning)
	}
	if err := s.Resume("other"); !errors.Is(err, ErrUnknown) {
		t.Errorf("an unknown child: got %v, want %v", err, ErrUnknown)
	}
	before := s.List()[0].PID
	if err := s.Stop(t.Context(), "c", syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if err := s.Resume("c"); err != nil {
		t.Fatal(err)
	}
	if after := s.List()[0].PID; after == 0 || after == before {
		t.Errorf("it ran as %d and now as %d", before, after)
	}
}

func TestStartAfterClose(t *testing.T) {
	s, _ := supervise(t)
	s.Close()
	if err := s.Start(sleeper("c")); !errors.Is(err, ErrClosed) {
		t.Errorf("got %v, want %v", err, ErrClosed)
	}
}

func TestTail(t *testing.T) {
	long := strings.Repeat(strings.Repeat("x", 99)+"\n", 1000)
	for name, test := range map[string]struct{ log, want string }{
		"Empty":             {"", ""},
		"ShortIsWhole":      {"a\nb\n", "a\nb"},
		"LongIsItsEnd":      {long + "the end\n", strings.Repeat(strings.Repeat("x", 99)+"\n", tailLines-1) + "the end"},
		"LongLineIsItsEnd":  {strings.Repeat("y", 2*tailBytes), strings.Repeat("y", tailBytes)},
		"NoNewlineAtTheEnd": {"a\nb", "a\nb"},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "log")
			if err := os.WriteFile(file, []byte(test.log), 0o600); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, tail(file)); diff != "" {
				t.Error(diff)
			}
		})
	}
}
