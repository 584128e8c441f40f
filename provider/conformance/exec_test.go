package conformance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// script writes a shell script that is a world.
func script(t *testing.T, text string) Executable {
	t.Helper()
	path := filepath.Join(t.TempDir(), "world")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text), 0o700); err != nil {
		t.Fatal(err)
	}
	return Executable{Path: path}
}

func TestExecutableOffersTheVerbsItKnows(t *testing.T) {
	world, err := script(t, `echo '{"verbs": ["create-machine", "terminate", "stop", "calls", "hold-load-balancers"]}'`).World(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []Need{NeedMachines, NeedPowerSwitch, NeedRenamer, NeedRetagger, NeedMeter, NeedFaulter, NeedInventory, NeedDrifter, NeedForeigner, NeedHolder} {
		if want := n == NeedMachines || n == NeedMeter; n.metBy(world) != want {
			t.Errorf("%s: met is %v, want %v", n, !want, want)
		}
	}
	// The program is not started for a verb that it does not know.
	if err := world.(Renamer).RenameMachine(t.Context(), Machine{ID: "i"}, "x"); !errors.Is(err, ErrCannot) {
		t.Errorf("rename: got %v, want ErrCannot", err)
	}
}

func TestExecutablesThatAnswerWrongly(t *testing.T) {
	for name, row := range map[string]struct{ text, want string }{
		"Nothing":      {"", "it printed nothing"},
		"NoJSON":       {"echo hello", "it printed no JSON object as this verb needs it"},
		"TwoObjects":   {"echo '{} {}'", "more than one JSON object"},
		"NoVerbs":      {"echo '{}'", "names no verb"},
		"UnknownVerb":  {`echo '{"verbs": ["terminate-all"]}'`, `there is no verb "terminate-all"; the verbs are verbs, create-machine`},
		"Fails":        {"echo quota used up >&2; exit 1", "exit status 1; its standard error: quota used up"},
		"TooMuch":      {"head -c 2000000 /dev/zero", "it printed more than 1048576 bytes"},
		"NoExecutable": {"exec /nonexistent/interpreter", "exit status"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := script(t, row.text).World(t.Context())
			if err == nil || !strings.Contains(err.Error(), row.want) || !strings.Contains(err.Error(), "world verbs") {
				t.Errorf("got %v, want %q and the command", err, row.want)
			}
		})
	}
}

// A program that hangs is killed. World returns even if a child of the program still has
// the output open.
func TestExecutableThatHangs(t *testing.T) {
	e := script(t, "sleep 600 & echo waits >&2; wait")
	e.Timeout = 200 * time.Millisecond
	if _, err := e.World(t.Context()); err == nil || !strings.Contains(err.Error(), "it has not answered within 200ms") {
		t.Errorf("got %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := e.World(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: got %v", err)
	}
}

func TestExecutableThatCannot(t *testing.T) {
	world, err := script(t, `test "$1" = verbs && echo '{"verbs": ["fault", "clear"]}' && exit; echo no door >&2; exit 3`).World(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	_, err = world.(Faulter).SetFault(t.Context(), Fault{Kind: FaultHang})
	if !errors.Is(err, ErrCannot) || !strings.Contains(err.Error(), "no door") {
		t.Errorf("got %v, want ErrCannot and the reason", err)
	}
}

// recorder is a world that records its calls.
type recorder struct{ calls []string }

func (r *recorder) add(format string, args ...any) error {
	r.calls = append(r.calls, fmt.Sprintf(format, args...))
	return nil
}

func (r *recorder) CreateMachine(_ context.Context, name string) (Machine, error) {
	return Machine{Name: name, ID: "i-1"}, r.add("create %s", name)
}

func (r *recorder) TerminateMachine(_ context.Context, m Machine) error {
	return r.add("terminate %s", m.ID)
}

func (r *recorder) FindMachine(_ context.Context, name string) ([]Machine, error) {
	return nil, r.add("find %s", name)
}

func (r *recorder) Identity(context.Context) (string, error) {
	return "account 4711", r.add("identity")
}

func (r *recorder) FindForeign(_ context.Context, kind ResourceKind, what string) ([]Resource, error) {
	return []Resource{{ID: "f-1"}}, r.add("find-foreign %s %s", kind, what)
}

func (r *recorder) FindAddress(_ context.Context, name string) ([]Address, error) {
	return []Address{{ID: "a-1", IP: "192.0.2.1"}}, r.add("find-address %s", name)
}

func (r *recorder) StopMachine(_ context.Context, m Machine) error { return r.add("stop %s", m.ID) }

func (r *recorder) StartMachine(_ context.Context, m Machine) error { return r.add("start %s", m.ID) }

func (r *recorder) RenameMachine(_ context.Context, m Machine, name string) error {
	return r.add("rename %s %s", m.ID, name)
}

func (r *recorder) UntagMachine(_ context.Context, m Machine) error { return r.add("untag %s", m.ID) }

func (r *recorder) Calls(context.Context) (Calls, error) {
	return Calls{Reads: 1, Writes: 2, Refused: 3}, r.add("calls")
}

func (r *recorder) SetFault(_ context.Context, f Fault) (func(), error) {
	return func() {}, r.add("fault %v", f)
}

func (r *recorder) Leftovers(_ context.Context, cluster string) ([]Resource, error) {
	return []Resource{{Kind: KindRoute, ID: "r-1"}}, r.add("leftovers %s", cluster)
}

func (r *recorder) Drift(_ context.Context, cluster string, what Drift) error {
	return r.add("drift %s %s", cluster, what)
}

func (r *recorder) CreateForeign(_ context.Context, kind ResourceKind, to string) (Resource, error) {
	return Resource{Kind: kind, ID: "f-1"}, r.add("create-foreign %s %s", kind, to)
}

func (r *recorder) ForeignExists(_ context.Context, f Resource) (bool, error) {
	return true, r.add("foreign-exists %s %s", f.Kind, f.ID)
}

func (r *recorder) HoldLoadBalancers(context.Context) (func(), error) {
	return func() {}, r.add("hold")
}

func (r *recorder) ReleaseLoadBalancers(context.Context) error { return r.add("release") }

func (r *recorder) DeleteForeign(_ context.Context, f Resource) error {
	return r.add("delete-foreign %s %s", f.Kind, f.ID)
}

// worldRecords is an environment variable. If the variable is set, this test binary
// runs as a world, and records its calls in the file that the variable names.
const worldRecords = "CONFORMANCE_TEST_WORLD"

func TestMain(m *testing.M) {
	path := os.Getenv(worldRecords)
	if path == "" {
		os.Exit(m.Run())
	}
	r := &recorder{}
	answer, err := Serve(context.Background(), r, os.Args[1:], func(context.Context) error { return r.add("clear") })
	file, opening := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err = errors.Join(err, opening); err == nil {
		for _, call := range r.calls {
			_, _ = fmt.Fprintln(file, call)
		}
		err = errors.Join(json.NewEncoder(os.Stdout).Encode(answer), file.Close())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// Executable and Serve agree on the verbs: each call to the Executable's world reaches
// the world behind Serve.
func TestServeAndExecutableAgree(t *testing.T) {
	path := filepath.Join(t.TempDir(), "calls")
	t.Setenv(worldRecords, path)
	made, err := Executable{Path: os.Args[0]}.World(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	type whole interface { //nolint:interfacebloat // all verbs
		Machines
		PowerSwitch
		Renamer
		Retagger
		Meter
		Faulter
		Inventory
		Drifter
		Foreigner
		Identifier
		Finder
		ForeignFinder
		AddressFinder
		Holder
	}
	world, ctx := made.(whole), t.Context()
	m, err := world.CreateMachine(ctx, "a")
	check := func(what string, err error, want, got any) {
		t.Helper()
		if d := cmp.Diff(want, got); d != "" || err != nil {
			t.Errorf("%s: error %v (-want +got):\n%s", what, err, d)
		}
	}
	check("create", err, Machine{Name: "a", ID: "i-1"}, m)
	account, err := world.Identity(ctx)
	check("identity", err, "account 4711", account)
	found, err := world.FindMachine(ctx, "a")
	check("find", err, []Machine{}, found)
	calls, err := world.Calls(ctx)
	check("calls", err, Calls{Reads: 1, Writes: 2, Refused: 3}, calls)
	left, err := world.Leftovers(ctx, "c")
	check("leftovers", err, []Resource{{Kind: KindRoute, ID: "r-1"}}, left)
	foreign, err := world.CreateForeign(ctx, KindLoadBalancer, "")
	check("create foreign", err, Resource{Kind: KindLoadBalancer, ID: "f-1"}, foreign)
	exists, err := world.ForeignExists(ctx, foreign)
	check("foreign exists", err, true, exists)
	resources, err := world.FindForeign(ctx, KindRoute, "10.0.0.0/24")
	check("find foreign", err, []Resource{{Kind: KindRoute, ID: "f-1"}}, resources)
	addresses, err := world.FindAddress(ctx, "ip")
	check("find address", err, []Address{{ID: "a-1", IP: "192.0.2.1"}}, addresses)
	restore, err := world.SetFault(ctx, Fault{Kind: FaultThrottled, Skip: 1, Count: 2, RetryAfter: 3 * time.Second})
	check("fault", err, nil, nil)
	restore()
	release, err := world.HoldLoadBalancers(ctx)
	check("hold", err, nil, nil)
	release()
	for what, err := range map[string]error{
		"terminate": world.TerminateMachine(ctx, m), "stop": world.StopMachine(ctx, m), "start": world.StartMachine(ctx, m),
	} {
		check(what, err, nil, nil)
	}
	check("rename", world.RenameMachine(ctx, m, "b"), nil, nil)
	check("untag", world.UntagMachine(ctx, m), nil, nil)
	check("drift", world.Drift(ctx, "c", DriftBackend), nil, nil)
	check("delete foreign", world.DeleteForeign(ctx, foreign), nil, nil)
	text, err := os.ReadFile(path)
	want := strings.Join([]string{
		"create a", "identity", "find a", "calls", "leftovers c", "create-foreign loadBalancer ", "foreign-exists loadBalancer f-1",
		"find-foreign route 10.0.0.0/24", "find-address ip", "fault {throttled 1 2 3s}", "clear", "hold", "release",
	}, "\n")
	if !strings.HasPrefix(string(text), want) || err != nil {
		t.Errorf("error %v; got calls\n%s\nwant first\n%s", err, text, want)
	}
	for _, call := range []string{"terminate i-1", "stop i-1", "start i-1", "rename i-1 b", "untag i-1", "drift c backend", "delete-foreign loadBalancer f-1"} {
		if !strings.Contains(string(text), call+"\n") {
			t.Errorf("no call %q in\n%s", call, text)
		}
	}
}

// If the world does not implement HoldReleaser, Serve does not know the verbs
// for holds. The process that begins a hold exits at once, and nothing else
// could end the hold.
func TestServeDoesNotHoldWhatItCannotRelease(t *testing.T) {
	world := struct{ Holder }{&recorder{}}
	answer, err := Serve(t.Context(), world, nil, nil)
	if text := fmt.Sprint(answer); strings.Contains(text, verbHold) || err != nil {
		t.Errorf("verbs: %s, error %v", text, err)
	}
	if _, err := Serve(t.Context(), world, []string{verbHold}, nil); !errors.Is(err, ErrCannot) {
		t.Errorf("got %v, want ErrCannot", err)
	}
}
