package ccm

import (
	"context"
	"reflect"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"
	cliflag "k8s.io/component-base/cli/flag"

	"github.com/fairlead-k8s/fairlead/provider"
)

// A field that was forgotten would have no effect, and nobody would notice.
func TestDaemonGetsEachOption(t *testing.T) {
	var flags cliflag.NamedFlagSets
	flags.FlagSet("acme")
	o := Options{
		Name: "acme-ccm", Version: "v1", ProviderName: "acme", Defaults: map[string]string{"v": "2"},
		Provider: func(context.Context, ProviderDeps) (cloudprovider.Interface, error) { return nil, nil }, //nolint:nilnil // not called
		Classify: provider.Classify,
		Flags:    flags,
		Nodes:    func(*corev1.Node) bool { return true },
		Without:  []string{"route"}, With: []string{"nodeipam"}, ClientNames: map[string]string{"service": "acme"},
		Controllers: []Controller{{
			Name: "a", Alias: "b", ClientName: "c", OffByDefault: true, Flags: []string{"f"},
			New: func(context.Context, ControllerDeps) (Runner, error) { return nil, Skip("not called") },
		}},
		Webhooks: []Webhook{{Name: "w", Path: "/w", Admit: func(context.Context, *admissionv1.AdmissionRequest) (*admissionv1.AdmissionResponse, error) {
			return nil, nil //nolint:nilnil // not called
		}}},
		Metrics: []prometheus.Gatherer{prometheus.NewRegistry()},
		Stopped: func(context.Context) {},
	}
	all(t, "Options", reflect.ValueOf(o))
	got := o.program()
	all(t, "the daemon's Options", reflect.ValueOf(got))
	all(t, "Controller", reflect.ValueOf(got.Controllers[0]))
	all(t, "Webhook", reflect.ValueOf(got.Webhooks[0]))
}

// all fails for each field that has no value.
func all(t *testing.T, what string, v reflect.Value) {
	t.Helper()
	for field, value := range v.Fields() {
		if value.IsZero() {
			t.Errorf("%s has no %s", what, field.Name)
		}
	}
}
