package skeleton

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/kubernetes"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/record"
	"k8s.io/cloud-provider/app/config"
	"k8s.io/cloud-provider/options"
	cliflag "k8s.io/component-base/cli/flag"
	controllermetrics "k8s.io/component-base/metrics/prometheus/controllers"
	cmapp "k8s.io/controller-manager/app"
	"k8s.io/controller-manager/pkg/clientbuilder"
	"k8s.io/controller-manager/pkg/informerfactory"

	"github.com/fairlead-k8s/fairlead/ccm"
)

// managerName is the skeleton's user agent.
const managerName = options.CloudControllerManagerUserAgent

// completed returns the skeleton's configuration.
func completed(ctx context.Context, d ccm.ControllerDeps) (*config.CompletedConfig, error) {
	kubeconfig, err := d.Clients.Config(managerName)
	if err != nil {
		return nil, fmt.Errorf("client: %w", err)
	}
	client, err := kubernetes.NewForConfig(kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("client: %w", err)
	}
	events := record.NewBroadcaster(record.WithContext(ctx))
	events.StartRecordingToSink(&typedcorev1.EventSinkImpl{Interface: client.CoreV1().Events("")})
	c := &config.Config{
		Client:           client,
		Kubeconfig:       kubeconfig,
		EventBroadcaster: events,
		EventRecorder:    d.Events,
		ClientBuilder:    d.Clients,
		VersionedClient:  client,
		SharedInformers:  d.Informers,
	}
	if err := configure(c, d.Flags); err != nil {
		return nil, err
	}
	return c.Complete(), nil
}

// configure sets the values of the flags in the configuration.
func configure(c *config.Config, given *pflag.FlagSet) error {
	o, err := options.NewCloudControllerManagerOptions()
	if err != nil {
		return fmt.Errorf("options of the skeleton: %w", err)
	}
	var theirs cliflag.NamedFlagSets
	o.Generic.AddFlags(&theirs, nil, nil, nil)
	shared := theirs.FlagSet("generic")
	o.KubeCloudShared.AddFlags(shared)
	o.NodeController.AddFlags(shared)
	o.NodeLifecycleController.AddFlags(shared)
	o.ServiceController.AddFlags(shared)
	shared.DurationVar(&o.NodeStatusUpdateFrequency.Duration, "node-status-update-frequency", o.NodeStatusUpdateFrequency.Duration, "")
	shared.StringVar(&o.Generic.ClientConnection.Kubeconfig, "kubeconfig", "", "")
	for _, fs := range theirs.FlagSets {
		if err := copyFlags(fs, given); err != nil {
			return err
		}
	}
	to := &c.ComponentConfig
	to.NodeStatusUpdateFrequency = o.NodeStatusUpdateFrequency
	for _, apply := range []func() error{
		func() error { return o.Generic.ApplyTo(&to.Generic, nil, nil, nil) },
		func() error { return o.KubeCloudShared.ApplyTo(&to.KubeCloudShared) },
		func() error { return o.NodeController.ApplyTo(&to.NodeController) },
		func() error { return o.NodeLifecycleController.ApplyTo(&to.NodeLifecycleController) },
		func() error { return o.ServiceController.ApplyTo(&to.ServiceController) },
	} {
		if err := apply(); err != nil {
			return fmt.Errorf("configuration of the skeleton: %w", err)
		}
	}
	return nil
}

// copyFlags sets the flags of the first set to the values that the flags of the same
// name have in the second set. If a flag is missing in the second set, or is not set
// there, copyFlags leaves it alone.
func copyFlags(to, given *pflag.FlagSet) error {
	var err error
	to.VisitAll(func(f *pflag.Flag) {
		from := given.Lookup(f.Name)
		if err != nil || from == nil || (!from.Changed && from.Value.String() == from.DefValue) {
			return
		}
		list, isList := from.Value.(pflag.SliceValue)
		target, takesList := f.Value.(pflag.SliceValue)
		if isList && takesList {
			err = target.Replace(list.GetSlice())
		} else {
			err = f.Value.Set(from.Value.String())
		}
		if err != nil {
			err = fmt.Errorf("--%s: %w", f.Name, err)
		}
	})
	return err
}

// controllerContext returns the context that the skeleton gives to each controller
// at its start.
func controllerContext(ctx context.Context, d ccm.ControllerDeps, c *config.CompletedConfig) (cmapp.ControllerContext, error) {
	var builder clientbuilder.ControllerClientBuilder = clientbuilder.SimpleControllerClientBuilder{ClientConfig: c.Kubeconfig}
	if own, ok := d.Clients.(clientbuilder.ControllerClientBuilder); ok {
		builder = own
	}
	metadataClient, err := metadata.NewForConfig(c.Kubeconfig)
	if err != nil {
		return cmapp.ControllerContext{}, fmt.Errorf("client of metadata: %w", err)
	}
	resync := func() time.Duration {
		return time.Duration((1 + rand.Float64()) * float64(c.ComponentConfig.Generic.MinResyncPeriod.Duration)) //nolint:gosec // no secret
	}
	mapper := restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(c.Client.Discovery()))
	go wait.UntilWithContext(ctx, func(context.Context) { mapper.Reset() }, 30*time.Second)
	return cmapp.ControllerContext{
		ClientBuilder:                   builder,
		InformerFactory:                 d.Informers,
		ObjectOrMetadataInformerFactory: informerfactory.NewInformerFactory(d.Informers, metadatainformer.NewSharedInformerFactory(metadataClient, resync())),
		RESTMapper:                      mapper,
		Stop:                            ctx.Done(),
		InformersStarted:                make(chan struct{}),
		ResyncPeriod:                    resync,
		ControllerManagerMetrics:        controllermetrics.NewControllerManagerMetrics(managerName),
	}, nil
}
