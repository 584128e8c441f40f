package cloud

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/fairlead-k8s/fairlead/test/quirks"
)

func TestTypedNilIsUnsupported(t *testing.T) {
	if i := gateway(t, vendor{v2: metadata(nil), v1: (*oldVendor)(nil)}, Config{}).Instances(); i != nil {
		t.Error("typed nils are taken for instances")
	}
	if i := gateway(t, vendor{}, Config{}).Instances(); i != nil {
		t.Error("a provider without instances has some")
	}
}

func TestAccessorThatPanicsIsAnError(t *testing.T) {
	if _, err := wrap(struct{ cloudprovider.Interface }{}).Open(t.Context(), Config{}); err == nil || !strings.Contains(err.Error(), "panicked") {
		t.Errorf("New = %v, want the panic as an error", err)
	}
}

// counting counts how often each accessor is called. In some providers, each call of an
// accessor builds a new client.
type counting struct {
	vendor

	asked map[string]int
}

func (c counting) InstancesV2() (cloudprovider.InstancesV2, bool) {
	c.asked["InstancesV2"]++
	return c.vendor.InstancesV2()
}

func (c counting) LoadBalancer() (cloudprovider.LoadBalancer, bool) {
	c.asked["LoadBalancer"]++
	return c.vendor.LoadBalancer()
}

func (c counting) Routes() (cloudprovider.Routes, bool) {
	c.asked["Routes"]++
	return c.vendor.Routes()
}

func TestAccessorsAreAskedOnce(t *testing.T) {
	asked := map[string]int{}
	v := vendor{
		v2: metadata(func(context.Context, *corev1.Node) (*cloudprovider.InstanceMetadata, error) {
			return &cloudprovider.InstanceMetadata{}, nil
		}),
		balancer: balancer(func(context.Context, string, *corev1.Service, []*corev1.Node) (*corev1.LoadBalancerStatus, error) {
			return &corev1.LoadBalancerStatus{}, nil
		}),
	}
	g, err := wrap(counting{v, asked}).Open(t.Context(), Config{})
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if _, err := g.Instances().Metadata(t.Context(), node("n")); err != nil {
			t.Error(err)
		}
		if _, err := g.LoadBalancers().Ensure(t.Context(), service("s"), nil); err != nil {
			t.Error(err)
		}
	}
	if got := g.State(); got != "last answered 0s ago" {
		t.Errorf("the cloud %s", got)
	}
	if diff := cmp.Diff(map[string]int{"InstancesV2": 1, "LoadBalancer": 1, "Routes": 1}, asked); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// If one accessor panics, the gateway still asks the others.
func TestAccessorThatPanicsKeepsNoOtherFromBeingAsked(t *testing.T) {
	p := &lateVendor{}
	g := gateway(t, p, Config{})
	p.late = true
	more, err := g.AskAgain(t.Context())
	if !more || err == nil || g.LoadBalancers() == nil {
		t.Errorf("%v, %v; it %s", more, err, g.Offers())
	}
}

// lateVendor offers nothing until late is set. Then it offers load balancers, and its
// accessor of instances panics.
type lateVendor struct {
	vendor

	late bool
}

func (v *lateVendor) InstancesV2() (cloudprovider.InstancesV2, bool) {
	if v.late {
		panic("no connection")
	}
	return nil, false
}

func (v *lateVendor) LoadBalancer() (cloudprovider.LoadBalancer, bool) {
	return balancer(func(context.Context, string, *corev1.Service, []*corev1.Node) (*corev1.LoadBalancerStatus, error) {
		return &corev1.LoadBalancerStatus{}, nil
	}), v.late
}

// offerer is a provider whose Offers returns the errors in errs one after the other,
// and then nil. If the next element of errs is nil, Offers panics.
type offerer struct {
	vendor
	errs  []error
	asked *int // calls of the accessor of instances
}

func (o *offerer) Offers(context.Context) error {
	if len(o.errs) == 0 {
		return nil
	}
	err := o.errs[0]
	o.errs = o.errs[1:]
	if err == nil {
		panic("no connection")
	}
	return err
}

func (o *offerer) InstancesV2() (cloudprovider.InstancesV2, bool) {
	*o.asked++
	return o.vendor.InstancesV2()
}

// The process goes on if the provider cannot say what it offers, or if Offers
// panics. In both cases the accessors are not asked.
func TestProviderThatCannotSayWhatItOffers(t *testing.T) {
	asked := 0
	g := gateway(t, &offerer{vendor{v2: panicsForAll}, []error{errors.New("503"), nil}, &asked}, Config{})
	const want = "cannot say now whether it offers instances, load balancers, routes, and the log says why; it is asked again"
	if asked != 0 || g.Instances() != nil || g.Offers() != want {
		t.Errorf("at first: asked %d times, and it %s", asked, g.Offers())
	}
	if more, err := g.AskAgain(t.Context()); more || !errors.Is(err, ErrCannotSay) || asked != 0 {
		t.Errorf("Offers panics: %v, %v, asked %d times", more, err, asked)
	}
	if more, err := g.AskAgain(t.Context()); !more || err != nil || asked != 1 || g.Instances() == nil {
		t.Errorf("once it can say: %v, %v, asked %d times; it %s", more, err, asked, g.Offers())
	}
	if got := g.Offers(); got != "offers instances; it is asked again for load balancers, routes" {
		t.Error(got)
	}
}

func TestAccessorThatSaysNoIsAskedAgain(t *testing.T) {
	g := gateway(t, quirks.Wrap(vendor{v2: panicsForAll}, quirks.OffersNothingOnce), Config{})
	if g.Instances() != nil || g.Offers() != "offers nothing yet; it is asked again for instances, load balancers, routes" {
		t.Errorf("at first: %s", g.Offers())
	}
	if more, err := g.AskAgain(t.Context()); !more || err != nil || g.Instances() == nil {
		t.Errorf("asked again: %v, %v; it %s", more, err, g.Offers())
	}
	before := g.Instances()
	if more, err := g.AskAgain(t.Context()); more || err != nil || g.Instances() != before {
		t.Errorf("the provider was asked for what it has offered: %v, %v", more, err)
	}
}
