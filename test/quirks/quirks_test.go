package quirks_test

import (
	"context"
	"errors"
	"io"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/fairlead-k8s/fairlead/test/quirks"
)

// plain is a provider without quirks. It knows one instance, one address and one route.
type plain struct {
	cloudprovider.Interface

	absent  bool
	removed int
}

func (p *plain) InstancesV2() (cloudprovider.InstancesV2, bool)   { return parts{plain: p}, true }
func (p *plain) LoadBalancer() (cloudprovider.LoadBalancer, bool) { return parts{plain: p}, true }
func (p *plain) Routes() (cloudprovider.Routes, bool)             { return parts{plain: p}, true }

// parts is the value that each accessor of plain returns.
type parts struct {
	*plain
	cloudprovider.InstancesV2
	cloudprovider.LoadBalancer
	cloudprovider.Routes
}

func (p parts) InstanceExists(context.Context, *corev1.Node) (bool, error) { return !p.absent, nil }
func (p parts) InstanceMetadata(context.Context, *corev1.Node) (*cloudprovider.InstanceMetadata, error) {
	return &cloudprovider.InstanceMetadata{
		ProviderID: "plain://1", AdditionalLabels: map[string]string{"a": "b"},
		NodeAddresses: []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "10.0.0.1"}, {Type: corev1.NodeInternalIP, Address: "10.0.0.2"}},
	}, nil
}

func (p parts) EnsureLoadBalancer(context.Context, string, *corev1.Service, []*corev1.Node) (*corev1.LoadBalancerStatus, error) {
	return &corev1.LoadBalancerStatus{Ingress: []corev1.LoadBalancerIngress{{IP: "192.0.2.1"}}}, nil
}

func (p parts) EnsureLoadBalancerDeleted(context.Context, string, *corev1.Service) error {
	p.removed++
	return nil
}

func (p parts) ListRoutes(context.Context, string) ([]*cloudprovider.Route, error) {
	return []*cloudprovider.Route{{Name: "r"}}, nil
}

func wrapped(t *testing.T, inner *plain, names ...string) *quirks.Provider {
	t.Helper()
	var habits []quirks.Quirk
	for _, name := range names {
		quirk, err := quirks.Parse(name)
		if err != nil {
			t.Fatal(err)
		}
		habits = append(habits, quirk)
	}
	return quirks.Wrap(inner, habits...)
}

func instancesOf(t *testing.T, inner *plain, names ...string) cloudprovider.InstancesV2 {
	t.Helper()
	v2, _ := wrapped(t, inner, names...).InstancesV2()
	return v2
}

func node(labels map[string]string) *corev1.Node {
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", Labels: labels}}
}

func metadata(t *testing.T, v2 cloudprovider.InstancesV2, n *corev1.Node) *cloudprovider.InstanceMetadata {
	t.Helper()
	m, err := v2.InstanceMetadata(t.Context(), n)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestHabitsOfInstances(t *testing.T) {
	if id := metadata(t, instancesOf(t, &plain{}, "SpellsIDsWith=other"), node(nil)).ProviderID; id != "other://1" {
		t.Errorf("SpellsIDsWith: %q", id)
	}
	if id := metadata(t, instancesOf(t, &plain{}, "IDsWithoutScheme"), node(nil)).ProviderID; id != "1" {
		t.Errorf("IDsWithoutScheme: %q", id)
	}
	once := instancesOf(t, &plain{}, "LabelsOnlyOnce")
	first := metadata(t, once, node(nil)).AdditionalLabels
	second := metadata(t, once, node(first)).AdditionalLabels
	if first[quirks.SetOnce] == "" || second[quirks.SetOnce] != "" || second["a"] == "" {
		t.Errorf("LabelsOnlyOnce: first %v, then %v", first, second)
	}
	sometimes := instancesOf(t, &plain{}, "LabelsSometimesNil")
	if metadata(t, sometimes, node(nil)).AdditionalLabels == nil || metadata(t, sometimes, node(nil)).AdditionalLabels != nil {
		t.Error("LabelsSometimesNil: the second answer has labels, or the first has none")
	}
	gone := instancesOf(t, &plain{}, "AddressesSometimesGone")
	if len(metadata(t, gone, node(nil)).NodeAddresses) != 1 || len(metadata(t, gone, node(nil)).NodeAddresses) != 2 {
		t.Error("AddressesSometimesGone: the first answer has IP addresses, or the second has none")
	}
	shuffles := instancesOf(t, &plain{}, "ShufflesAddresses")
	if one, two := metadata(t, shuffles, node(nil)).NodeAddresses, metadata(t, shuffles, node(nil)).NodeAddresses; len(one) != 2 || len(two) != 2 || one[0] != two[1] {
		t.Errorf("ShufflesAddresses: %v, then %v", one, two)
	}
	formats := instancesOf(t, &plain{}, "FormatsNil")
	if one, two := metadata(t, formats, node(nil)), metadata(t, formats, node(nil)); one.ProviderID != "plain://<nil>" || two.NodeAddresses[2].Address != "<nil>" {
		t.Errorf("FormatsNil: %+v, then %+v", one, two)
	}
	if exists, err := instancesOf(t, &plain{absent: true}, "GoneIsAnError").InstanceExists(t.Context(), node(nil)); err == nil || exists {
		t.Errorf("GoneIsAnError: %v, %v", exists, err)
	}
	if exists, err := instancesOf(t, &plain{absent: true}, "GoneIsNotFound").InstanceExists(t.Context(), node(nil)); !errors.Is(err, cloudprovider.InstanceNotFound) || exists {
		t.Errorf("GoneIsNotFound: %v, %v", exists, err)
	}
	if _, err := instancesOf(t, &plain{}, "AnswersBadRequest").InstanceExists(t.Context(), node(nil)); err == nil {
		t.Error("AnswersBadRequest: no error")
	}
}

func TestExistenceIsCachedFor5Minutes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inner := &plain{}
		v2 := instancesOf(t, inner, "CachesExistence")
		for _, step := range []struct {
			absent, want bool
			wait         time.Duration
		}{{false, true, 4 * time.Minute}, {true, true, 2 * time.Minute}, {true, false, 0}} {
			inner.absent = step.absent
			if exists, _ := v2.InstanceExists(t.Context(), node(nil)); exists != step.want {
				t.Errorf("absent %v: exists = %v", step.absent, exists)
			}
			time.Sleep(step.wait)
		}
	})
}

func TestPanicsForOneObjectOnly(t *testing.T) {
	v2 := instancesOf(t, &plain{}, "PanicsFor=odd")
	metadata(t, v2, node(nil))
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	_, _ = v2.InstanceExists(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "odd"}})
}

func service(ingress ...corev1.LoadBalancerIngress) *corev1.Service {
	return &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "s", UID: "u"},
		Status:     corev1.ServiceStatus{LoadBalancer: corev1.LoadBalancerStatus{Ingress: ingress}},
	}
}

func TestEchoWritesTheAddressLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := wrapped(t, &plain{}, "EchoesStatus")
		client := fake.NewClientset(service())
		p.UseClient(client)
		balancers, _ := p.LoadBalancer()
		status, err := balancers.EnsureLoadBalancer(t.Context(), "c", service(), nil)
		if err != nil || len(status.Ingress) != 0 {
			t.Fatalf("returned %v, %v; want the empty status that was given", status, err)
		}
		time.Sleep(5 * time.Second)
		got, err := client.CoreV1().Services("ns").Get(t.Context(), "s", metav1.GetOptions{})
		if err != nil || len(got.Status.LoadBalancer.Ingress) != 1 {
			t.Errorf("the Service has %v, %v; want the address", got.Status.LoadBalancer, err)
		}
	})
}

func TestDeletionByAddress(t *testing.T) {
	inner := &plain{}
	balancers, _ := wrapped(t, inner, "DeletesByAddress").LoadBalancer()
	for _, s := range []*corev1.Service{service(), service(corev1.LoadBalancerIngress{IP: "192.0.2.1"})} {
		if err := balancers.EnsureLoadBalancerDeleted(t.Context(), "c", s); err != nil {
			t.Fatal(err)
		}
	}
	if inner.removed != 1 {
		t.Errorf("%d deletions; want the one with an address", inner.removed)
	}
}

func TestDeletionElsewhere(t *testing.T) {
	inner := &plain{}
	balancers, _ := wrapped(t, inner, "JoinsElsewhere").LoadBalancer()
	first, second := balancers.EnsureLoadBalancerDeleted(t.Context(), "c", service()), balancers.EnsureLoadBalancerDeleted(t.Context(), "c", service())
	if !errors.Is(first, cloudprovider.ImplementedElsewhere) || second != nil || inner.removed != 1 {
		t.Errorf("%v, then %v, %d deletions", first, second, inner.removed)
	}
}

func TestTwoTables(t *testing.T) {
	r, _ := wrapped(t, &plain{}, "ListsTwoTables").Routes()
	listed, err := r.ListRoutes(t.Context(), "c")
	if err != nil || len(listed) != 2 || listed[0].Name == listed[1].Name {
		t.Errorf("%v, %v; want two routes with names of their own", listed, err)
	}
}

func TestAccessorThatFailsOnce(t *testing.T) {
	p := wrapped(t, &plain{}, "OffersNothingOnce")
	if _, ok := p.InstancesV2(); ok {
		t.Error("offered at once")
	}
	if _, ok := p.InstancesV2(); !ok {
		t.Error("not offered the second time")
	}
}

func TestFactoryThatWorksOnce(t *testing.T) {
	factory := quirks.WorksOnce(func(io.Reader) (cloudprovider.Interface, error) { return &plain{}, nil })
	if _, err := factory(nil); err != nil {
		t.Error(err)
	}
	if _, err := factory(nil); err == nil {
		t.Error("made twice")
	}
}

func TestHabitsAreCombined(t *testing.T) {
	balancers, _ := wrapped(t, &plain{}, "AnswersBadRequest", "QuotesService").LoadBalancer()
	s := service()
	s.Annotations = map[string]string{"limit": "throttle"}
	err := balancers.EnsureLoadBalancerDeleted(t.Context(), "c", s)
	var status *quirks.StatusError
	if !errors.As(err, &status) || err.Error() == status.Error() {
		t.Errorf("error %v; want the status and the annotations", err)
	}
}

func TestUnknownHabit(t *testing.T) {
	for _, text := range []string{"Nothing", "PanicsFor", "EchoesStatus=x"} {
		if _, err := quirks.Parse(text); err == nil {
			t.Errorf("%q is accepted", text)
		}
	}
}
