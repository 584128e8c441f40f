package conformance

import (
	"context"
	"os/exec"
	"testing"
)

// A check fails if the race detector has found a data race in its child process, even if
// the process reports that the check has passed.
func TestRaceInAChildFailsItsCheck(t *testing.T) {
	const id = "process/stop"
	report, err := Run(t.Context(), stubbed(), Options{
		Only: []string{id},
		Child: func(ctx context.Context) *exec.Cmd {
			return exec.CommandContext(ctx, "sh", "-c", `printf '==================\nWARNING: DATA RACE\nWrite at 0x1 by goroutine 7:\n==================\n' >&2
echo '{"result": {"result": "passed"}}' >"$`+childResult+`"; exit 66`)
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := "the race detector has found a data race:\nWrite at 0x1 by goroutine 7:"
	if got := report.Checks[0]; got.Outcome != Failed || got.Why != want {
		t.Errorf("got %s: %s; want %s: %s", got.Outcome, got.Why, Failed, want)
	}
}
