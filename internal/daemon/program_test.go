package daemon

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"
	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/rest"
	cloudprovider "k8s.io/cloud-provider"
	cliflag "k8s.io/component-base/cli/flag"
	"k8s.io/controller-manager/pkg/clientbuilder"
	"k8s.io/klog/v2/ktesting"

	"github.com/fairlead-k8s/fairlead/internal/daemon/election"
	"github.com/fairlead-k8s/fairlead/internal/daemon/provider/providertest"
)

// programOf returns a program with added controllers, each of which runs until
// it is stopped.
func programOf(cs ...Controller) Options {
	p := plain
	for _, c := range cs {
		if c.New == nil {
			c.New = func(context.Context, ControllerDeps) (Runner, error) { return &fakeController{run: untilStopped}, nil }
		}
		p.Controllers = append(p.Controllers, c)
	}
	return p
}

func TestProgramsControllersAreChosenLikeOurs(t *testing.T) {
	program := programOf(Controller{Name: "acme-a", Alias: "a"}, Controller{Name: "acme-b", OffByDefault: true})
	for args, want := range map[string]string{
		"":                                      "x acme-a",
		"--controllers=*,-a":                    "x",
		"--controllers=acme-b":                  "acme-b",
		"--controllers=*,acme-b":                "x acme-a acme-b",
		"--controllers=-x,*":                    "acme-a",
		"--controllers=*,acme-b,-acme-a,acme-a": "x acme-b",
	} {
		o := newProgram(program, table{register("x", nil)})
		parse(t, o, strings.Fields(args)...)
		if err := o.Validate(); err != nil {
			t.Errorf("%q: %v", args, err)
		}
		var got []string
		for _, r := range o.enabled() {
			got = append(got, r.Name)
		}
		if diff := cmp.Diff(want, strings.Join(got, " ")); diff != "" {
			t.Errorf("%q (-want +got):\n%s", args, diff)
		}
	}
}

func TestWrongPrograms(t *testing.T) {
	named := func(names ...string) Options {
		flags := cliflag.NamedFlagSets{}
		for i, name := range names {
			flags.FlagSet(fmt.Sprintf("acme %d", i)).Int(name, 0, "") // An int flag refuses the values below.
		}
		return Options{Name: "x", Flags: flags}
	}
	inOne := func(names ...string) Options {
		flags := cliflag.NamedFlagSets{}
		for _, name := range names {
			flags.FlagSet("acme").Int(name, 0, "")
		}
		return Options{Name: "x", Flags: flags}
	}
	for _, tc := range []struct {
		name    string
		program Options
		want    string
	}{
		{"NameIsOurs", programOf(Controller{Name: "cloud-node"}), `the program's controller "cloud-node" is called "cloud-node" as Fairlead's own cloud-node-controller is; ` +
			`to replace that one, put "cloud-node-controller" into Options.Without, otherwise choose another name`},
		{"AliasIsOurs", programOf(Controller{Name: "acme-a", Alias: "service"}), `the program's controller "acme-a" is called "service" as Fairlead's own service-lb-controller is; `},
		{"WithoutAnUnknownOne", Options{Name: "x", Without: []string{"services"}}, `Options.Without names "services", but Fairlead has no such controller; ` +
			`it has cloud-node-controller, cloud-node-lifecycle-controller, service-lb-controller, node-route-controller`},
		{"WithAnUnknownOne", Options{Name: "x", With: []string{"ipam"}}, `Options.With names "ipam", but Fairlead has no such controller; `},
		{"ClientNameOfAnUnknownOne", Options{Name: "x", ClientNames: map[string]string{"ipam": "acme"}}, `Options.ClientNames names "ipam", but Fairlead has no such controller; `},
		{"ClientNameThatNoServiceAccountHas", Options{Name: "x", ClientNames: map[string]string{"service": "Acme!"}}, `Options.ClientNames: "Acme!" of service cannot be the name of a service account`},
		{"DefaultOfNoFlag", Options{Name: "x", Defaults: map[string]string{"nope": "1"}}, "the program has a default for --nope, and there is no such flag"},
		{"DefaultOfAnotherType", Options{Name: "x", Defaults: map[string]string{"leader-elect": "often"}}, "the program's default of --leader-elect: "},
		{"Twice", programOf(Controller{Name: "acme-a"}, Controller{Name: "acme-a"}), `the program has two controllers that are called "acme-a"`},
		{"NoName", Options{Name: "x", Controllers: []Controller{{}}}, `the program's controller "" needs a name and a function that makes it`},
		{"FlagOfUpstream", named("kubeconfig"), `the program's own flag --kubeconfig, under "acme 0", has the name of the flag --kubeconfig under "misc"; rename it, or leave it out and read the existing flag, which is in Flags of ProviderDeps and of ControllerDeps`},
		{"FlagOfOurs", named("node-deletion"), `the program's own flag --node-deletion, under "acme 0", has the name of the flag --node-deletion under "cloud-node-lifecycle-controller"; `},
		{"FlagSpelledWithUnderscores", named("cloud_config"), `the program's own flag --cloud_config, under "acme 0", has the name of the flag --cloud-config under "generic"; `},
		{"FlagInTwoSpellings", inOne("acme-zone", "acme_zone"), `the program's own flag --acme_zone, under "acme", has the name of the flag --acme-zone under "acme"; `},
		{"FlagOfItsOwnTwice", named("acme-zone", "acme-zone"), `the program's own flag --acme-zone, under "acme 1", has the name of the flag --acme-zone under "acme 0"; `},
		{"WebhookWithoutAFunction", Options{Name: "x", Webhooks: []Webhook{{Name: "w", Path: "/w"}}}, `the program's webhook "w" needs a name, a path that begins with / and a function`},
		{"WebhookWithAnotherPath", Options{Name: "x", Webhooks: []Webhook{{Name: "w", Path: "w"}}}, `the program's webhook "w" needs a name, a path that begins with / and a function`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			o := newProgram(tc.program, ours())
			parse(t, o, "--node-deletion=false", "--kubeconfig=/dev/null", "--cloud-config=/dev/null") // The daemon's flags are parsed, not the program's.
			if err := o.Validate(); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want %s", err, tc.want)
			}
		})
	}
}

func TestProgramChangesControllersOfOurs(t *testing.T) {
	o := newProgram(Options{Name: "x", With: []string{"nodeipam"}, ClientNames: map[string]string{"service": "acme", "node-route-controller": "acme-routes"}}, ours())
	parse(t, o, "--controllers=*,-cloud-node")
	if err := o.Validate(); err != nil {
		t.Error(err)
	}
	var got []string
	for _, r := range o.enabled() {
		got = append(got, r.Name+" "+r.ClientName)
	}
	want := []string{"cloud-node-lifecycle-controller node-controller", "service-lb-controller acme", "node-route-controller acme-routes", "node-ipam-controller node-controller"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestProgramReplacesAControllerOfOurs(t *testing.T) {
	for without, want := range map[string]string{
		"":                      "cloud-node-controller cloud-node-lifecycle-controller service-lb-controller node-route-controller",
		"service-lb-controller": "cloud-node-controller cloud-node-lifecycle-controller node-route-controller acme-services",
		"service":               "cloud-node-controller cloud-node-lifecycle-controller node-route-controller acme-services",
	} {
		t.Run(without, func(t *testing.T) {
			program := plain
			if without != "" {
				program = programOf(Controller{Name: "acme-services", Alias: "service"})
				program.Without = []string{without}
			}
			o := newProgram(program, ours())
			parse(t, o)
			if err := o.Validate(); err != nil {
				t.Error(err)
			}
			var got []string
			for _, r := range o.enabled() {
				got = append(got, r.Name)
			}
			if diff := cmp.Diff(want, strings.Join(got, " ")); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// A new version of Fairlead may have a controller with the same name as a controller
// of the program. The program still starts, with its own controller and flags.
func TestProgramKeepsItsOwnControllerThatOursIsOffByDefault(t *testing.T) {
	for _, own := range []Controller{{Name: "node-ipam-controller"}, {Name: "nodeipam"}, {Name: "acme", Alias: "nodeipam"}, {Name: "persistent-volume-label"}} {
		program := programOf(own)
		program.Flags.FlagSet("acme").Int("node-cidr-mask-size", 24, "")
		if own.Name == "persistent-volume-label" {
			program.Flags = cliflag.NamedFlagSets{}
		}
		o := newProgram(program, ours())
		parse(t, o, "--controllers="+own.Name)
		if err := o.Validate(); err != nil {
			t.Errorf("%s: %v", own.Name, err)
		}
		if all := o.enabled(); len(all) != 1 || all[0].ours {
			t.Errorf("%s: %v run", own.Name, all)
		}
	}
}

// A program may have had flags with these names before Fairlead had them. It starts
// as before.
func TestProgramKeepsItsOwnFlagsForCIDRs(t *testing.T) {
	for _, name := range []string{"node-cidr-mask-size", "node-cidr-mask-size-ipv4", "node-cidr-mask-size-ipv6", "service-cluster-ip-range", "node_cidr_mask_size"} {
		t.Run(name, func(t *testing.T) {
			made := func(args ...string) (*Program, *int) {
				own := programOf()
				own.Flags = cliflag.NamedFlagSets{}
				size := own.Flags.FlagSet("acme").Int(name, 24, "")
				o := newProgram(own, ours())
				parse(t, o, append(args, "--"+name+"=26")...)
				return o, size
			}
			o, size := made()
			if err := o.Validate(); err != nil || *size != 26 {
				t.Errorf("the program's flag is %d, error %v; want 26", *size, err)
			}
			o, _ = made("--controllers=node-ipam-controller", "--allocate-node-cidrs", "--cluster-cidr=10.0.0.0/8")
			want := "--controllers names node-ipam-controller, which cannot run in this program: --" + strings.ReplaceAll(name, "_", "-") + " is a flag of the program's own"
			if err := o.Validate(); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("got %v, want %s", err, want)
			}
		})
	}
}

func TestProgramIsToldWhenItHasStopped(t *testing.T) {
	for _, tc := range []struct {
		name    string
		stopped func(ctx context.Context)
		why     error
		want    time.Duration
	}{
		{"Nothing", nil, nil, 0},
		{"Returns", func(context.Context) { time.Sleep(time.Second) }, nil, time.Second},
		{"WorksUntilItsContextEnds", func(ctx context.Context) { <-ctx.Done() }, nil, stopTimeout},
		{"ReturnsTooLate", func(context.Context) { time.Sleep(time.Minute) }, nil, stopTimeout},
		{"AfterAFailure", func(context.Context) { time.Sleep(time.Second) }, errors.New("failed"), time.Second},
		{"LeaseIsLost", func(context.Context) { time.Sleep(time.Second) }, fmt.Errorf("end: %w", election.ErrLeaseLost), 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				program := plain
				program.Stopped = tc.stopped
				ended, end := context.WithCancel(t.Context())
				end()
				start := time.Now()
				newProgram(program, nil).stopped(ended, tc.why)
				if got := time.Since(start); got != tc.want {
					t.Errorf("the process waited for %v, want %v", got, tc.want)
				}
				time.Sleep(time.Hour) // synctest requires that the function has returned.
			})
		})
	}
}

func TestOwnFlags(t *testing.T) {
	flags := cliflag.NamedFlagSets{}
	zone := flags.FlagSet("acme").String("acme-zone", "a", "The zone.")
	program := plain
	program.ProviderName = "test"
	program.Flags = flags
	var got string
	program.Provider = func(_ context.Context, d ProviderDeps) (cloudprovider.Interface, error) {
		value, err := d.Flags.GetString("acme-zone")
		got = strings.Join([]string{d.Name, *zone, value}, " ")
		return &providertest.Cloud{}, err
	}
	o := newProgram(program, nil)
	all := pflag.NewFlagSet("", pflag.ContinueOnError)
	o.Settings.AddFlags(all)
	if err := all.Parse([]string{"--acme_zone=b"}); err != nil {
		t.Fatal(err)
	}
	if err := o.Validate(); err != nil {
		t.Error(err)
	}
	if _, err := o.factory(unreachable()).Make(t.Context()); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff("test b b", got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// noting records the names for which clients are made.
type noting struct {
	clientbuilder.SimpleControllerClientBuilder

	note func(string)
}

func (n noting) Client(name string) (kubernetes.Interface, error) {
	n.note("client " + name)
	return n.SimpleControllerClientBuilder.Client(name)
}

// brokenRunner reports that it is stuck.
type brokenRunner struct{ fakeController }

func (*brokenRunner) Live() error { return errors.New("stuck") }

func TestProgramsControllersRunLikeOurs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cloud := &providertest.Cloud{}
		var d diary
		cloud.OnInitialize = func(<-chan struct{}) { d.note("Initialize") }
		cloud.OnSetInformers = func(informers.SharedInformerFactory) { d.note("SetInformers") }
		program := programOf(Controller{Name: "acme-a", Alias: "a", New: func(_ context.Context, given ControllerDeps) (Runner, error) {
			d.note("New")
			if given.Cloud != cloud {
				t.Errorf("got %v, want the provider itself", given.Cloud)
			}
			if given.Client == nil || given.Events == nil || given.Clients == nil || given.Flags == nil {
				t.Errorf("something is missing in %+v", given)
			}
			nodes := given.Informers.Core().V1().Nodes()
			synced := nodes.Informer().HasSynced
			return &brokenRunner{fakeController{run: func(ctx context.Context) error {
				synctest.Wait()
				if _, err := nodes.Lister().Get("n"); err != nil || !synced() {
					t.Errorf("the informers do not run: %v", err)
				}
				d.note("Run")
				<-ctx.Done()
				d.note("over")
				return nil
			}}}, nil
		}}, Controller{Name: "acme-b", New: func(context.Context, ControllerDeps) (Runner, error) { return nil, Skip("the cloud has no such thing") }})
		what := newProgram(program, nil)
		parse(t, what)
		p, ctx := newTestProcessOf(t, cloud, what)
		p.clients.each = noting{clientbuilder.SimpleControllerClientBuilder{ClientConfig: &rest.Config{Host: "http://127.0.0.1:1"}}, d.note}
		theirs := informers.NewSharedInformerFactory(fake.NewClientset(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}}), 0)
		p.use(t, cloud, theirs)
		time.AfterFunc(time.Minute, func() {
			if _, body := get(p, "/healthz?verbose"); body != "[+]acme-a ok\nhealthz check passed\n" {
				t.Errorf("/healthz: %s", body)
			}
			if status, _ := get(p, "/livez"); status != 500 {
				t.Errorf("a stuck controller is not seen: %d", status)
			}
			p.fail(nil)
		})
		if err := election.Hold(ctx, nil, p.lead); err != nil {
			t.Error(err)
		}
		if diff := cmp.Diff([]string{"Initialize", "SetInformers", "client acme-a", "New", "client acme-b", "Run", "over"}, d.entries); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
		theirs.Shutdown()
	})
}

func TestOnlyChosenWebhooksAreServed(t *testing.T) {
	program := plain
	for _, name := range []string{"a", "b"} {
		program.Webhooks = append(program.Webhooks, Webhook{Name: name, Path: "/" + name, Admit: func(context.Context, *admissionv1.AdmissionRequest) (*admissionv1.AdmissionResponse, error) {
			return &admissionv1.AdmissionResponse{}, nil
		}})
	}
	for args, want := range map[string]string{
		"":                "",
		"--webhooks=*":    "/a /b",
		"--webhooks=b":    "/b",
		"--webhooks=*,-a": "/b",
		"--webhooks=-a,a": "",
	} {
		t.Run(args, func(t *testing.T) {
			o := newProgram(program, nil)
			parse(t, o, strings.Fields(args)...)
			var got []string
			for _, w := range o.webhooks() {
				got = append(got, w.Path)
			}
			if diff := cmp.Diff(want, strings.Join(got, " ")); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestGreetingNamesFlagsThatChangeNothing(t *testing.T) {
	logger := ktesting.NewLogger(t, ktesting.NewConfig(ktesting.BufferLogs(true)))
	parsed(t, "--cluster-name=c --allocate-node-cidrs --cidr-allocator-type=RangeAllocator --external-cloud-volume-plugin=x").greet(logger)
	text := logger.GetSink().(ktesting.Underlier).GetBuffer().String()
	for flag, want := range map[string]bool{"allocate-node-cidrs": true, "external-cloud-volume-plugin": true, "cidr-allocator-type": false, "cluster-name": false} {
		if got := strings.Contains(text, `flag="--`+flag+`"`); got != want {
			t.Errorf("--%s is named: %t, want %t, in\n%s", flag, got, want, text)
		}
	}
}
