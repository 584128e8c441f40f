package app

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/rest"
	cloudprovider "k8s.io/cloud-provider"
	cliflag "k8s.io/component-base/cli/flag"
	"k8s.io/controller-manager/pkg/clientbuilder"
)

// programOf is one that adds controllers, each of which runs until it is
// stopped.
func programOf(cs ...Controller) Program {
	p := ours
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
		o := newOptions(program, table{register("x", nil)})
		if err := flagSet(o).Parse(strings.Fields("--cloud-provider=test " + args)); err != nil {
			t.Fatal(err)
		}
		if err := o.validate(); err != nil {
			t.Errorf("%q: %v", args, err)
		}
		var got []string
		for _, r := range o.controllers.enabled() {
			got = append(got, r.name)
		}
		if diff := cmp.Diff(want, strings.Join(got, " ")); diff != "" {
			t.Errorf("%q (-want +got):\n%s", args, diff)
		}
	}
}

func TestWrongPrograms(t *testing.T) {
	flags := cliflag.NamedFlagSets{}
	flags.FlagSet("acme").String("kubeconfig", "", "")
	for _, tc := range []struct {
		name    string
		program Program
		want    string
	}{
		{"NameIsTaken", programOf(Controller{Name: "cloud-node"}), `the program has two controllers that are called "cloud-node"`},
		{"AliasIsTaken", programOf(Controller{Name: "acme-a", Alias: "service"}), `the program has two controllers that are called "service"`},
		{"Twice", programOf(Controller{Name: "acme-a"}, Controller{Name: "acme-a"}), `the program has two controllers that are called "acme-a"`},
		{"NoName", Program{Name: "x", Controllers: []Controller{{}}}, `the program's controller "" needs a name and a function that makes it`},
		{"FlagIsTaken", Program{Name: "x", Flags: flags}, "the program's own flag --kubeconfig exists already"},
		{"WebhookWithoutAFunction", Program{Name: "x", Webhooks: []Webhook{{Name: "w", Path: "/w"}}}, `the program's webhook "w" needs a name, a path that begins with / and a function`},
		{"WebhookWithAnotherPath", Program{Name: "x", Webhooks: []Webhook{{Name: "w", Path: "w"}}}, `the program's webhook "w" needs a name, a path that begins with / and a function`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			o := newOptions(tc.program, controllers)
			if err := flagSet(o).Parse([]string{"--cloud-provider=test"}); err != nil {
				t.Fatal(err)
			}
			if err := o.validate(); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want %s", err, tc.want)
			}
		})
	}
}

func TestOwnFlags(t *testing.T) {
	flags := cliflag.NamedFlagSets{}
	zone := flags.FlagSet("acme").String("acme-zone", "a", "The zone.")
	program := ours
	program.ProviderName = "test"
	program.Flags = flags
	var got string
	program.Provider = func(_ context.Context, d ProviderDeps) (cloudprovider.Interface, error) {
		value, err := d.Flags.GetString("acme-zone")
		got = strings.Join([]string{d.Name, *zone, value}, " ")
		return &fakeCloud{}, err
	}
	o := newOptions(program, nil)
	if err := flagSet(o).Parse([]string{"--acme_zone=b"}); err != nil {
		t.Fatal(err)
	}
	if err := o.validate(); err != nil {
		t.Error(err)
	}
	if _, err := o.build(t.Context(), nobody()); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff("test b b", got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// A provider that is made by a function with a lister, as some are.
func TestProviderByFunction(t *testing.T) {
	program := ours
	made := &fakeCloud{}
	var making context.Context
	program.Provider = func(ctx context.Context, d ProviderDeps) (cloudprovider.Interface, error) {
		making = ctx
		if d.Informers.Core().V1().Nodes().Lister() == nil {
			return nil, errors.New("no lister")
		}
		if _, err := d.Clients.Config("acme"); err != nil {
			return nil, err
		}
		if d.Config != nil {
			return nil, errors.New("a file that nobody gave")
		}
		return made, nil
	}
	o := newOptions(program, nil)
	if err := flagSet(o).Parse([]string{"--cloud-provider=not-registered"}); err != nil {
		t.Fatal(err)
	}
	got, err := o.build(t.Context(), nobody())
	if err != nil {
		t.Fatal(err)
	}
	if got.cloud.Unwrap() != made {
		t.Errorf("got %v, want the provider itself", got.cloud.Unwrap())
	}
	if making.Err() == nil {
		t.Error("the context of the making lasts, and would not after a change of the configuration")
	}
}

// noting notes whose clients are asked for.
type noting struct {
	clientbuilder.SimpleControllerClientBuilder

	note func(string)
}

func (n noting) Client(name string) (kubernetes.Interface, error) {
	n.note("client " + name)
	return n.SimpleControllerClientBuilder.Client(name)
}

// brokenRunner says that it is stuck.
type brokenRunner struct{ fakeController }

func (*brokenRunner) Live() error { return errors.New("stuck") }

func TestProgramsControllersRunLikeOurs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cloud := &fakeCloud{}
		var d diary
		cloud.initialize = func(<-chan struct{}) { d.note("Initialize") }
		cloud.setInformers = func(informers.SharedInformerFactory) { d.note("SetInformers") }
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
		p, ctx := newTestProcess(t, cloud, nil)
		p.clients.each = noting{clientbuilder.SimpleControllerClientBuilder{ClientConfig: &rest.Config{Host: "http://127.0.0.1:1"}}, d.note}
		p.options = newOptions(program, nil)
		p.options.flags()
		p.holder.built.informers = informers.NewSharedInformerFactory(fake.NewClientset(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}}), 0)
		time.AfterFunc(time.Minute, func() {
			if _, body := get(p.health.healthz, "/healthz?verbose"); body != "[+]acme-a ok\nhealthz check passed\n" {
				t.Errorf("/healthz: %s", body)
			}
			if status, _ := get(p.health.livez, "/livez"); status != 500 {
				t.Errorf("a stuck controller is not seen: %d", status)
			}
			p.fail(nil)
		})
		if err := hold(ctx, nil, p.lead); err != nil {
			t.Error(err)
		}
		if diff := cmp.Diff([]string{"Initialize", "SetInformers", "client acme-a", "New", "client acme-b", "Run", "over"}, d.entries); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
		p.holder.built.informers.Shutdown()
	})
}
