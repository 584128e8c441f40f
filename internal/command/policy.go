package command

import (
	"context"
	"encoding/json"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/client-go/informers"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-k8s/fairlead/internal/daemon"
	"github.com/fairlead-k8s/fairlead/internal/daemon/provider"
	"github.com/fairlead-k8s/fairlead/internal/daemon/settings"
	"github.com/fairlead-k8s/fairlead/internal/policy"
)

// policyFlags are the flags that only the sub-command "policy" has.
type policyFlags struct{ action, output, name string }

const policyHelp = `Prints a ValidatingAdmissionPolicy and its binding. With them the API server says
at "kubectl apply" which fields of a Service of type LoadBalancer the provider
does not implement. Nothing is called: neither the cloud nor the cluster.

The daemon's flags are accepted, too. --cloud-provider, --cloud-config and
--load-balancer-class have an effect.`

// policyCommand returns the sub-command "policy". It shares the flags of the daemon,
// so that the daemon's arguments can be passed to it.
func policyCommand(p *daemon.Program, root *cobra.Command) *cobra.Command {
	f := policyFlags{action: string(admissionv1.Warn), output: "yaml", name: p.Options.Name + "-services"}
	cmd := &cobra.Command{
		Use:   "policy",
		Short: "Print an admission policy that says which fields of Services have no effect",
		Long:  policyHelp,
		Example: "  " + p.Options.Name + " policy --cloud-provider=NAME | kubectl apply -f -\n" +
			"  " + p.Options.Name + " policy --cloud-provider=NAME --action=Deny -o json",
		Args:              noArguments,
		ValidArgsFunction: cobra.NoFileCompletions,
		SilenceUsage:      true,
	}
	own := cmd.Flags()
	own.StringVar(&f.action, "action", f.action, "What happens to a Service with such a field: Warn or Deny.")
	own.StringVarP(&f.output, "output", "o", f.output, "Format: yaml or json.")
	own.StringVar(&f.name, "name", f.name, "Name of the policy and of its binding.")
	addDaemonFlags(cmd, root, map[string][]string{"action": {"Warn", "Deny"}, "output": {"yaml", "json"}})
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		p.Settings.ApplyDefaults()
		return printPolicy(cmd.Context(), p, cmd.OutOrStdout(), f)
	}
	return cmd
}

// addDaemonFlags adds the daemon's flags to a sub-command that already has flags of its
// own. The help shows only the sub-command's own flags. The parameter words maps the
// name of a flag to the values that the shell offers for its completion.
func addDaemonFlags(cmd, root *cobra.Command, words map[string][]string) {
	own := cmd.Flags()
	help := own.FlagUsages()
	root.Flags().VisitAll(func(flag *pflag.Flag) {
		if own.Lookup(flag.Name) == nil && (flag.Shorthand == "" || own.ShorthandLookup(flag.Shorthand) == nil) {
			own.AddFlag(flag)
		}
	})
	for name, values := range words {
		_ = cmd.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)) // The flags exist.
	}
	usage := func(w io.Writer, cmd *cobra.Command) error {
		_, err := fmt.Fprintf(w, "Usage:\n  %s [flags]\n\nExamples:\n%s\n\nFlags, beside those of the daemon:\n%s", cmd.CommandPath(), cmd.Example, help)
		return err
	}
	cmd.SetUsageFunc(func(cmd *cobra.Command) error { return usage(cmd.OutOrStderr(), cmd) })
	cmd.SetHelpFunc(func(cmd *cobra.Command, _ []string) {
		out := cmd.OutOrStdout() // Requested help goes to the standard output.
		_, _ = fmt.Fprintf(out, "%s\n\n", cmd.Long)
		_ = usage(out, cmd) // cobra has no place for the error
	})
}

func printPolicy(ctx context.Context, p *daemon.Program, out io.Writer, f policyFlags) error {
	var errs []error
	if f.action != string(admissionv1.Warn) && f.action != string(admissionv1.Deny) {
		errs = append(errs, fmt.Errorf("--action: %q is neither Warn nor Deny", f.action))
	}
	if f.output != "yaml" && f.output != "json" {
		errs = append(errs, fmt.Errorf("--output: %q is neither yaml nor json", f.output))
	}
	if p.Settings.Provider.Name == "" {
		errs = append(errs, settings.ErrNoProvider)
	}
	if err := utilerrors.NewAggregate(errs); err != nil {
		return err
	}
	config, err := policyConfig(ctx, p, f)
	if err != nil {
		return err
	}
	made, binding := policy.Objects(config)
	text, err := encode(f.output, made, binding)
	if err == nil {
		_, err = out.Write(text)
	}
	if err != nil {
		return fmt.Errorf("print the policy: %w", err)
	}
	return nil
}

// encode returns the objects as documents in YAML or as a list in JSON.
func encode(format string, objects ...any) ([]byte, error) {
	if format == "json" {
		text, err := json.MarshalIndent(map[string]any{"apiVersion": "v1", "kind": "List", "items": objects}, "", "  ")
		return append(text, '\n'), err
	}
	var all []byte
	for _, object := range objects {
		text, err := yaml.Marshal(object)
		if err != nil {
			return nil, err
		}
		all = append(append(all, "---\n"...), text...)
	}
	return all, nil
}

// policyConfig makes the provider and asks which features it declares. It does not
// initialise the provider.
func policyConfig(ctx context.Context, p *daemon.Program, f policyFlags) (policy.Config, error) {
	s := p.Settings
	factory := &provider.Factory{
		Name: s.Provider.Name, ConfigFile: s.Provider.ConfigFile, AllowUntagged: true, New: p.Options.Provider, Flags: s.Flags(),
		Informers: func() (informers.SharedInformerFactory, error) {
			return informers.NewSharedInformerFactory(nil, 0), nil
		},
	}
	made, err := factory.Make(ctx)
	if err != nil {
		return policy.Config{}, fmt.Errorf("no policy, because the provider cannot be made: %w", err)
	}
	defer made.Drop()
	declared, ok, err := made.Cloud.Features(ctx)
	switch {
	case err != nil:
		return policy.Config{}, fmt.Errorf("the provider %q: %w", s.Provider.Name, err)
	case !ok:
		return policy.Config{}, fmt.Errorf("the provider %q does not declare what it implements (provider.FeatureDeclarer), so there is no policy", s.Provider.Name)
	}
	return policy.Config{
		Name: f.name, Provider: s.Provider.Name, Classes: s.Service.Classes(), ClassesOnly: s.Service.ClassesOnly(), Action: admissionv1.ValidationAction(f.action), Features: declared,
	}, nil
}
