package app

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"

	"github.com/fairlead-k8s/fairlead/provider/conformance"
)

// conformanceFlags are the sub-command's own flags, which the daemon does not have.
type conformanceFlags struct {
	world                 string
	machines              []string
	profiles              []string
	run, skip, expect     []string
	allowWrites, strict   bool
	ledger, report, junit string
	account               string
	output                string
	timeout, checkTimeout time.Duration
	limits                conformanceLimits
	typed                 typed
}

const conformanceHelp = `Tests the provider against the contract that daemons rely on, with the cloud of
--cloud-config, and prints what holds and what does not. No cluster is needed. With
--kubeconfig the provider gets clients that only read.

Without --allow-writes the suite asks for no change in the cloud. Then only checks are
run that ask about machines that exist: name them with --machine. What the provider
does by itself, such as in Initialize or when an informer tells it of an object, it does
here, too: do not pass --kubeconfig then.

With --allow-writes the suite creates load balancers and routes by the provider, and
what it needs besides by --world: machines, reserved addresses, and load balancers and
routes that are not the provider's. It removes them again. Before each of these is
created it is written into --ledger, and after an interrupted run "conformance cleanup"
removes what is left. What is created costs money. Use an account in which nothing else
is.

--world is a program that reaches the cloud without the provider: it creates machines,
sets faults, counts calls. It is started as "PROGRAM VERB ARGUMENT…" and prints a JSON
object. Checks that need more than it can do are not run, and the report names them.

--page-size, --max-targets, --max-routes and --eventually-within say what the suite
cannot ask the cloud. A limit that neither a flag nor the program names is not tested.

Exit codes: 0 if no core check failed; 1 if one failed; 2 if a flag is wrong or the
provider or the world cannot be used; with --strict 3 if checks were skipped or not run.`

const accountUsage = "Name of the account that the provider uses, if --world does not name it. The ledger of another account is refused."

var conformanceOutputs = []string{"text", "json", "yaml"}

// conformanceCommand returns the sub-command "conformance". The sub-command also has
// the flags of the daemon.
func (p *program) conformanceCommand(daemon *cobra.Command) *cobra.Command {
	f := conformanceFlags{output: "text", timeout: 30 * time.Minute, checkTimeout: 2 * time.Minute}
	name := p.options.Name
	cmd := &cobra.Command{
		Use:   "conformance",
		Short: "Test the provider against the contract that daemons rely on",
		Long:  conformanceHelp,
		Example: "  " + name + " conformance --cloud-provider=NAME --cloud-config=cloud.conf --machine=worker-1\n" +
			"  " + name + " conformance --cloud-provider=NAME --cloud-config=cloud.conf --world=./world --allow-writes --ledger=made.jsonl --report=report.yaml\n" +
			"  " + name + " conformance cleanup --cloud-provider=NAME --cloud-config=cloud.conf --world=./world --ledger=made.jsonl\n" +
			"  " + name + " conformance list\n" +
			"  " + name + " conformance compare old.yaml new.yaml",
		Args:              noArguments,
		ValidArgsFunction: cobra.NoFileCompletions,
		SilenceUsage:      true,
		SilenceErrors:     true,
	}
	own := cmd.Flags()
	flag := func(name string) string { return flagBeside(daemon, "conformance", name) }
	f.typed = flag
	shorthand := "o"
	if daemon.Flags().ShorthandLookup(shorthand) != nil {
		shorthand = ""
	}
	own.StringVar(&f.world, flag("world"), "", "Program that creates machines in the cloud and sets faults (a world).")
	own.StringSliceVar(&f.machines, flag("machine"), nil, "Name of the Node of an existing machine. The suite does not change the machine, and makes no route to it. May be repeated.")
	own.StringSliceVar(&f.profiles, flag("profile"), nil, "Run the checks of these profiles only: "+strings.Join(profileNames(), ", ")+".")
	own.StringSliceVar(&f.run, flag("run"), nil, "Run these checks only. May be repeated.")
	own.StringArrayVar(&f.skip, flag("skip"), nil, "Do not run a check: ID=REASON. May be repeated.")
	own.StringArrayVar(&f.expect, flag("expect-failure"), nil, "A check that is known to fail: ID=ISSUE. If it passes, that counts as a failure. \"ID: TEXT=ISSUE\" expects only failures that contain TEXT, which ends at the first \"=\"; any other failure counts. May be repeated.")
	own.BoolVar(&f.allowWrites, flag("allow-writes"), false, "Let the suite create and remove things in the cloud.")
	own.StringVar(&f.ledger, flag("ledger"), "", "File into which the suite writes what it creates, before it creates it. Must be set with --allow-writes.")
	own.StringVar(&f.account, flag("account"), "", accountUsage)
	own.DurationVar(&f.timeout, flag("timeout"), f.timeout, "How long all checks may take.")
	own.DurationVar(&f.checkTimeout, flag("check-timeout"), f.checkTimeout, "How long each check may take.")
	f.limits.addFlags(own, flag)
	own.StringVar(&f.report, flag("report"), "", "File for the report in YAML.")
	own.StringVar(&f.junit, flag("junit"), "", "File for the results as JUnit XML.")
	own.StringVarP(&f.output, flag("output"), shorthand, f.output, "Format: text, json or yaml.")
	own.BoolVar(&f.strict, flag("strict"), false, "End with code 3 if the result is only partial.")
	addDaemonFlags(cmd, daemon, map[string][]string{flag("output"): conformanceOutputs, flag("profile"): profileNames(), flag("run"): checkIDs()})
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return p.testConformance(cmd, &f) }
	cmd.AddCommand(p.conformanceCleanupCommand(daemon), p.conformanceListCommand(), p.conformanceCompareCommand())
	endsWithUsage(cmd)
	return cmd
}

func profileNames() []string {
	var all []string
	for _, p := range conformance.Profiles() {
		all = append(all, string(p))
	}
	return all
}

func checkIDs() []string {
	var all []string
	for _, c := range conformance.Checks() {
		all = append(all, c.ID)
	}
	return all
}

// usageCode is the exit code of a sub-command that cannot do its work. For example,
// a flag is wrong or a file cannot be read.
const usageCode = 2

// ended is an error together with the exit code of the sub-command.
type ended struct {
	code int
	why  error
}

func (e ended) Error() string { return e.why.Error() }

func (e ended) Unwrap() error { return e.why }

// endsWithUsage changes a command and its sub-commands, so that they end with
// usageCode if they cannot do their work.
func endsWithUsage(cmd *cobra.Command) {
	run, accept, explain := cmd.RunE, cmd.Args, cmd.FlagErrorFunc()
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return orUsage(run(cmd, args)) }
	cmd.Args = func(cmd *cobra.Command, args []string) error { return orUsage(accept(cmd, args)) }
	cmd.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error { return orUsage(explain(cmd, err)) })
	for _, sub := range cmd.Commands() {
		endsWithUsage(sub)
	}
}

// orUsage gives usageCode to an error that has no exit code yet.
func orUsage(err error) error {
	if _, ok := errors.AsType[ended](err); ok || err == nil {
		return err
	}
	return ended{usageCode, err}
}

// validate returns all errors of the flags.
func (f *conformanceFlags) validate() error {
	var errs []error
	flag := f.typed.flag
	if !slices.Contains(conformanceOutputs, f.output) {
		errs = append(errs, fmt.Errorf("%s: %q is not text, json or yaml", flag("output"), f.output))
	}
	for _, name := range f.profiles {
		if !slices.Contains(profileNames(), name) {
			errs = append(errs, fmt.Errorf("%s: there is no profile %q; the profiles are %s", flag("profile"), name, strings.Join(profileNames(), ", ")))
		}
	}
	if f.timeout <= 0 {
		errs = append(errs, fmt.Errorf("%s must be greater than 0, but got %v", flag("timeout"), f.timeout))
	}
	if f.checkTimeout <= 0 {
		errs = append(errs, fmt.Errorf("%s must be greater than 0, but got %v", flag("check-timeout"), f.checkTimeout))
	}
	if f.world != "" && !f.allowWrites {
		errs = append(errs, fmt.Errorf("%s needs %s: a world creates machines; without it, name machines that exist with %s", flag("world"), flag("allow-writes"), flag("machine")))
	}
	if f.world != "" && len(f.machines) > 0 {
		errs = append(errs, fmt.Errorf("%s has no effect with %s, which creates the machines", flag("machine"), flag("world")))
	}
	if f.allowWrites && f.ledger == "" {
		errs = append(errs, fmt.Errorf("%s needs %s=FILE: after an interrupted run, \"conformance cleanup\" removes what the file lists", flag("allow-writes"), flag("ledger")))
	}
	if f.ledger != "" && !f.allowWrites {
		errs = append(errs, fmt.Errorf("%s has no effect without %s: nothing is created", flag("ledger"), flag("allow-writes")))
	}
	return utilerrors.NewAggregate(append(errs, f.limits.validate(f)...))
}

// byID parses values of the form ID=TEXT. The argument flag is the name of the flag
// as users type it.
func byID(flag, what string, values []string) (map[string]string, error) {
	var errs []error
	all := map[string]string{}
	for _, value := range values {
		id, text, _ := strings.Cut(value, "=")
		text = strings.TrimSpace(text)
		switch _, twice := all[id]; {
		case text == "":
			errs = append(errs, fmt.Errorf("%s: %q has no %s; want ID=%s", flag, value, strings.ToLower(what), what))
		case twice:
			errs = append(errs, fmt.Errorf("%s: %q is given twice", flag, id))
		}
		all[id] = text
	}
	return all, utilerrors.NewAggregate(errs)
}
