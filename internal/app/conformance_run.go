package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"

	"github.com/spf13/cobra"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/client-go/rest"
	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/component-base/term"
	"k8s.io/klog/v2"

	"github.com/fairlead-k8s/fairlead/internal/app/internal/provider"
	"github.com/fairlead-k8s/fairlead/internal/app/internal/settings"
	"github.com/fairlead-k8s/fairlead/internal/kube"
	"github.com/fairlead-k8s/fairlead/internal/printable"
	"github.com/fairlead-k8s/fairlead/provider/conformance"
)

// Exit codes of the sub-command, in addition to usageCode.
const (
	failedCode  = 1
	partialCode = 3
)

// testConformance runs the suite and prints its report.
func (p *program) testConformance(cmd *cobra.Command, f *conformanceFlags) error {
	ctx, err := p.beginConformance(cmd, f.validate())
	if err != nil {
		return err
	}
	target, err := p.conformanceTarget(ctx, f)
	if err != nil {
		return err
	}
	options, finish, err := f.options(cmd, target.Name)
	if err != nil {
		return err
	}
	if target.World == nil {
		cmd.PrintErrln("No machine is named, so most checks are not run. " + f.typed.flag("machine") + "=NAME names one that exists, and " + f.typed.flag("world") + " a program that creates them.")
	}
	ctx, cancel := context.WithTimeoutCause(ctx, f.timeout, fmt.Errorf("%s=%v is over", f.typed.flag("timeout"), f.timeout))
	defer cancel()
	report, err := conformance.Run(ctx, target, options)
	err = errors.Join(err, f.tellLeft(cmd.ErrOrStderr(), options.Ledger), finish())
	if err != nil || report == nil {
		return orOtherAccount(err, target)
	}
	if err := f.write(cmd.OutOrStdout(), report); err != nil {
		return err
	}
	switch {
	case report.Result == conformance.Failure:
		return ended{failedCode, fmt.Errorf("core checks that failed: %d", report.CoreFailures())}
	case f.strict && report.Result != conformance.Success:
		return ended{partialCode, fmt.Errorf("the result is %s", report.Result)}
	}
	return nil
}

// beginConformance applies the daemon's flags, and returns the context of the run. The log
// is quiet unless -v is set.
func (p *program) beginConformance(cmd *cobra.Command, invalid error) (context.Context, error) {
	p.settings.ApplyDefaults()
	if err := p.settings.Global.ApplyLogging(); err != nil {
		return nil, err
	}
	errs := []error{}
	if invalid != nil {
		errs = append(errs, lines(invalid)...)
	}
	if p.settings.Provider.Name == "" {
		errs = append(errs, settings.ErrNoProvider)
	}
	ctx := withPrintableLog(cmd.Context())
	return klog.NewContext(ctx, klog.FromContext(ctx).V(1)), utilerrors.NewAggregate(errs)
}

// options returns the options of the suite. The caller must call finish after the
// run.
func (f *conformanceFlags) options(cmd *cobra.Command, provider string) (o conformance.Options, finish func() error, err error) {
	skip, err1 := byID(f.typed.flag("skip"), "REASON", f.skip)
	expect, err2 := f.expectedFailures()
	errs := []error{err1, err2}
	for flag, ids := range map[string][]string{"run": f.run, "skip": keys(skip), "expect-failure": checksOf(expect)} {
		for _, id := range ids {
			if !isCheck(id) {
				errs = append(errs, fmt.Errorf("%s: there is no check %q; \"conformance list\" prints all", f.typed.flag(flag), id))
			}
		}
	}
	if err := utilerrors.NewAggregate(errs); err != nil {
		return o, nil, err
	}
	o = conformance.Options{
		Only: f.run, Skip: skip, ExpectFailure: expect, ReadOnly: !f.allowWrites, Timeout: f.checkTimeout,
		Progress:  conformanceProgress(cmd.ErrOrStderr()),
		Child:     thisProgram,
		Isolate:   true, // The report must be written even if a provider ends its process.
		Reproduce: reproduce(os.Args),
	}
	for _, name := range f.profiles {
		o.Profiles = append(o.Profiles, conformance.Profile(name))
	}
	finish = func() error { return nil }
	if f.ledger != "" {
		ledger, err := conformance.OpenLedger(f.ledger, provider)
		if err != nil {
			return o, nil, fmt.Errorf("%s: %w", f.typed.flag("ledger"), err)
		}
		if err := warnOf(cmd.ErrOrStderr(), ledger); err != nil {
			return o, nil, errors.Join(err, ledger.Close())
		}
		o.Ledger, finish = ledger, ledger.Close
	}
	return o, finish, nil
}

// warnOf prints a warning for each line of the ledger that cannot be read.
func warnOf(w io.Writer, ledger *conformance.FileLedger) error {
	all, err := ledger.Warnings()
	for _, text := range all {
		_, failed := fmt.Fprintf(w, "Warning: %s.\n", text)
		err = errors.Join(err, failed)
	}
	return err
}

// tellLeft prints the number of objects that the ledger still lists. A check that was
// cut short cannot report what it has left.
func (f *conformanceFlags) tellLeft(w io.Writer, ledger conformance.Ledger) error {
	file, ok := ledger.(*conformance.FileLedger)
	if !ok {
		return nil
	}
	left, err := file.Left()
	if err == nil && len(left) > 0 {
		_, err = fmt.Fprintf(w, "Objects that may be left in the cloud: %d. Remove them: conformance cleanup --ledger=%s\n", len(left), f.ledger)
	}
	return err
}

// thisProgram returns the command that starts this program again with the same
// arguments.
func thisProgram(ctx context.Context) *exec.Cmd {
	path, err := os.Executable()
	if err != nil {
		path = os.Args[0]
	}
	cmd := exec.CommandContext(ctx, path, os.Args[1:]...) //nolint:gosec // this program itself
	// If this process is killed, the child ends, too. Otherwise the child could create
	// objects that "cleanup" does not see.
	cmd.SysProcAttr = withParent()
	return cmd
}

// reproduce returns the arguments as a command line for a shell, without secrets in
// URLs. All other secrets of a provider are in files, not in arguments.
func reproduce(args []string) string {
	var all []string
	for _, arg := range args {
		if strings.ContainsAny(arg, " \t\n'\"\\$&|;<>()*?`#~!{}[]") {
			arg = "'" + strings.ReplaceAll(arg, "'", `'\''`) + "'"
		}
		all = append(all, arg)
	}
	return printable.WithoutSecrets(strings.Join(all, " "))
}

// conformanceProgress returns a function that shows progress on the terminal w. If w is
// not a terminal, it returns nil.
func conformanceProgress(w io.Writer) func(conformance.CheckResult) {
	if _, _, err := term.TerminalSize(w); err != nil {
		return nil
	}
	done, failed := 0, 0
	return func(r conformance.CheckResult) {
		done++
		if r.Outcome == conformance.Failed && r.Level != conformance.Measured {
			failed++
		}
		_, _ = fmt.Fprintf(w, "\r\033[K%d checks, %d failed; last %s", done, failed, r.ID)
	}
}

// write writes the report to the output and to the files that the flags name.
func (f *conformanceFlags) write(out io.Writer, r *conformance.Report) error {
	if f.report != "" {
		text, err := r.YAML()
		if err = errors.Join(err, os.WriteFile(f.report, text, 0o644)); err != nil { //nolint:gosec // others may read a report
			return fmt.Errorf("%s: %w", f.typed.flag("report"), err)
		}
	}
	if f.junit != "" {
		text, err := r.JUnit()
		if err = errors.Join(err, os.WriteFile(f.junit, text, 0o644)); err != nil { //nolint:gosec // others may read a report
			return fmt.Errorf("%s: %w", f.typed.flag("junit"), err)
		}
	}
	var text []byte
	var err error
	switch f.output {
	case "text":
		if err = r.WriteText(printable.Writer(out)); err == nil && f.report != "" {
			_, err = fmt.Fprintf(out, "Report          %s\n", f.report)
		}
		return err
	case "json":
		text, err = r.JSON()
	default:
		text, err = r.YAML()
	}
	if err == nil {
		_, err = printable.JSON(out).Write(text)
	}
	return err
}

// conformanceTarget returns the target of the suite. The provider comes from
// Options.Conformance if it has one, and otherwise from the flags. The world comes
// from the flags if they name one, and otherwise from Options.Conformance.
func (p *program) conformanceTarget(ctx context.Context, f *conformanceFlags) (conformance.Target, error) {
	target := conformance.Target{}
	if p.options.Conformance != nil {
		target = *p.options.Conformance
	}
	clients, err := p.conformanceClients()
	if err != nil {
		return target, err
	}
	f.limits.apply(&target)
	target.Name = cmp.Or(target.Name, p.settings.Provider.Name)
	if target.Account, err = p.conformanceAccount(f, target); err != nil {
		return target, err
	}
	if target.New == nil {
		if err := p.canBeMade(ctx, target, clients, f.allowWrites); err != nil {
			return target, err
		}
		target.New = func(ctx context.Context, _ any) (cloudprovider.Interface, error) {
			return p.conformanceProvider(ctx, clients, f.allowWrites)
		}
		if file := p.settings.Provider.ConfigFile; file != "" && target.Configuration == nil {
			text, err := os.ReadFile(file) //nolint:gosec // the caller names its own file
			if err != nil {
				return target, fmt.Errorf("--cloud-config: %w", err)
			}
			target.Configuration = func(any) string { return string(text) }
		}
	}
	switch {
	case f.world != "":
		if _, err := exec.LookPath(f.world); err != nil {
			return target, fmt.Errorf("%s: %w", f.typed.flag("world"), err)
		}
		target.World, target.Shared, target.Live = conformance.Executable{Path: f.world}.World, true, true
	case len(f.machines) > 0:
		target.World, target.Live = func(context.Context) (any, error) { return conformance.Existing(f.machines...), nil }, true
	}
	return target, nil
}

// canBeMade makes the provider once, without initialising it, and returns the error. So
// a wrong flag causes one error instead of a failure of each check. If a process can
// make only one provider, canBeMade does nothing.
func (p *program) canBeMade(ctx context.Context, target conformance.Target, c clients, writes bool) error {
	if target.Singleton {
		return nil
	}
	made, err := p.conformanceFactory(c, writes).Make(ctx)
	if err == nil {
		made.Drop()
	}
	return err
}

// conformanceFactory returns the factory of the provider. As in the daemon, a
// provider that changes the cloud needs a cluster ID. Without one, some providers
// treat everything in the account as their own.
func (p *program) conformanceFactory(c clients, writes bool) *provider.Factory {
	factory := p.factory(c)
	factory.AllowUntagged = factory.AllowUntagged || !writes
	return factory
}

// conformanceProvider makes the provider and initialises it. The provider is dropped when
// ctx ends.
func (p *program) conformanceProvider(ctx context.Context, c clients, writes bool) (cloudprovider.Interface, error) {
	made, err := p.conformanceFactory(c, writes).Make(ctx)
	if err != nil {
		return nil, err
	}
	context.AfterFunc(ctx, made.Drop)
	if p.settings.Client.Named() {
		err = made.Initialize(ctx, c.each)
	} else if err = made.Cloud.Initialize(ctx, c.each); err == nil {
		// Informers are not started, because without a cluster they would never
		// sync.
		err = made.Cloud.SetInformers(ctx, made.Informers)
	}
	return made.Cloud.Unwrap(), err
}

// conformanceClients returns clients that only read. Without a cluster, all their
// requests fail.
func (p *program) conformanceClients() (clients, error) {
	s := p.settings
	s.Client.EachItsOwn = false // Otherwise tokens of service accounts would have to be created.
	config := &rest.Config{Host: "https://no-cluster.invalid"}
	config.Wrap(func(http.RoundTripper) http.RoundTripper { return noCluster{} })
	if s.Client.Named() {
		var err error
		if config, err = s.Client.RESTConfig(); err != nil {
			return clients{}, err
		}
	}
	config.Wrap(kube.ReadOnly(func(string) {}))
	return newClients(s.Client, config)
}

// noCluster refuses all requests.
type noCluster struct{}

// RoundTrip implements http.RoundTripper.
func (noCluster) RoundTrip(*http.Request) (*http.Response, error) {
	return nil, errors.New("there is no cluster: \"conformance\" runs without --kubeconfig")
}
