package cloud

import (
	"context"
	"errors"
	"io"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/client-go/informers"
	cloudprovider "k8s.io/cloud-provider"
)

func TestCodeThatHangsIsWaitedForUntilItsContextEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 2*guardNotice)
		defer cancel()
		release := make(chan struct{})
		defer close(release)
		err := guard(ctx, "factory", func() error { <-release; return nil })
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v, want the end of the context", err)
		}
	})
}

func TestCodeThatFailsIsAnError(t *testing.T) {
	for _, tt := range []struct {
		name string
		code func() error
		want string
	}{
		{"Error", func() error { return errors.New("no credentials") }, "no credentials"},
		{"Panic", func() error { panic("broken") }, "factory panicked: broken"},
		{"EndOfTheGoroutine", func() error { runtime.Goexit(); return nil }, "factory: the provider's code ended the goroutine"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if err := guard(t.Context(), "factory", tt.code); err == nil || err.Error() != tt.want {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}

func TestMake(t *testing.T) {
	for _, tt := range []struct {
		name    string
		factory Factory
		want    string // the error; "" means that there is a provider and no error
	}{
		{"Provider", func(context.Context) (cloudprovider.Interface, error) { return &starting{clusterID: true}, nil }, ""},
		{"Error", func(context.Context) (cloudprovider.Interface, error) { return nil, errors.New("no credentials") }, "no credentials"},
		{"Nil", func(context.Context) (cloudprovider.Interface, error) { return nil, nil }, "the factory returned no provider"},
		{"TypedNil", func(context.Context) (cloudprovider.Interface, error) { return (*starting)(nil), nil }, "the factory returned no provider"},
		{"PanicInHasClusterID", func(context.Context) (cloudprovider.Interface, error) {
			return struct{ cloudprovider.Interface }{}, nil
		}, "factory panicked: "},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p, err := Make(t.Context(), tt.factory)
			switch {
			case tt.want == "":
				if err != nil || !p.HasClusterID() || p.Unwrap() == nil || p.CanReload() {
					t.Errorf("made %+v, error %v", p, err)
				}
			case err == nil || !strings.HasPrefix(err.Error(), tt.want) || p != nil:
				t.Errorf("made %v, error %v, want %q", p, err, tt.want)
			}
		})
	}
}

// starting is a provider whose methods call functions of the test. So a test
// decides how long the start takes.
type starting struct {
	vendor

	clusterID    bool
	initialize   func(stop <-chan struct{})
	setInformers func()
}

func (s *starting) HasClusterID() bool { return s.clusterID }

func (s *starting) Initialize(_ cloudprovider.ControllerClientBuilder, stop <-chan struct{}) {
	s.initialize(stop)
}

func (s *starting) SetInformers(informers.SharedInformerFactory) { s.setInformers() }

// The lease must not be released while the provider may be changing things.
func TestStartIsWaitedForAfterTheEndOfTheLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		ended := false
		p := wrap(&starting{
			initialize:   func(stop <-chan struct{}) { <-stop; ended = true; time.Sleep(time.Hour) },
			setInformers: func() { time.Sleep(time.Hour) },
		})
		began := time.Now()
		if err := p.Initialize(ctx, nil); err != nil || !ended {
			t.Errorf("error %v; told that the lease has ended: %v", err, ended)
		}
		if err := p.SetInformers(ctx, nil); err != nil {
			t.Error(err)
		}
		if took := time.Since(began); took != 2*time.Hour {
			t.Errorf("waited for %v, want until the provider has returned", took)
		}
	})
}

func TestProviderWithoutInformersGetsNone(t *testing.T) {
	if err := wrap(vendor{}).SetInformers(t.Context(), nil); err != nil {
		t.Error(err)
	}
}

// reloading is a provider that accepts a new configuration.
type reloading struct {
	vendor

	reload func() error
}

func (r reloading) Reload(context.Context, io.Reader) error { return r.reload() }

func TestReloadsDoNotOverlap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		p := wrap(reloading{reload: func() error { <-release; return nil }})
		if !p.CanReload() {
			t.Fatal("it takes no other configuration")
		}
		closed := 0
		reload := func() error {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			return p.Reload(ctx, nil, func() { closed++ })
		}
		if err := reload(); !errors.Is(err, context.DeadlineExceeded) || closed != 0 {
			t.Errorf("error %v, want the file to stay open while it may be read", err)
		}
		if err := reload(); err == nil || !strings.Contains(err.Error(), "has not returned yet") || closed != 1 {
			t.Errorf("error %v, want the second Reload to be refused and its file closed", err)
		}
		close(release)
		synctest.Wait()
		if err := reload(); err != nil || closed != 3 {
			t.Errorf("error %v after %d files were closed, want a third Reload once the first has returned", err, closed)
		}
	})
}
