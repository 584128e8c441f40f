package conformance

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"
	"time"
)

const (
	// verbTimeout is the default of Executable.Timeout.
	verbTimeout = 5 * time.Minute
	// exitCannot is the exit code of a world that cannot carry out a verb.
	exitCannot = 3
	// maxAnswer is the largest number of bytes that a world may print to standard output.
	maxAnswer = 1 << 20
	// maxComplaint is the largest number of bytes of a world's standard error that are shown.
	maxComplaint = 4 << 10
	// leftPipes is the time for which a world's children may keep its output open
	// after the world itself has ended.
	leftPipes = 2 * time.Second
)

// Executable is a world that is a separate program. It is useful for live
// accounts, and the program can be written in any language. The program is started
// once for each verb, as
//
//	PATH VERB [ARGUMENT…]
//
// The program prints one JSON object to standard output and exits with code 0.
// Code 3 means that it cannot carry out the verb. Any other code is an error,
// whose text includes the standard error of the program. The verbs are
//
//	verbs                   {"verbs": ["create-machine", …]}: those that it knows
//	identity                {"identity": "account 4711"}: see Identifier
//	create-machine NAME     a Machine, at least {"id": …}; it runs
//	terminate ID            {}: also if there is no such machine
//	stop ID                 {}
//	start ID                {}
//	rename ID NAME          {}
//	untag ID                {}
//	calls                   Calls, at least {"reads": 10, "writes": 2}
//	fault KIND SKIP COUNT RETRY-AFTER-SECONDS  {}: see Fault
//	clear                   {}: takes all faults away
//	find-machine NAME       {"machines": [a Machine, …]}: all with exactly this name; to clean up
//	find-foreign KIND WHAT  {"resources": [a Resource, …]}: see ForeignFinder
//	find-address NAME       {"addresses": [an Address, …]}: all with exactly this name; to clean up
//	list-leftovers CLUSTER  {"resources": [a Resource, …]}
//	drift CLUSTER WHAT      {}
//	create-foreign KIND WHAT  a Resource: see Foreigner
//	foreign-exists KIND ID  {"exists": true}
//	delete-foreign KIND ID  {}
//	list-load-balancers CLUSTER  {"loadBalancers": [a LoadBalancer, …]}
//	reserve-address NAME    an Address
//	release-address ID      {}
//	hold-load-balancers     {}: see Holder
//	release-load-balancers  {}: ends all holds; also if there is none
//
// Machine, Calls, Resource, LoadBalancer and Address are the types of this package
// in JSON. If the program does not know a verb, the checks that need the verb are
// not run.
type Executable struct {
	// Path is the program.
	Path string
	// Timeout bounds each verb. 0 means 5 minutes.
	Timeout time.Duration
}

// World asks the program which verbs it knows. It returns a world that offers only
// the interfaces for which the program knows all verbs.
func (e Executable) World(ctx context.Context) (any, error) {
	var known struct {
		Verbs []string `json:"verbs"`
	}
	if err := e.ask(ctx, &known, "verbs"); err != nil {
		return nil, err
	}
	if len(known.Verbs) == 0 {
		return nil, fmt.Errorf("world %s verbs: its answer names no verb; want {\"verbs\": [\"create-machine\", …]}", e.Path)
	}
	for _, verb := range known.Verbs {
		if !slices.Contains(otherVerbs, verb) && !slices.ContainsFunc(executableVerbs, func(v needVerbs) bool { return slices.Contains(v.verbs, verb) }) {
			return nil, fmt.Errorf("world %s verbs: there is no verb %q; the verbs are %s", e.Path, verb, allVerbs())
		}
	}
	return &program{Executable: e, verbs: known.Verbs}, nil
}

// The verbs that no check needs.
const (
	verbIdentity    = "identity"
	verbFind        = "find-machine"
	verbFindForeign = "find-foreign"
	verbFindAddress = "find-address"
)

// The verbs of a Holder.
const (
	verbHold    = "hold-load-balancers"
	verbRelease = "release-load-balancers"
)

var otherVerbs = []string{verbIdentity, verbFind, verbFindForeign, verbFindAddress}

// needVerbs are the verbs that a world must know to meet a need.
type needVerbs struct {
	need  Need
	verbs []string
}

var executableVerbs = []needVerbs{
	{NeedMachines, []string{"create-machine", "terminate"}},
	{NeedPowerSwitch, []string{"stop", "start"}},
	{NeedRenamer, []string{"rename"}},
	{NeedRetagger, []string{"untag"}},
	{NeedMeter, []string{"calls"}},
	{NeedFaulter, []string{"fault", "clear"}},
	{NeedInventory, []string{"list-leftovers"}},
	{NeedDrifter, []string{"drift"}},
	{NeedForeigner, []string{"create-foreign", "foreign-exists", "delete-foreign"}},
	{NeedViewer, []string{"list-load-balancers"}},
	{NeedReserver, []string{"reserve-address", "release-address"}},
	{NeedHolder, []string{verbHold, verbRelease}},
}

// allVerbs lists all verbs.
func allVerbs() string {
	all := []string{"verbs"}
	for _, v := range executableVerbs {
		all = append(all, v.verbs...)
	}
	return strings.Join(append(all, otherVerbs...), ", ")
}

// ask starts the program with the arguments and decodes its answer.
func (e Executable) ask(ctx context.Context, answer any, arguments ...string) error {
	timeout := e.Timeout
	if timeout == 0 {
		timeout = verbTimeout
	}
	limited, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	cmd := exec.CommandContext(limited, e.Path, arguments...) //nolint:gosec // the caller names its own program
	out, complaint := &limit{max: maxAnswer}, &tail{max: maxComplaint}
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = out, complaint, leftPipes
	err := cmd.Run()
	if code, ok := errors.AsType[*exec.ExitError](err); ok && code.ExitCode() == exitCannot {
		err = ErrCannot
	}
	switch {
	case ctx.Err() != nil:
		err = ctx.Err()
	case limited.Err() != nil:
		err = fmt.Errorf("it has not answered within %v", timeout)
	case err == nil && out.exceeded:
		err = fmt.Errorf("it printed more than %d bytes", maxAnswer)
	case err == nil:
		err = decodeOne(out.text, answer)
	}
	if err == nil {
		return nil
	}
	return fmt.Errorf("world %s %s: %w%s", e.Path, strings.Join(arguments, " "), err, complaint.shown())
}

// wrong returns the error for an incomplete answer.
func (e Executable) wrong(verb, what string) error {
	return fmt.Errorf("world %s %s: its answer %s", e.Path, verb, what)
}

// decodeOne decodes exactly one JSON object.
func decodeOne(text []byte, into any) error {
	decoder := json.NewDecoder(bytes.NewReader(text))
	if len(bytes.TrimSpace(text)) == 0 {
		return errors.New("it printed nothing; want one JSON object, at least {}")
	}
	if err := decoder.Decode(into); err != nil {
		return fmt.Errorf("it printed no JSON object as this verb needs it: %w", err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return errors.New("it printed more than one JSON object; messages for people belong on standard error")
	}
	return nil
}

// limit is a writer that keeps the first max bytes.
type limit struct {
	text     []byte
	max      int
	exceeded bool
}

func (l *limit) Write(p []byte) (int, error) {
	if len(l.text)+len(p) > l.max {
		l.exceeded = true
		return len(p), nil
	}
	l.text = append(l.text, p...)
	return len(p), nil
}

// tail is a writer that keeps the last max bytes.
type tail struct {
	text []byte
	max  int
}

func (t *tail) Write(p []byte) (int, error) {
	t.text = append(t.text, p...)
	if over := len(t.text) - t.max; over > 0 {
		t.text = slices.Delete(t.text, 0, over)
	}
	return len(p), nil
}

// shown returns the standard error in the form in which an error quotes it, or "" if it
// is empty.
func (t *tail) shown() string {
	text := strings.TrimSpace(strings.ToValidUTF8(string(t.text), "\uFFFD"))
	if text == "" {
		return ""
	}
	return "; its standard error: " + text
}
