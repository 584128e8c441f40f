package app

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/client-go/informers"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/fairlead-k8s/fairlead/internal/cloud"
)

// fakeCloud is a provider that offers nothing. Its functions may be nil.
type fakeCloud struct {
	cloudprovider.Interface

	untagged     bool
	config       string
	initialize   func(stop <-chan struct{})
	setInformers func(informers.SharedInformerFactory)
	accessor     func()
	instances    cloudprovider.InstancesV2
}

func (f *fakeCloud) InstancesV2() (cloudprovider.InstancesV2, bool) {
	if f.accessor != nil {
		f.accessor()
	}
	return f.instances, f.instances != nil
}

func (f *fakeCloud) Instances() (cloudprovider.Instances, bool)       { return nil, false }
func (f *fakeCloud) LoadBalancer() (cloudprovider.LoadBalancer, bool) { return nil, false }
func (f *fakeCloud) Routes() (cloudprovider.Routes, bool)             { return nil, false }

func (f *fakeCloud) HasClusterID() bool { return !f.untagged }

func (f *fakeCloud) Initialize(_ cloudprovider.ControllerClientBuilder, stop <-chan struct{}) {
	if f.initialize != nil {
		f.initialize(stop)
	}
}

func (f *fakeCloud) SetInformers(factory informers.SharedInformerFactory) {
	if f.setInformers != nil {
		f.setInformers(factory)
	}
}

func registerTestProviders() {
	for name, factory := range map[string]cloudprovider.Factory{
		"test":     func(io.Reader) (cloudprovider.Interface, error) { return &fakeCloud{}, nil },
		"untagged": func(io.Reader) (cloudprovider.Interface, error) { return &fakeCloud{untagged: true}, nil },
		"failing":  func(io.Reader) (cloudprovider.Interface, error) { return nil, errors.New("no credentials") },
		"nil":      func(io.Reader) (cloudprovider.Interface, error) { return nil, nil },
		"typednil": func(io.Reader) (cloudprovider.Interface, error) { return (*fakeCloud)(nil), nil },
		"panicking": func(io.Reader) (cloudprovider.Interface, error) {
			panic("broken")
		},
		"reading": func(config io.Reader) (cloudprovider.Interface, error) {
			if config == nil {
				return &fakeCloud{config: "none"}, nil
			}
			b, err := io.ReadAll(config)
			return &fakeCloud{config: string(b)}, err
		},
	} {
		cloudprovider.RegisterCloudProvider(name, factory)
	}
}

// made is a provider that a factory has returned.
func made(t *testing.T, theirs cloudprovider.Interface) *cloud.Provider {
	t.Helper()
	p, err := cloud.Make(t.Context(), func(context.Context) (cloudprovider.Interface, error) { return theirs, nil })
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func build(t *testing.T, args string) (built, error) {
	t.Helper()
	return parsed(t, args).build(t.Context(), nobody())
}

func TestFactory(t *testing.T) {
	for _, tc := range []struct {
		name string
		args string
		want string // part of the error; "": a provider
	}{
		{"Works", "--cloud-provider=test", ""},
		{"NotLinked", "--cloud-provider=nowhere", `--cloud-provider: "nowhere" is not linked into this binary: its main.go needs a blank import`},
		{"ExternalIsNoProvider", "--cloud-provider=external", "not linked into this binary"},
		{"Fails", "--cloud-provider=failing", `cloud provider "failing": no credentials`},
		{"ReturnsNil", "--cloud-provider=nil", `cloud provider "nil": the factory returned no provider`},
		{"ReturnsTypedNil", "--cloud-provider=typednil", `cloud provider "typednil": the factory returned no provider`},
		{"Panics", "--cloud-provider=panicking", `cloud provider "panicking": factory panicked: broken`},
		{"UnreadableConfig", "--cloud-provider=test --cloud-config=/nowhere/cloud.conf", "--cloud-config: open /nowhere/cloud.conf: no such file or directory"},
		{"NoClusterID", "--cloud-provider=untagged", "no cluster ID found"},
		{"NoClusterIDButAllowed", "--cloud-provider=untagged --allow-untagged-cloud", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := build(t, tc.args)
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
	for args, want := range map[string]string{"": "none", "--cloud-config=" + file: "region: east"} {
		provider, err := build(t, "--cloud-provider=reading "+args)
		if err != nil {
			t.Fatal(err)
		}
		if got := provider.cloud.Unwrap().(*fakeCloud).config; got != want {
			t.Errorf("%q: the factory read %q, want %q", args, got, want)
		}
	}
}

func TestFactoryThatReturnsTooLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		release := make(chan struct{})
		o := parsed(t, "--cloud-provider=test")
		o.program.Provider = func(context.Context, ProviderDeps) (cloudprovider.Interface, error) {
			<-release
			return &fakeCloud{}, nil
		}
		got, err := o.build(ctx, nobody())
		close(release) // It writes what it has made beside us.
		if (got != built{}) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v and %v", got, err)
		}
	})
}
