package conformance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// If the provider may end the process in a check, the check runs in a child
// process. The child is the same program and calls Run in the same way. These
// environment variables tell the child which check to run.
const (
	childCheck  = "FAIRLEAD_CONFORMANCE_CHECK"  // the ID of the check
	childResult = "FAIRLEAD_CONFORMANCE_RESULT" // the file for its result
)

// childOf returns the ID of the check that this process runs for its parent, or "".
func childOf() string { return os.Getenv(childCheck) }

// runAsChild runs the check and writes its result to the parent's file.
func (s *suite) runAsChild(ctx context.Context, id string) error {
	defer s.close()
	for _, check := range Checks() {
		if check.ID != id {
			continue
		}
		result, err := s.try(ctx, check)
		if err != nil {
			return err
		}
		text, err := json.Marshal(childAnswer{result.CheckResult, result.failures})
		if err != nil {
			return err
		}
		return os.WriteFile(os.Getenv(childResult), text, 0o600) //nolint:gosec // the parent has named the file
	}
	return fmt.Errorf("there is no check %q", id)
}

// childAnswer is the answer of a child process to its parent.
type childAnswer struct {
	Result   CheckResult `json:"result"`
	Failures []string    `json:"failures,omitempty"`
}

// runInChild runs the check in a child process and judges the output of the
// process.
func (s *suite) runInChild(run context.Context, check Check) judged {
	if s.options.Child == nil {
		return without(NotRun, "needs a process of its own")
	}
	dir, err := os.MkdirTemp("", "conformance-")
	if err != nil {
		return without(NotRun, err.Error())
	}
	defer func() { _ = os.RemoveAll(dir) }() // a directory that stays does no harm
	ctx, cancel := context.WithTimeout(run, 2*s.options.Timeout)
	defer cancel()
	file := filepath.Join(dir, "result.json")
	command := s.options.Child(ctx)
	command.Env = append(command.Environ(), childCheck+"="+check.ID, childResult+"="+file)
	command.WaitDelay = grace
	began := time.Now()
	output, ended := command.CombinedOutput()
	if time.Since(began) >= s.options.Timeout {
		s.hangs++
	}
	answer, err := readAnswer(file)
	result := judged{answer.Result, answer.Failures}
	switch {
	case run.Err() != nil:
		return without(NotRun, "the run was ended: "+context.Cause(run).Error())
	case ctx.Err() != nil:
		return failed(fmt.Sprintf("the process did not end within %v", time.Since(began).Round(time.Second)))
	case errors.Is(err, os.ErrNotExist):
		return failed(fmt.Sprintf("the provider has ended the process (%v):\n%s", ended, lastLines(string(output))))
	case err != nil:
		return failed("result of the child process: " + err.Error())
	}
	if result.Outcome != Passed && result.Outcome != Failed {
		return result
	}
	for _, judge := range []func(Target, string) string{check.judge, races} { // An expected failure of the check must not hide the problems that these functions find.
		if judge == nil {
			continue
		}
		if why := judge(s.target, string(output)); why != "" {
			result.failures = append(result.failures, why)
			result.Outcome, result.Why = Failed, strings.Join(result.failures, "\n")
		}
	}
	return result
}

// races returns the data race that the race detector has written to the output, or "".
// The detector does not end the process, so the check itself may pass.
func races(_ Target, output string) string {
	const shown = 12 // lines: both accesses, and where they are
	_, told, found := strings.Cut(output, "WARNING: DATA RACE\n")
	if !found {
		return ""
	}
	told, _, _ = strings.Cut(told, "==================")
	lines := strings.Split(strings.TrimSpace(told), "\n")
	return "the race detector has found a data race:\n" + strings.Join(lines[:min(shown, len(lines))], "\n")
}

func readAnswer(file string) (answer childAnswer, err error) {
	text, err := os.ReadFile(file) //nolint:gosec // the suite has named the file
	if err != nil {
		return answer, err
	}
	return answer, json.Unmarshal(text, &answer)
}

// lastLines returns the last lines of an output.
func lastLines(output string) string {
	lines := strings.Split(strings.TrimSpace(output), "\n")
	return strings.Join(lines[max(0, len(lines)-8):], "\n")
}
