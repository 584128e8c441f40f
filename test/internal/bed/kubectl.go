package bed

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// installKubectl makes a folder for $PATH. It puts a real kubectl there, and
// installs the plugin as the guide does.
func (b *Bed) installKubectl() error {
	folder := b.inPath()
	if err := os.Mkdir(folder, 0o700); err != nil {
		return err
	}
	for name, program := range map[string]string{
		"kubectl":                   b.Programs.Path("kubectl"),
		"kubectl-fairlead":          b.Programs.Path("fairlead"),
		"kubectl_complete-fairlead": filepath.Join(b.Repository, "deploy/krew/kubectl_complete-fairlead"),
	} {
		program, err := filepath.Abs(program)
		if err == nil {
			_, err = os.Stat(program) // make bin/kubectl builds kubectl
		}
		if err == nil {
			err = os.Symlink(program, filepath.Join(folder, name))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (b *Bed) inPath() string { return filepath.Join(b.Dir, "path") }

// Shell runs a shell command with a real kubectl, as the admin, and returns the
// command's stdout. The error has the command's stderr.
func (b *Bed) Shell(ctx context.Context, line string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "sh", append([]string{"-c", line, "sh"}, args...)...)
	cmd.Dir = b.Dir
	cmd.Env = append(os.Environ(),
		"PATH="+b.inPath()+":"+os.Getenv("PATH"), "KUBECONFIG="+b.Cluster.Kubeconfig,
		"HOME="+b.Dir,      // kubectl keeps a cache there
		"KUBE_EDITOR=true", // kubectl edit ends at once and changes nothing
	)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		err = errors.Join(fmt.Errorf("%s: %w", strings.Join(append([]string{line}, args...), " "), err), errors.New(stderr.String()))
	}
	return string(out), err
}

// Fairlead runs `kubectl fairlead` with the rights of the admin, and returns its
// stdout.
func (b *Bed) Fairlead(t *testing.T, args ...string) string {
	t.Helper()
	out, err := b.Shell(t.Context(), `kubectl fairlead "$@"`, args...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}
