package explain

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"

	"github.com/fairlead-k8s/fairlead/internal/inspect"
	"github.com/fairlead-k8s/fairlead/internal/sleep"
)

// The kinds of objects.
const (
	kindNode    = "node"
	kindService = "service"
	kindRoute   = "route"
	kindVolume  = "volume"
	kindRequest = "request"
)

// forms lists the forms of an argument, for error messages.
const forms = "node/NAME, service/NAMESPACE/NAME, route/CIDR, volume/NAME or request/NAME"

// kind says how to explain a kind of object.
type kind struct {
	words    []string // other words for the kind in an argument
	explain  func(Reasons, subject) Answer
	fields   []string
	describe string // a command; {namespace} and {name} are those of the object
}

var kinds = map[string]kind{
	kindNode:    {[]string{"nodes", "no"}, Reasons.node, fieldsOfNode, "kubectl describe node {name}"},
	kindService: {[]string{"services", "svc"}, Reasons.service, fieldsOfService, "kubectl -n {namespace} describe service {name}"},
	kindRoute:   {[]string{"routes"}, Reasons.route, fieldsOfRoute, "kubectl describe node {name}"},
	kindVolume:  {[]string{"volumes", "persistentvolume", "persistentvolumes", "pv"}, Reasons.volume, fieldsOfVolume, "kubectl describe pv {name}"},
	kindRequest: {[]string{"requests", "certificatesigningrequest", "certificatesigningrequests", "csr"}, Reasons.request, fieldsOfRequest, "kubectl describe csr {name}"},
}

// kindOf returns the kind that a word of an argument names, such as "svc". It returns ""
// if there is none.
func kindOf(word string) string {
	word = strings.ToLower(word)
	for name, k := range kinds {
		if word == name || slices.Contains(k.words, word) {
			return name
		}
	}
	return ""
}

const help = `Says why an object waits, since when, and what would change that, in the words of the
daemon. The object is a Node, a Service of type LoadBalancer, a route, a PersistentVolume
without a zone, or a kubelet's request for a serving certificate.

It reads what is written in the API server: the object, its conditions and events, who
has written which field, and the Lease of the daemon. It changes nothing. You need the
right to read the object and its events; without the right to read the Lease, the answer
says so.

With --daemon the answer also has what the daemon that leads remembers: the evidence so
far, what the cloud has said last, and when the daemon looks again. To reach a daemon in a Pod:

  kubectl -n kube-system port-forward POD 10258

and --daemon=https://localhost:10258. You need the right to get the non-resource URL
/debug/fairlead/v1/objects/*.

A route has no object of its own. It is explained by the Node whose pods have its CIDR.
An event on the Node says why its request waits.

Only events whose source is a component of the daemon count. The API server does not
check the source, so whoever may create events can forge them, for example a kubelet. The
daemon's log and the answer with --daemon are not forged in this way.

If you may not list PersistentVolumes or CertificateSigningRequests, --waiting says so, and
lists the rest.

Exit codes: 0; 1 if there is no such object; 3 if the cluster could not be looked at.`

// command runs `fairlead explain`.
type command struct {
	connection inspect.Connection
	output     *inspect.Output
	reasons    Reasons
	lease      string
	daemon     daemonFlags
	waiting    bool
	watch      bool
	namespaced bool // -n is set
}

// With --watch, watchEvery is the time between two reads of the cluster.
const watchEvery = 2 * time.Second

// New returns the command. reasons are all reasons that the daemon writes.
func New(reasons Reasons) *cobra.Command {
	e := &command{reasons: reasons, output: inspect.NewOutput()}
	c := &cobra.Command{
		Use:   "explain (node/NAME | service/NAMESPACE/NAME | route/CIDR | volume/NAME | request/NAME | --waiting)",
		Short: "Say why a Node, a Service or another object waits",
		Long:  help,
		Example: `  fairlead explain node/worker-1
  fairlead explain service/web -n shop
  fairlead explain route/10.244.3.0/24
  fairlead explain pv/disk-1
  fairlead explain csr/csr-x2x4k
  fairlead explain --waiting
  fairlead explain node/worker-1 --watch`,
		ValidArgsFunction: e.complete,
	}
	e.connection.AddFlags(c)
	e.output.AddFlag(c)
	e.daemon.addFlags(c)
	f := c.Flags()
	f.BoolVar(&e.waiting, "waiting", false, "list everything that waits; the longest wait comes first")
	f.BoolVarP(&e.watch, "watch", "w", false, "go on, and print the answer again whenever it changes")
	f.StringVar(&e.lease, "lease", "kube-system/cloud-controller-manager", "Lease of the daemon: NAMESPACE/NAME")
	_ = c.RegisterFlagCompletionFunc("lease", cobra.NoFileCompletions) // cannot fail, because the flag exists
	c.Args = func(_ *cobra.Command, args []string) error {
		switch {
		case e.waiting && len(args) > 0:
			return errors.New("--waiting is about all objects, so name none")
		case !e.waiting && len(args) != 1:
			return fmt.Errorf("want one object, such as node/worker-1, got %d; --waiting lists all that wait; --help says more", len(args))
		case e.waiting:
			return nil
		}
		_, err := object(args[0], metav1.NamespaceDefault) // checked before the command connects to a cluster
		return err
	}
	c.RunE = func(c *cobra.Command, args []string) error {
		e.namespaced = c.Flags().Changed("namespace")
		return e.run(c, args)
	}
	return c
}

func (e *command) run(c *cobra.Command, args []string) error {
	if namespace, name := split(e.lease); namespace == "" || name == "" || strings.Contains(name, "/") {
		return fmt.Errorf("--lease: %q is not NAMESPACE/NAME", e.lease)
	}
	cluster, err := e.connection.Open("explain")
	if err != nil {
		return err
	}
	d, err := e.daemon.open(cluster)
	if err != nil {
		return err
	}
	var o Object
	if !e.waiting {
		if o, err = object(args[0], cluster.Namespace); err != nil {
			return err
		}
	}
	r := reader{Interface: cluster, lease: e.lease, clock: clock.RealClock{}}
	namespace := metav1.NamespaceAll
	if e.namespaced {
		namespace = cluster.Namespace
	}
	look := func(ctx context.Context) (printed, error) {
		if e.waiting {
			return e.lookAtAll(ctx, r, namespace)
		}
		return e.lookAt(ctx, r, o, d)
	}
	if d != nil && e.waiting {
		return errors.New("--daemon is asked about one object, so name it instead of --waiting")
	}
	return e.print(c, r.clock, look)
}

// printed is a result that the command prints.
type printed interface{ text(now time.Time) string }

// print looks at the cluster and prints the result. With --watch it looks again and
// again, and prints each result that differs from the previous one.
func (e *command) print(c *cobra.Command, at clock.PassiveClock, look func(context.Context) (printed, error)) error {
	ctx := c.Context()
	var last printed
	for {
		found, err := look(ctx)
		switch {
		case ctx.Err() != nil: // The user has stopped the command.
			return nil //nolint:nilerr // see above
		case err != nil:
			return err
		}
		if last == nil || !reflect.DeepEqual(lasting(found), lasting(last)) {
			if err := e.output.Write(c.OutOrStdout(), found, func() string { return found.text(at.Now()) }); err != nil {
				return err
			}
		}
		last = found
		if !e.watch || !sleep.For(ctx, watchEvery) {
			return nil
		}
	}
}

// lasting returns the answer without fields that change even if nothing happens
// to the object. An example is the time of the last renewal of the Lease.
func lasting(p printed) printed {
	switch p := p.(type) {
	case Answer:
		p.Daemon.Renewed, p.Object.ResourceVersion, p.Writers = time.Time{}, "", nil
		p.Memory = slices.Clone(p.Memory)
		for i := range p.Memory {
			p.Memory[i].SaidAt, p.Memory[i].NextLook = time.Time{}, time.Time{}
		}
		return p
	case Waiting:
		items := make([]Answer, len(p.Items))
		for i, a := range p.Items {
			items[i] = lasting(a).(Answer)
		}
		p.Daemon.Renewed, p.Items = time.Time{}, items
		return p
	}
	return p
}

func (e *command) lookAt(ctx context.Context, r reader, o Object, d *asked) (printed, error) {
	s, err := r.one(ctx, o)
	switch {
	case apierrors.IsNotFound(err):
		return nil, fmt.Errorf("there is no %s %s", o.Kind, o.Key)
	case err != nil:
		return nil, inspect.Exit(inspect.CannotLook, fmt.Errorf("the API server: %w", err))
	}
	return e.reasons.explain(s).askedToo(ctx, d), nil
}

func (e *command) lookAtAll(ctx context.Context, r reader, namespace string) (printed, error) {
	v, unread, err := r.everything(ctx, namespace)
	if err != nil {
		return nil, inspect.Exit(inspect.CannotLook, fmt.Errorf("the API server: %w", err))
	}
	w := e.reasons.WaitingIn(v, e.lease)
	w.Unread = unread
	return w, nil
}

// object returns the object that an argument names.
func object(argument, namespace string) (Object, error) {
	word, key, _ := strings.Cut(argument, "/")
	o := Object{Kind: kindOf(word), Key: key}
	if o.Kind == "" || key == "" {
		return o, fmt.Errorf("%q is not %s", argument, forms)
	}
	parts := strings.Split(key, "/")
	switch {
	case o.Kind == kindRoute:
		cidr, err := netip.ParsePrefix(key)
		if err != nil || cidr != cidr.Masked() {
			return o, fmt.Errorf("%q is not the CIDR of a route, such as 10.244.3.0/24", key)
		}
		o.Key = cidr.String()
	case o.Kind == kindService && len(parts) == 1:
		o.Key = namespace + "/" + key
	case o.Kind == kindService && len(parts) != 2, o.Kind != kindService && len(parts) != 1:
		return o, fmt.Errorf("%q is not %s", argument, forms)
	}
	return o, nil
}

// complete completes the kinds, and the names of the objects.
func (e *command) complete(c *cobra.Command, args []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(args) > 0 || e.waiting {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	word, _, named := strings.Cut(begun, "/")
	if !named {
		return []cobra.Completion{"node/", "service/", "route/", "volume/", "request/"}, cobra.ShellCompDirectiveNoSpace | cobra.ShellCompDirectiveNoFileComp
	}
	ctx, cancel := context.WithTimeout(c.Context(), watchEvery) // Users do not want to wait for a completion.
	defer cancel()
	cluster, err := e.connection.Open("explain")
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	r := reader{Interface: cluster}
	var all []cobra.Completion
	for _, key := range r.keys(ctx, kindOf(word)) {
		all = append(all, word+"/"+key)
	}
	return all, cobra.ShellCompDirectiveNoFileComp
}
