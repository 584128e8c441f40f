package ccm_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fairlead-k8s/fairlead/ccm"
)

// The configuration file changes while the daemon leads, and the provider has read the
// file at its start only. The leader ignores wrong content. After a valid change, the
// process ends so that it is started again. Both providers behave in the same way: the
// factory of "test" can be called again, and the factory of "once" cannot.
func TestChangedConfiguration(t *testing.T) {
	for _, provider := range []string{"test", "once"} {
		t.Run(provider, func(t *testing.T) { changeConfiguration(t, provider) })
	}
}

func changeConfiguration(t *testing.T, provider string) {
	t.Helper()
	config := filepath.Join(t.TempDir(), "cloud.conf")
	write := func(text string) {
		t.Helper()
		// The file is replaced, because the daemon could read one that is half written.
		if err := os.WriteFile(config+".new", []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(config+".new", config); err != nil {
			t.Fatal(err)
		}
	}
	write("old")
	var refusal string
	cmd, lines := start(t, "return", "--cloud-provider="+provider, "--cloud-config="+config, "--cloud-config-watch-period=20ms")
	for _, step := range []struct{ line, then string }{
		{"initialising", "wrong"},
		{"The provider refused its new configuration; the former one stays in use", "new"},
	} {
		if !skipTo(lines, step.line) {
			t.Fatalf("no line %q", step.line)
		}
		refusal = lines.Text()
		write(step.then)
	}
	if want := `no configuration: \"wrong\"`; !strings.Contains(refusal, want) {
		t.Errorf("the log does not say why: %s, want %s", refusal, want)
	}
	var rest strings.Builder
	for lines.Scan() {
		rest.WriteString(lines.Text() + "\n")
	}
	_ = cmd.Wait() // its error is the exit code
	if got := cmd.ProcessState.ExitCode(); got != ccm.ExitRestart {
		t.Errorf("got exit code %d, want %d", got, ccm.ExitRestart)
	}
	for _, want := range []string{"All work is over", "Ended as planned, to be started again", "the provider's configuration has changed, and this provider reads it at its start only"} {
		if !strings.Contains(rest.String(), want) {
			t.Errorf("no %q in\n%s", want, rest.String())
		}
	}
	if strings.Contains(rest.String(), "ommand failed") {
		t.Errorf("a planned restart is reported as a failure:\n%s", rest.String())
	}
}
