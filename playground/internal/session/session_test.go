package session

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"k8s.io/klog/v2"

	"github.com/fairlead-k8s/fairlead/playground/internal/supervisor"
)

func TestRunLeavesNoTemporaryFolder(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	var seen string
	err := Run(t.Context(), "", func(_ context.Context, s *Session) error {
		seen = s.DataDir
		_, err := os.Stat(seen)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(seen); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%s is still there (%v)", seen, err)
	}
}

func TestRunKeepsAGivenFolder(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	if err := Run(t.Context(), dir, func(context.Context, *Session) error { return nil }); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(dir); err != nil {
		t.Error(err)
	}
}

func TestRunRefusesAFolderInUse(t *testing.T) {
	dir := t.TempDir()
	err := Run(t.Context(), dir, func(ctx context.Context, _ *Session) error {
		return Run(ctx, dir, func(context.Context, *Session) error { return nil })
	})
	if err == nil || !strings.Contains(err.Error(), "another playground runs on "+dir) {
		t.Errorf("got %v", err)
	}
}

func TestRunEndsWhenAChildDies(t *testing.T) {
	err := Run(t.Context(), t.TempDir(), func(ctx context.Context, s *Session) error {
		if err := s.Children.Start(supervisor.Spec{Name: "c", Command: []string{"/bin/sh", "-c", "echo last words; exit 3"}}); err != nil {
			return err
		}
		<-ctx.Done()
		return errors.New("whatever else went wrong")
	})
	var death *supervisor.Death
	if !errors.As(err, &death) || death.Tail != "last words" {
		t.Errorf("got %v, want the death of c", err)
	}
}

func TestRunEndsWhenItsWorkFails(t *testing.T) {
	broken := errors.New("broken")
	err := Run(t.Context(), t.TempDir(), func(ctx context.Context, s *Session) error {
		s.Go(func() error { return broken })
		<-ctx.Done()
		return context.Cause(ctx)
	})
	if !errors.Is(err, broken) {
		t.Errorf("got %v, want %v", err, broken)
	}
}

func TestSweep(t *testing.T) {
	tmp := t.TempDir()
	write := func(folder, file, text string) string {
		dir := filepath.Join(tmp, folder)
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	killed := write(temporary+"killed", lockFile, "1\n")
	kept := []string{
		write(temporary+"beginning", lockFile, ""),
		write(temporary+"unlocked", "other", ""),
		write("somebody-else", lockFile, "1\n"),
	}
	running := write(temporary+"running", "other", "")
	unlock, err := lock(running)
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()

	sweep(tmp)

	if _, err := os.Stat(killed); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%s is still there", killed)
	}
	for _, dir := range append(kept, running) {
		if _, err := os.Stat(dir); err != nil {
			t.Error(err)
		}
	}
}

func TestLoggedWorkHasALogBesideTheChildrens(t *testing.T) {
	failed := errors.New("failed")
	err := Run(t.Context(), t.TempDir(), func(ctx context.Context, s *Session) error {
		err := s.Logged("work", func(ctx context.Context) error {
			klog.FromContext(ctx).Info("Working", "on", "it")
			return failed
		})(ctx)
		if text := s.Children.LogTail("work"); !strings.Contains(text, `"Working" on="it"`) {
			t.Errorf("the log is %q", text)
		}
		return err
	})
	if !errors.Is(err, failed) {
		t.Errorf("got %v, want %v", err, failed)
	}
}

// TestLocksOfOthers replaces a lock with files that another user of the machine could put there.
// The functions sweep and lock must not wait for these files, and must not remove or write
// anything.
func TestLocksOfOthers(t *testing.T) {
	for name, put := range map[string]func(lock string) error{
		"Pipe": func(lock string) error { return syscall.Mkfifo(lock, 0o600) },
		"Link": func(lock string) error {
			other := lock + ".other"
			if err := os.WriteFile(other, []byte("1"), 0o600); err != nil {
				return err
			}
			return os.Symlink(other, lock)
		},
		"Folder": func(lock string) error { return os.Mkdir(lock, 0o700) },
	} {
		t.Run(name, func(t *testing.T) {
			tmp := t.TempDir()
			dir := filepath.Join(tmp, temporary+"1")
			if err := os.Mkdir(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			if err := put(filepath.Join(dir, lockFile)); err != nil {
				t.Fatal(err)
			}
			sweep(tmp)
			if _, err := os.Stat(dir); err != nil {
				t.Errorf("the folder is gone: %v", err)
			}
			if _, err := lock(dir); err == nil {
				t.Error("the folder was locked")
			}
		})
	}
}
