package provider

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/rest"
	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/controller-manager/pkg/clientbuilder"

	"github.com/fairlead-k8s/fairlead/internal/controller/message"
	"github.com/fairlead-k8s/fairlead/internal/daemon/provider/providertest"
	"github.com/fairlead-k8s/fairlead/internal/testlog"
)

func registerTestProviders() {
	for name, factory := range map[string]cloudprovider.Factory{
		"test":     func(io.Reader) (cloudprovider.Interface, error) { return &providertest.Cloud{}, nil },
		"untagged": func(io.Reader) (cloudprovider.Interface, error) { return &providertest.Cloud{Untagged: true}, nil },
		"failing":  func(io.Reader) (cloudprovider.Interface, error) { return nil, errors.New("no credentials") },
		"nil":      func(io.Reader) (cloudprovider.Interface, error) { return nil, nil },
		"typednil": func(io.Reader) (cloudprovider.Interface, error) { return (*providertest.Cloud)(nil), nil },
		"panicking": func(io.Reader) (cloudprovider.Interface, error) {
			panic("broken")
		},
		"reading": func(config io.Reader) (cloudprovider.Interface, error) {
			if config == nil {
				return &providertest.Cloud{Config: "none"}, nil
			}
			b, err := io.ReadAll(config)
			return &providertest.Cloud{Config: string(b)}, err
		},
	} {
		cloudprovider.RegisterCloudProvider(name, factory)
	}
}

func TestMain(m *testing.M) {
	registerTestProviders()
	testlog.Run(m)
}

// factoryOf returns the factory of the provider, with a configuration file unless file
// is "".
func factoryOf(name, file string) *Factory {
	return &Factory{Name: name, ConfigFile: file, Informers: func() (informers.SharedInformerFactory, error) {
		return informers.NewSharedInformerFactory(fake.NewClientset(), 0), nil
	}}
}

func TestFactory(t *testing.T) {
	for _, tc := range []struct {
		name     string
		provider string
		file     string
		allow    bool   // a provider without a cluster ID is accepted
		want     string // part of the error; "": the factory returns a provider
	}{
		{"Works", "test", "", false, ""},
		{"NotLinked", "nowhere", "", false, `--cloud-provider: "nowhere" is not linked into this binary: its main.go needs a blank import`},
		{"ExternalIsNoProvider", "external", "", false, "not linked into this binary"},
		{"Fails", "failing", "", false, `cloud provider "failing" without --cloud-config: no credentials`},
		{"ReturnsNil", "nil", "", false, `cloud provider "nil" without --cloud-config: the factory returned no provider`},
		{"ReturnsTypedNil", "typednil", "", false, `cloud provider "typednil" without --cloud-config: the factory returned no provider`},
		{"Panics", "panicking", "", false, `cloud provider "panicking" without --cloud-config: factory panicked: broken`},
		{"UnreadableConfig", "test", "/nowhere/cloud.conf", false, "--cloud-config: open /nowhere/cloud.conf: no such file or directory"},
		{"NoClusterID", "untagged", "", false, "no cluster ID found"},
		{"NoClusterIDButAllowed", "untagged", "", true, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f := factoryOf(tc.provider, tc.file)
			f.AllowUntagged = tc.allow
			_, err := f.Make(t.Context())
			var got string
			if err != nil {
				got = err.Error()
			}
			if (tc.want == "") != (got == "") || !strings.Contains(got, tc.want) {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

func TestFactoryGetsTheConfigFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "cloud.conf")
	if err := os.WriteFile(file, []byte("region: east"), 0o600); err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]string{"": "none", file: "region: east"} {
		made, err := factoryOf("reading", file).Make(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if got := made.Cloud.Unwrap().(*providertest.Cloud).Config; got != want {
			t.Errorf("%q: the factory read %q, want %q", file, got, want)
		}
	}
}

func TestFactoryThatReturnsTooLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		release := make(chan struct{})
		f := factoryOf("test", "")
		f.New = func(context.Context, Deps) (cloudprovider.Interface, error) {
			<-release
			return &providertest.Cloud{}, nil
		}
		got, err := f.Make(ctx)
		close(release) // Now the factory returns, while the test reads got.
		if got.Cloud != nil || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v and %v", got, err)
		}
	})
}

// A program can make its provider with a function. The function can use the
// informers and clients that it gets.
func TestProviderByFunction(t *testing.T) {
	made := &providertest.Cloud{}
	var making context.Context
	f := factoryOf("not-registered", "")
	f.Clients = clientbuilder.SimpleControllerClientBuilder{ClientConfig: &rest.Config{Host: "http://127.0.0.1:1"}}
	f.New = func(ctx context.Context, d Deps) (cloudprovider.Interface, error) {
		making = ctx
		if d.Informers.Core().V1().Nodes().Lister() == nil {
			return nil, errors.New("no lister")
		}
		if _, err := d.Clients.Config("acme"); err != nil {
			return nil, err
		}
		if d.Config != nil {
			return nil, errors.New("a file although there is none")
		}
		return made, nil
	}
	got, err := f.Make(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got.Cloud.Unwrap() != made {
		t.Errorf("got %v, want the provider itself", got.Cloud.Unwrap())
	}
	if making.Err() == nil {
		t.Error("the context has not ended although the provider is made")
	}
}

// lasting returns a function that makes a provider. That function also records the
// context Deps.Lasting in the slice into.
func lasting(into *[]context.Context, err error) func(context.Context, Deps) (cloudprovider.Interface, error) {
	return func(_ context.Context, d Deps) (cloudprovider.Interface, error) {
		*into = append(*into, d.Lasting)
		return &providertest.Cloud{}, err
	}
}

func TestWhatAProviderStartsLastsAsLongAsItIsInUse(t *testing.T) {
	for _, tc := range []struct {
		name  string
		leads bool
		err   error
		want  [2]bool // whether the contexts of the first and the second provider are still valid
	}{
		{"StandbyDropsTheFirst", false, nil, [2]bool{false, true}},
		{"LeaderDropsTheSecond", true, nil, [2]bool{true, false}},
		{"RefusedIsDropped", false, errRefused, [2]bool{true, false}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var started []context.Context
			f := factoryOf("", "")
			f.New = lasting(&started, nil)
			making, made := context.WithCancel(t.Context())
			first, err := f.Make(making)
			if err != nil {
				t.Fatal(err)
			}
			made()
			c := NewCurrent(f, first, time.Minute, Self{})
			if tc.leads {
				c.Take()
			}
			f.New = lasting(&started, tc.err)
			if _, err := c.rotate(t.Context()); !errors.Is(err, tc.err) {
				t.Fatal(err)
			}
			if got := [2]bool{started[0].Err() == nil, started[1].Err() == nil}; got != tc.want {
				t.Errorf("they last: %v, want %v", got, tc.want)
			}
			c.Drop()
			if started[0].Err() == nil || started[1].Err() == nil {
				t.Error("something lasts although no provider is in use")
			}
		})
	}
}

func TestProviderAsksForItsConfiguration(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asks []func()
		f := factoryOf("", "")
		f.Asked = make(chan struct{}, 1)
		f.New = func(_ context.Context, d Deps) (cloudprovider.Interface, error) {
			asks = append(asks, d.Changed)
			return &providertest.Cloud{}, nil
		}
		first, err := f.Make(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		asks[0]() // before anybody reads the requests
		asks[0]()
		c := NewCurrent(f, first, time.Minute, Self{})
		r := NewRotation(nil, "", c, NewMetrics(registerAnew))
		ctx, stop := context.WithCancel(t.Context())
		var events []string
		go r.Run(ctx, 0, Reports{Event: func(e message.Event) { events = append(events, e.Reason) }})
		synctest.Wait()
		if len(asks) != 2 || !slices.Equal(events, []string{"CloudConfigApplied"}) {
			t.Errorf("%d providers made, events %v", len(asks), events)
		}
		asks[0]() // This provider is no longer in use.
		synctest.Wait()
		if len(asks) != 2 {
			t.Error("a provider that was dropped was listened to")
		}
		stop()
		synctest.Wait()
	})
}

func TestProviderInformersAreInSyncBeforeTheFirstCall(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	factory := informers.NewSharedInformerFactory(fake.NewClientset(), 0)
	nodes := factory.Core().V1().Nodes().Informer()
	startInformers(ctx, factory)
	if !nodes.HasSynced() {
		t.Error("the provider's informer is not in sync")
	}
	cancel()
	factory.Shutdown()
}
