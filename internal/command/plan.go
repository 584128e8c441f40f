package command

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"
	"k8s.io/component-base/term"
	"k8s.io/klog/v2"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-k8s/fairlead/internal/daemon"
	"github.com/fairlead-k8s/fairlead/internal/dryrun"
	"github.com/fairlead-k8s/fairlead/internal/printable"
)

// planFlags are the flags that only the sub-command "plan" has.
type planFlags struct {
	dryrun.Options

	output   string
	typed    typed
	exitCode bool
}

const planHelp = `Prints what the daemon would do to which object, why, and with which calls to the
cloud. The daemon's own rules decide. Nothing is changed: no lease is taken, no event
recorded, no object written, and no call is made that changes the cloud. Writes of
the provider with the clients that the daemon gives it are refused. What it does with
clients that it makes itself, in the cloud or in the cluster, cannot be refused.

The daemon's flags are accepted, so its arguments can be passed as they are. Your own
rights count: the command needs to read what the daemon reads.

A Node is deleted only after the cloud has called it absent several times, so one look
shows how far the evidence is. --for looks longer.

Exit codes: 0, or with --detailed-exitcode 2 if anything would be done or waits; 1 if
not all objects could be looked at.`

// wouldChangeCode is the exit code for errWouldChange.
const wouldChangeCode = 2

// errWouldChange is the error of the sub-command "plan" with --detailed-exitcode if
// the daemon would do something, or if something waits.
var errWouldChange = errors.New("the daemon would do something")

var planOutputs = []string{"text", "json", "yaml"}

// planCommand returns the sub-command "plan". It shares the flags of the daemon.
func planCommand(p *daemon.Program, root *cobra.Command) *cobra.Command {
	f := planFlags{output: "text"}
	name := p.Options.Name
	cmd := &cobra.Command{
		Use:   "plan",
		Short: "Print what the daemon would do, and change nothing",
		Long:  planHelp,
		Example: "  " + name + " plan --kubeconfig=admin.conf --cloud-provider=NAME --cloud-config=cloud.conf\n" +
			"  " + name + " plan --kubeconfig=admin.conf --cloud-provider=NAME --node=worker-1 --for=40s\n" +
			"  " + name + " plan --kubeconfig=admin.conf --cloud-provider=NAME -o json --detailed-exitcode",
		Args:              noArguments,
		ValidArgsFunction: cobra.NoFileCompletions,
		SilenceUsage:      true,
		SilenceErrors:     true,
	}
	own := cmd.Flags()
	flag := func(name string) string { return flagBeside(root, "plan", name) }
	f.typed = flag
	shorthand := "o"
	if root.Flags().ShorthandLookup(shorthand) != nil {
		shorthand = ""
	}
	own.StringVar(&f.Node, flag("node"), "", "Look at this Node only. Then other absent Nodes are not counted, although they may hold its deletion.")
	own.StringVar(&f.Service, flag("service"), "", "Look at this Service only: NAMESPACE/NAME.")
	own.StringVarP(&f.output, flag("output"), shorthand, f.output, "Format: text, json or yaml.")
	own.DurationVar(&f.For, flag("for"), 0, "How long to gather evidence about Nodes and routes that would be removed. 0 looks once.")
	own.BoolVar(&f.exitCode, flag("detailed-exitcode"), false, "End with code 2 if anything would be done, or waits.")
	addDaemonFlags(cmd, root, map[string][]string{flag("output"): planOutputs})
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		p.Settings.ApplyDefaults()
		err := p.Settings.Global.ApplyLogging()
		if err == nil {
			err = printPlan(p, cmd, f)
		}
		if err != nil && !errors.Is(err, errWouldChange) {
			err = show(err)
		}
		return err
	}
	return cmd
}

// flagBeside returns the name of a flag of a sub-command. If the daemon has a flag
// of this name, the name gets the sub-command's name as a prefix. The flags of the
// daemon keep their names, so that its arguments can be passed to the sub-command
// unchanged.
func flagBeside(root *cobra.Command, command, name string) string {
	if root.Flags().Lookup(name) != nil {
		return command + "-" + name
	}
	return name
}

// typed is a function that returns the name of a sub-command's flag; see flagBeside. If
// the function is nil, the flag keeps its name.
type typed func(name string) string

// flag returns the flag as users type it. It is for error messages.
func (t typed) flag(name string) string {
	if t != nil {
		name = t(name)
	}
	return "--" + name
}

func printPlan(p *daemon.Program, cmd *cobra.Command, f planFlags) error {
	if !slices.Contains(planOutputs, f.output) {
		return fmt.Errorf("%s: %q is not text, json or yaml", f.typed.flag("output"), f.output)
	}
	if err := p.ValidateUnserved(); err != nil {
		return err
	}
	ctx := withPrintableLog(cmd.Context())
	// What the daemon logs at its start does not belong to the output, so only -v=1
	// shows it.
	ctx = klog.NewContext(ctx, klog.FromContext(ctx).V(1))
	f.Progress = progressOn(cmd.ErrOrStderr())
	r, err := dryrun.Plan(ctx, p, f.Options)
	if r == nil {
		return err
	}
	if printing := write(cmd.OutOrStdout(), r, f); printing != nil {
		return errors.Join(err, fmt.Errorf("print the plan: %w", printing))
	}
	if err == nil && f.exitCode && r.Changes() {
		return errWouldChange
	}
	return err
}

// write writes the report in the format that --output names.
func write(out io.Writer, r *dryrun.Report, f planFlags) error {
	if f.output == "text" {
		return r.Print(out, f.Node != "" || f.Service != "")
	}
	text, err := json.MarshalIndent(r, "", "  ")
	if err == nil && f.output == "yaml" {
		text, err = yaml.JSONToYAML(text)
	}
	if err == nil {
		_, err = fmt.Fprintf(printable.JSON(out), "%s\n", text)
	}
	return err
}

// progressOn returns a function that shows progress on a terminal, and does nothing
// elsewhere.
func progressOn(w io.Writer) func(done, all int) {
	if _, _, err := term.TerminalSize(w); err != nil {
		return func(int, int) {}
	}
	return func(done, all int) {
		end := "\r"
		if done == all {
			end = "\r\033[K" // This erases the line.
		}
		_, _ = fmt.Fprintf(w, "\r%d of %d looked at%s", done, all, end)
	}
}
