package skeleton_test

import (
	"context"
	"errors"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/cloud-provider/app"
	"k8s.io/cloud-provider/app/config"
	logsapi "k8s.io/component-base/logs/api/v1"
	cmapp "k8s.io/controller-manager/app"
	"k8s.io/controller-manager/controller"
	"k8s.io/controller-manager/pkg/healthz"

	"github.com/fairlead-k8s/fairlead/ccm"
	"github.com/fairlead-k8s/fairlead/ccm/skeleton"
)

func TestMain(m *testing.M) {
	// Several commands run in one process here, with the same logging flags.
	logsapi.ReapplyHandling = logsapi.ReapplyHandlingIgnoreUnchanged
	os.Exit(m.Run())
}

// cloud is a provider that offers nothing.
type cloud struct{ cloudprovider.Interface }

func (*cloud) HasClusterID() bool                             { return true }
func (*cloud) InstancesV2() (cloudprovider.InstancesV2, bool) { return nil, false }

func (*cloud) Instances() (cloudprovider.Instances, bool) { return nil, false }

func (*cloud) LoadBalancer() (cloudprovider.LoadBalancer, bool) { return nil, false }

func (*cloud) Routes() (cloudprovider.Routes, bool)                              { return nil, false }
func (*cloud) Initialize(cloudprovider.ControllerClientBuilder, <-chan struct{}) {}

// theirs is a controller that a vendor could have written for the skeleton. It has a
// health check.
type theirs struct{ healthz.UnnamedHealthChecker }

func (theirs) Name() string                                  { return "ipam" }
func (t theirs) HealthChecker() healthz.UnnamedHealthChecker { return t.UnnamedHealthChecker }

type check func() error

func (c check) Check(*http.Request) error { return c() }

// run runs the daemon with the controller until ctx ends. There is no API
// server.
func run(ctx context.Context, c ccm.Controller, args ...string) error {
	cmd := ccm.NewCommand(ccm.Options{ //nolint:contextcheck // it gets the context when it runs
		ProviderName: "acme",
		Provider: func(context.Context, ccm.ProviderDeps) (cloudprovider.Interface, error) {
			return &cloud{}, nil
		},
		Controllers: []ccm.Controller{c},
	})
	cmd.SilenceErrors = true
	cmd.SetArgs(append(args, "--leader-elect=false", "--secure-port=0", "--master=http://127.0.0.1:1", "--controllers="+c.Name))
	return cmd.ExecuteContext(ctx)
}

func TestControllerOfTheSkeletonRuns(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	ended := make(chan struct{})
	var got []string
	constructor := app.ControllerInitFuncConstructor{
		InitContext: app.ControllerInitContext{ClientName: "acme-ipam"},
		Constructor: func(i app.ControllerInitContext, c *config.CompletedConfig, provider cloudprovider.Interface) app.InitFunc {
			shared := c.ComponentConfig.KubeCloudShared
			got = append(got, i.ClientName, shared.ClusterName, shared.ClusterCIDR, shared.RouteReconciliationPeriod.Duration.String(),
				strings.Join(c.ComponentConfig.Generic.Controllers, " "))
			if _, ok := provider.(*cloud); !ok {
				t.Errorf("got provider %T, want the provider itself", provider)
			}
			nodes := c.SharedInformers.Core().V1().Nodes()
			if c.ClientBuilder.ClientOrDie(i.ClientName) == nil || c.Kubeconfig.Host != "http://127.0.0.1:1" || nodes.Informer() == nil {
				t.Error("no client, or of another API server")
			}
			return func(ctx context.Context, d cmapp.ControllerContext) (controller.Interface, bool, error) {
				go func() {
					defer close(ended)
					<-d.InformersStarted
					stop()
					<-ctx.Done()
				}()
				return theirs{}, true, nil
			}
		},
	}
	err := run(ctx, skeleton.Controller("ipam", constructor, "allocate-node-cidrs"), "--cluster-name=c", "--cluster-cidr=10.0.0.0/8")
	if err != nil {
		t.Error(err)
	}
	<-ended
	// A flag that is not set has the skeleton's default.
	if diff := cmp.Diff([]string{"acme-ipam", "c", "10.0.0.0/8", "10s", "ipam"}, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestControllerOfTheSkeletonThatFailsEndsTheProcess(t *testing.T) {
	broken := errors.New("broken")
	constructor := app.ControllerInitFuncConstructor{
		Constructor: func(app.ControllerInitContext, *config.CompletedConfig, cloudprovider.Interface) app.InitFunc {
			return func(context.Context, cmapp.ControllerContext) (controller.Interface, bool, error) {
				return nil, false, broken
			}
		},
	}
	if err := run(t.Context(), skeleton.Controller("ipam", constructor)); !errors.Is(err, broken) {
		t.Errorf("got %v, want %v", err, broken)
	}
}

func TestHealthCheckOfAControllerOfTheSkeletonIsAsked(t *testing.T) {
	stuck := errors.New("stuck")
	for _, tc := range []struct {
		name string
		made controller.Interface
		want error
	}{
		{"NoController", nil, nil},
		{"NoCheck", theirs{}, nil},
		{"Well", theirs{check(func() error { return nil })}, nil},
		{"Stuck", theirs{check(func() error { return stuck })}, stuck},
	} {
		t.Run(tc.name, func(t *testing.T) {
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			c := skeleton.Controller("ipam", app.ControllerInitFuncConstructor{
				Constructor: func(app.ControllerInitContext, *config.CompletedConfig, cloudprovider.Interface) app.InitFunc {
					return func(context.Context, cmapp.ControllerContext) (controller.Interface, bool, error) {
						return tc.made, true, nil
					}
				},
			})
			made := c.New
			c.New = func(ctx context.Context, d ccm.ControllerDeps) (ccm.Runner, error) {
				defer stop()
				r, err := made(ctx, d)
				if err != nil {
					return nil, err
				}
				if got := r.(interface{ Live() error }).Live(); !errors.Is(got, tc.want) {
					t.Errorf("got %v, want %v", got, tc.want)
				}
				return r, nil
			}
			if err := run(ctx, c); err != nil {
				t.Error(err)
			}
		})
	}
}
