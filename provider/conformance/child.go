package conformance

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"time"
)

// If the provider may end the process in a check, the check runs in a child
// process. The child is the same program and makes the same call. These
// environment variables tell the child which check to run.
const (
	childCheck  = "FAIRLEAD_CONFORMANCE_CHECK"  // the ID of the check
	childResult = "FAIRLEAD_CONFORMANCE_RESULT" // the file for what it finds
	childFacts  = "FAIRLEAD_CONFORMANCE_FACTS"  // what the suite has found out before
)

// childOf returns the ID of the check that this process runs for its parent, or "".
func childOf() string { return os.Getenv(childCheck) }

// inChild runs the check in a child process, and judges the output of the process.
func (s *suite) inChild(run context.Context, check Check) (finding, error) {
	file, err := os.CreateTemp("", "conformance-")
	if err != nil {
		return finding{}, err
	}
	defer func() { _, _ = file.Close(), os.Remove(file.Name()) }() // a file that stays does no harm
	ctx, cancel := context.WithTimeout(run, 2*s.options.Timeout)
	defer cancel()
	command := s.child(ctx)
	command.Env = append(command.Environ(), childCheck+"="+check.ID, childResult+"="+file.Name(), childFacts+"="+s.facts.String())
	command.WaitDelay = grace
	began := time.Now()
	defer func() {
		if time.Since(began) >= s.options.Timeout {
			s.hangs++
		}
	}()
	output, ended := command.CombinedOutput()
	var found finding
	err = json.NewDecoder(file).Decode(&found)
	switch {
	case run.Err() != nil:
		return concluded(NotRun, "the run was ended: "+context.Cause(run).Error()), nil
	case ctx.Err() != nil:
		return concluded(Failed, fmt.Sprintf("the process did not end within %v", time.Since(began).Round(time.Second))), nil
	case err != nil:
		return concluded(Failed, fmt.Sprintf("the provider has ended the process (%v):\n%s", ended, lastLines(string(output)))), nil
	}
	if found.Outcome != Passed && found.Outcome != Failed {
		return found, nil
	}
	problems := []string{dataRace(string(output))}
	if check.judge != nil {
		problems = append(problems, check.judge(s.target, string(output)))
	}
	for _, why := range problems { // An expected failure of the check must not hide these problems.
		if why != "" {
			found.Outcome, found.Why = Failed, append(found.Why, why)
		}
	}
	return found, nil
}

// dataRace returns the data race that the race detector has written to the output, or "".
// The detector does not end the process, so the check itself may pass.
func dataRace(output string) string {
	const shown = 12 // lines: both accesses, and where they are
	_, told, found := strings.Cut(output, "WARNING: DATA RACE\n")
	if !found {
		return ""
	}
	told, _, _ = strings.Cut(told, "==================")
	lines := strings.Split(strings.TrimSpace(told), "\n")
	return "the race detector has found a data race:\n" + strings.Join(lines[:min(shown, len(lines))], "\n")
}

// lastLines returns the last lines of an output.
func lastLines(output string) string {
	lines := strings.Split(strings.TrimSpace(output), "\n")
	return strings.Join(lines[max(0, len(lines)-8):], "\n")
}
