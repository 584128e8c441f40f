package ccm_test

import (
	"context"
	"errors"
	"fmt"

	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	cloudprovider "k8s.io/cloud-provider"
	cliflag "k8s.io/component-base/cli/flag"

	"github.com/fairlead-k8s/fairlead/ccm"
)

// acme is a provider that wants to know the nodes of the cluster.
type acme struct {
	cloudprovider.Interface

	zone  string
	nodes corelisters.NodeLister
}

// A provider that the program makes itself, from a flag and a lister.
func ExampleOptions_provider() {
	var flags cliflag.NamedFlagSets
	zone := flags.FlagSet("acme").String("acme-zone", "north", "The zone of this cluster.")
	ccm.MainWith(ccm.Options{
		Name:         "acme-cloud-controller-manager",
		ProviderName: "acme",
		Flags:        flags,
		Provider: func(_ context.Context, d ccm.ProviderDeps) (cloudprovider.Interface, error) {
			return &acme{zone: *zone, nodes: d.Informers.Core().V1().Nodes().Lister()}, nil
		},
	})
}

// A provider that registers itself, and whose concrete value the program uses
// later.
func ExampleProviderDeps_Registered() {
	ccm.MainWith(ccm.Options{
		Provider: func(_ context.Context, d ccm.ProviderDeps) (cloudprovider.Interface, error) {
			cloud, err := d.Registered()
			if err != nil {
				return nil, err
			}
			mine, ok := cloud.(*acme)
			if !ok {
				return nil, fmt.Errorf("--cloud-provider: %q is not ours", d.Name)
			}
			mine.nodes = d.Informers.Core().V1().Nodes().Lister()
			return mine, nil
		},
	})
}

// labeler reports nodes without a zone.
type labeler struct {
	nodes  corelisters.NodeLister
	synced cache.InformerSynced
	warn   func(*corev1.Node)
}

func (l *labeler) Run(ctx context.Context) error {
	if !cache.WaitForCacheSync(ctx.Done(), l.synced) {
		return nil // The daemon is stopping.
	}
	all, err := l.nodes.List(labels.Everything())
	for _, n := range all {
		if n.Labels[corev1.LabelTopologyZone] == "" {
			l.warn(n)
		}
	}
	<-ctx.Done()
	return err
}

// A controller that runs beside Fairlead's own. It can be switched off with
// --controllers=*,-acme-zone-controller.
func ExampleController() {
	ccm.MainWith(ccm.Options{
		Controllers: []ccm.Controller{{
			Name: "acme-zone-controller",
			New: func(_ context.Context, d ccm.ControllerDeps) (ccm.Runner, error) {
				if _, ok := d.Cloud.(*acme); !ok {
					return nil, ccm.Skip("the provider has no zones")
				}
				nodes := d.Informers.Core().V1().Nodes()
				return &labeler{
					nodes:  nodes.Lister(),
					synced: nodes.Informer().HasSynced,
					warn: func(n *corev1.Node) {
						d.Events.Event(n, corev1.EventTypeWarning, "ZoneUnknown", "The cloud knows no zone of this node.")
					},
				}, nil
			},
		}},
	})
}

// A webhook that refuses a request which the cloud would refuse later.
// --webhooks=acme-services switches it on. The API server needs a webhook
// configuration for it.
func ExampleWebhook() {
	ccm.MainWith(ccm.Options{
		Webhooks: []ccm.Webhook{{
			Name: "acme-services",
			Path: "/validate-services",
			Admit: func(_ context.Context, r *admissionv1.AdmissionRequest) (*admissionv1.AdmissionResponse, error) {
				if r.Resource.Resource != "services" {
					return nil, errors.New("only Services are sent here")
				}
				return &admissionv1.AdmissionResponse{Allowed: true}, nil
			},
		}},
	})
}
