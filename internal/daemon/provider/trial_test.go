package provider

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-k8s/fairlead/internal/daemon/provider/providertest"
)

func TestTrial(t *testing.T) {
	const line = `echo "$` + trialVariable + ` `
	for _, tc := range []struct {
		name   string
		script string // of the separate process
		want   answer
		err    string
	}{
		{"Made", line + `made"`, accepted, ""},
		{"MadeAfterMuchOutput", `yes | head -100000; ` + line + `made"; echo bye`, accepted, ""},
		{"Refused", line + `\"line 3: no such region\""; exit 1`, rejected, "line 3: no such region"},
		{"EndsWithoutAnAnswer", `echo starting >&2; exit 0`, rejected, "ended with exit status 0 and without an answer; its last lines: starting"},
		{"EndedByTheFactory", `echo "no credentials" >&2; exit 3`, rejected, "exit status 3; its last lines: no credentials"},
		{"AnswersForAnother", `echo "other made"`, rejected, "without an answer"},
		{"Hangs", `sleep 600`, rejected, context.DeadlineExceeded.Error()},
	} {
		t.Run(tc.name, func(t *testing.T) {
			ctx := t.Context()
			if tc.name == "Hangs" {
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeout(ctx, time.Second) // by then, the process must have started
				defer cancel()
			}
			got, err := Self{Path: "/bin/sh", Args: []string{"sh", "-c", tc.script}}.try(ctx)
			if got != tc.want || (err == nil) != (tc.err == "") || (err != nil && !strings.Contains(err.Error(), tc.err)) {
				t.Errorf("got %v and %v, want %v and %q", got, err, tc.want, tc.err)
			}
		})
	}
}

func TestNobodyCanBeAsked(t *testing.T) {
	for _, path := range []string{"", "/nowhere/daemon"} {
		if got, err := (Self{Path: path, Args: []string{"daemon"}}).try(t.Context()); got != unable || err == nil {
			t.Errorf("%q: got %v and %v", path, got, err)
		}
	}
}

// The process that has started a trial finds the answer in the trial's output.
func TestAnswerOfATrial(t *testing.T) {
	t.Setenv(trialVariable, "key")
	self := NewSelf()
	if _, ok := os.LookupEnv(trialVariable); ok || !self.Tries() || NewSelf().Tries() {
		t.Errorf("the variable is still in the environment: %t", ok)
	}
	for want, err := range map[string]error{"made": nil, `"two\nlines"`: errors.New("two\nlines")} {
		if said, ok := answerIn("noise\n"+self.Answer(err)+"\n", "key"); !ok || said != want {
			t.Errorf("%v: got %q, %t", err, said, ok)
		}
	}
}

// The factory works only once in a process, and has already worked in this one. The
// result depends on whether another process can make the provider.
func TestFactoryThatWorksOnce(t *testing.T) {
	file := filepath.Join(t.TempDir(), "cloud.conf")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name   string
		script string // "": no process can be started
		want   outcome
		err    string
	}{
		{"AnotherProcessMakesIt", `echo "$` + trialVariable + ` made"`, restart, ""},
		{"AnotherProcessCannot", `echo "$` + trialVariable + ` \"the cloud is down\""`, refused, "the cloud is down"},
		{"NobodyCanBeAsked", "", refused, "no credentials"},
	} {
		for _, leads := range []bool{false, true} {
			t.Run(tc.name, func(t *testing.T) {
				self := Self{Path: "/bin/sh", Args: []string{"sh", "-c", tc.script}}
				if tc.script == "" {
					self = Self{}
				}
				c := NewCurrent(factoryOf("failing", file), Made{Cloud: providertest.Made(t, &providertest.Cloud{})}, time.Minute, self)
				if leads {
					c.Take()
				}
				got, err := c.rotate(t.Context())
				if got != tc.want || (err == nil) != (tc.err == "") || (err != nil && !strings.Contains(err.Error(), tc.err)) {
					t.Errorf("leads %t: got %s and %v, want %s and %q", leads, got, err, tc.want, tc.err)
				}
			})
		}
	}
}
