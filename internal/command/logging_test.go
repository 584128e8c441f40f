package command

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"
	"unicode"

	cloudprovider "k8s.io/cloud-provider"
	logsapi "k8s.io/component-base/logs/api/v1"
	logsjson "k8s.io/component-base/logs/json"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/textlogger"

	"github.com/fairlead-k8s/fairlead/internal/daemon"
)

// hostile is a text that could forge a log entry, control a terminal, reverse the
// direction of text, and fill a disk.
var hostile = "a\nE1122 10:00:00.000000 1 forged.go:1] forged\r\x1b[2J\u202e\u009b" + strings.Repeat("b", 4<<20)

type hostileStringer struct{}

func (hostileStringer) String() string { return hostile }

// TestLogOfHostileText puts the hostile text into every part of a log entry that
// can hold text.
func TestLogOfHostileText(t *testing.T) {
	for name, log := range map[string]func(klog.Logger){
		"Message": func(l klog.Logger) { l.Info(hostile) },
		"String":  func(l klog.Logger) { l.Info("Happened", "node", hostile) },
		"Values":  func(l klog.Logger) { l.WithValues("node", hostile).Info("Happened") },
		"Strings": func(l klog.Logger) { l.Info("Happened", "nodes", []string{hostile}) },
		"Text":    func(l klog.Logger) { l.Info("Happened", "what", hostileStringer{}) },
		"Error":   func(l klog.Logger) { l.Error(errors.New(hostile), "Failed") },
		"Wrapped": func(l klog.Logger) { l.Info("Failed", "err", fmt.Errorf("about %w", errors.New(hostile))) },
	} {
		for format, logger := range map[string]func(*bytes.Buffer) klog.Logger{
			"text": func(b *bytes.Buffer) klog.Logger {
				return textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(b)))
			},
			"json": func(b *bytes.Buffer) klog.Logger {
				l, _ := logsjson.NewJSONLogger(logsapi.VerbosityLevel(0), logsjson.AddNopSync(b), nil, nil)
				return l
			},
		} {
			t.Run(name+"/"+format, func(t *testing.T) {
				var out bytes.Buffer
				log(klog.FromContext(withPrintableLog(klog.NewContext(t.Context(), logger(&out)))))
				line, rest, _ := strings.Cut(out.String(), "\n")
				if len(line) > valueLimit+1000 || rest != "" || strings.ContainsFunc(line, unicode.IsControl) || strings.ContainsRune(line, '\u202e') {
					t.Errorf("%d bytes: %.300q", out.Len(), out.String())
				}
				if !strings.Contains(line, "logging_test.go:") {
					t.Errorf("the entry names another line of code: %.100s", line)
				}
			})
		}
	}
}

func TestLogOfPlainText(t *testing.T) {
	var out bytes.Buffer
	logger := textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(&out)))
	var nothing any = (*netip.Addr)(nil)
	klog.FromContext(withPrintableLog(klog.NewContext(t.Context(), logger))).WithName("n").V(0).
		Info("Happened", "node", "größe", "took", time.Second, "service", klog.KRef("ns", "s"), "stack", "a\n\tb", "nothing", nothing, "n", 1, "names", []string{"x"})
	for _, want := range []string{`"Happened"`, `logger="n"`, `node="größe"`, `took="1s"`, `service="ns/s"`, "stack=<\n\ta\n\t\tb\n >", `nothing="<panic: `, "n=1", `names=["x"]`} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%s is missing in\n%s", want, out.String())
		}
	}
}

// TestProcessLogsPrintableText runs the command with a provider whose error is
// hostile.
func TestProcessLogsPrintableText(t *testing.T) {
	program := plain
	program.Provider = func(context.Context, daemon.ProviderDeps) (cloudprovider.Interface, error) {
		return nil, errors.New(hostile)
	}
	cmd := New(program)
	var log, stderr bytes.Buffer
	cmd.SetErr(&stderr)
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	cmd.SetArgs([]string{"--cloud-provider=a\nE1122 forged", "--master=http://127.0.0.1:1"})
	logger := textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(&log)))
	err := cmd.ExecuteContext(klog.NewContext(t.Context(), logger))
	if err != nil {
		PrintError(cmd, err)
	}
	if err == nil || strings.Count(stderr.String(), "\n") != 1 || stderr.Len() > valueLimit+1 || len(err.Error()) > valueLimit {
		t.Errorf("stderr has %d bytes: %.300q", stderr.Len(), stderr.String())
	}
	if !strings.Contains(log.String(), `provider="a E1122 forged"`) {
		t.Errorf("log: %.300s", log.String())
	}
}
