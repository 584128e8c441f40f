package doctor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"github.com/fairlead-k8s/fairlead/internal/cluster"
	"github.com/fairlead-k8s/fairlead/internal/explain"
	"github.com/fairlead-k8s/fairlead/internal/inspect"
	"github.com/fairlead-k8s/fairlead/internal/typo"
)

const (
	// againAfter is the pause between two reads of the cluster with --wait.
	againAfter = 5 * time.Second
	// readWithin bounds the time for one read of the cluster.
	readWithin = time.Minute
)

// command runs `fairlead doctor`.
type command struct {
	connection inspect.Connection
	output     *inspect.Output
	choice     Choice
	wait       time.Duration
	waiting    time.Duration
	strict     bool
	bundle     string
	clock      clock.Clock
}

const help = `Looks at the cluster for faults of its cloud-controller-manager: two managers at
work, no leader, Nodes that wait, rights that are missing, Services without an address,
and more. Each finding has a permanent code, and a command to type next. The checks work
with every cloud-controller-manager, and see most with Fairlead.

It only reads. A check whose rights are missing is unknown, and says which right it
needs. The role fairlead-doctor in docs/guides/doctor.md has all of them. Kubelets are
not asked, so the right nodes/proxy is never used.

In a bundle, secrets are hidden where they can be recognised: in URLs, also without
scheme, in escaped JSON and percent-encoded; after Authorization and Bearer; and after
names such as token= and password=. A secret without such a mark cannot be recognised,
for example a bare token in an event, and neither can the beginning of a URL that was cut
off. So look at the file before you publish it.

Exit codes: 0; 1 if an error was found; 2 with --strict if a warning was found; 3 if the
cluster could not be looked at.`

// New returns the command.
func New() *cobra.Command { return newCommand(clock.RealClock{}) }

func newCommand(by clock.Clock) *cobra.Command {
	c := command{output: inspect.NewOutput("markdown"), clock: by}
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Look at the cluster for faults of its cloud-controller-manager",
		Long:  help,
		Example: `  fairlead doctor
  fairlead doctor --node worker-9 -o markdown
  fairlead doctor --only nodes,daemon --skip FL201 --strict
  fairlead doctor --wait 2m --older-than 1m -o json
  fairlead doctor --bundle doctor.tar.gz`,
		Args:              typo.NoArguments,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(cmd *cobra.Command, _ []string) error { return c.run(cmd) },
	}
	c.connection.AddFlags(cmd)
	_ = cmd.Flags().MarkHidden("namespace") // hidden, because the checks cover the whole cluster; cannot fail, because the flag exists
	c.output.AddFlag(cmd)
	f := cmd.Flags()
	f.StringSliceVar(&c.choice.Only, "only", nil, "look at these categories only: control-plane, nodes, daemon, rights, cloud, services")
	f.StringSliceVar(&c.choice.Skip, "skip", nil, "leave out checks, by their codes")
	f.StringVar(&c.choice.Node, "node", "", "leave out findings on other Nodes and on Services")
	f.DurationVar(&c.wait, "wait", 0, "look again until no error is found, for at most this long")
	f.DurationVar(&c.waiting, "older-than", 5*time.Minute, "how long Nodes and Services may wait before they are reported")
	f.BoolVar(&c.strict, "strict", false, "end with code 2 if there are warnings")
	f.StringVar(&c.bundle, "bundle", "", "write report and objects to this new file, a .tar.gz for bug reports, without the secrets that can be recognised")
	_ = cmd.MarkFlagFilename("bundle", "tar.gz") // cannot fail, because the flag exists
	for name, complete := range map[string]cobra.CompletionFunc{
		"only": cobra.FixedCompletions(Categories(), cobra.ShellCompDirectiveNoFileComp),
		"skip": cobra.FixedCompletions(ids(), cobra.ShellCompDirectiveNoFileComp),
		"node": cobra.NoFileCompletions,
	} {
		_ = cmd.RegisterFlagCompletionFunc(name, complete) // cannot fail, because the flag exists
	}
	return cmd
}

func ids() []string {
	var all []string
	for _, c := range Checks() {
		all = append(all, c.ID)
	}
	return all
}

func (c *command) run(cmd *cobra.Command) error {
	if err := c.choice.Validate(); err != nil {
		return err
	}
	to, err := c.connection.Open("doctor")
	if err != nil {
		return err
	}
	v, r, err := c.await(cmd.Context(), to)
	if err != nil {
		return inspect.Exit(inspect.CannotLook, err)
	}
	if c.bundle != "" {
		if err := WriteBundle(c.bundle, v, r, waitingIn(v)); err != nil {
			return fmt.Errorf("--bundle: %w", err)
		}
	}
	text := r.Text
	if c.output.String() == "markdown" {
		text = r.Markdown
	}
	if err := c.output.Write(cmd.OutOrStdout(), r, text); err != nil {
		return fmt.Errorf("print the report: %w", err)
	}
	return c.result(v, r)
}

// result returns the error with the exit code.
func (c *command) result(v *cluster.View, r Report) error {
	switch {
	case isBlind(v):
		return inspect.Exit(inspect.CannotLook, errors.New("nothing could be looked at: the role fairlead-doctor in docs/guides/doctor.md has the rights"))
	case r.Count(Error) > 0:
		return inspect.Exit(inspect.Failed, nil)
	case c.strict && r.Count(Warning) > 0:
		return inspect.Exit(inspect.Warned, nil)
	default:
		return nil
	}
}

// await repeats the checks until they find no error, or until the time of --wait is
// over.
func (c *command) await(ctx context.Context, to *inspect.Cluster) (*cluster.View, Report, error) {
	end := c.clock.Now().Add(c.wait)
	for {
		v, r, err := c.look(ctx, to)
		if err == nil && r.Count(Error) == 0 || ctx.Err() != nil || !c.clock.Now().Add(againAfter).Before(end) {
			return v, r, err
		}
		select {
		case <-c.clock.After(againAfter):
		case <-ctx.Done():
		}
	}
}

func (c *command) look(ctx context.Context, to *inspect.Cluster) (*cluster.View, Report, error) {
	ctx, cancel := context.WithTimeout(ctx, readWithin)
	defer cancel()
	now := &cluster.Clock{Now: c.clock.Now}
	config := rest.CopyConfig(to.Config)
	config.ContentType, config.AcceptContentTypes = runtime.ContentTypeProtobuf, runtime.ContentTypeProtobuf+","+runtime.ContentTypeJSON
	config.Wrap(now.Wrap)
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, Report{}, err
	}
	v, err := observe(ctx, client, now, c.waiting, c.bundle != "")
	if err != nil {
		return nil, Report{}, err
	}
	if c.choice.Node != "" && v.Missing[cluster.Nodes] == nil && !slices.ContainsFunc(v.Nodes, func(n corev1.Node) bool { return n.Name == c.choice.Node }) {
		return nil, Report{}, fmt.Errorf("--node: there is no Node %q", c.choice.Node)
	}
	return v, Run(v, c.choice), nil
}

// waitingIn returns what explain --waiting says of the objects that were read.
func waitingIn(v *cluster.View) explain.Waiting {
	w := explain.AllReasons().WaitingIn(v, v.DaemonLease())
	w.Unread = v.Unread(cluster.Nodes, cluster.Services, cluster.Volumes, cluster.Requests, cluster.Events, cluster.OtherEvents)
	return w
}
