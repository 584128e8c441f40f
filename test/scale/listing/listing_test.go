package listing

import (
	"context"
	"errors"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	cloudprovider "k8s.io/cloud-provider"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/fairlead-k8s/fairlead/simulator"
)

// scene returns the provider's InstancesV2, a client of the cloud's operator,
// and one instance with its Node.
func scene(t *testing.T) (cloudprovider.InstancesV2, *simulator.Client, simulator.Instance, *corev1.Node) {
	t.Helper()
	cloud, err := simulator.New(simulator.Config{})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(cloud)
	t.Cleanup(server.Close)
	provider, err := New(strings.NewReader("endpoint: " + server.URL))
	if err != nil {
		t.Fatal(err)
	}
	v2, supported := provider.InstancesV2()
	if !supported {
		t.Fatal("InstancesV2 is not supported")
	}
	operator := simulator.NewClient(server.URL).Operator()
	instance, err := operator.CreateInstance(t.Context(), simulator.Instance{Name: "node-1"})
	if err != nil {
		t.Fatal(err)
	}
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-1"}, Spec: corev1.NodeSpec{ProviderID: ProviderID(instance)}}
	return v2, operator, instance, node
}

func TestWhatIsListedExists(t *testing.T) {
	v2, _, instance, node := scene(t)
	for name, providerID := range map[string]string{"ByProviderID": node.Spec.ProviderID, "ByName": ""} {
		t.Run(name, func(t *testing.T) {
			node := node.DeepCopy()
			node.Spec.ProviderID = providerID
			if exists, err := v2.InstanceExists(t.Context(), node); !exists || err != nil {
				t.Errorf("exists: %v, %v", exists, err)
			}
			if down, err := v2.InstanceShutdown(t.Context(), node); down || err != nil {
				t.Errorf("shut down: %v, %v", down, err)
			}
			m, err := v2.InstanceMetadata(t.Context(), node)
			if err != nil {
				t.Fatal(err)
			}
			if m.ProviderID != ProviderID(instance) || m.Zone != instance.Zone || m.InstanceType != instance.Type || len(m.NodeAddresses) != len(instance.Addresses) {
				t.Errorf("got %+v of %+v", m, instance)
			}
		})
	}
}

func TestWhatIsNotListedDoesNotExist(t *testing.T) {
	for name, takeAway := range map[string]func(context.Context, *simulator.Client, simulator.Instance) error{
		"Terminated": func(ctx context.Context, c *simulator.Client, i simulator.Instance) error {
			return c.TerminateInstance(ctx, i.ID)
		},
		"EmptyList": func(ctx context.Context, c *simulator.Client, _ simulator.Instance) error {
			return c.SetFault(ctx, simulator.Fault{Name: "lie", Kind: simulator.FaultEmptyList})
		},
		"TruncatedList": func(ctx context.Context, c *simulator.Client, _ simulator.Instance) error {
			return c.SetFault(ctx, simulator.Fault{Name: "lie", Kind: simulator.FaultTruncatedList, Fraction: 1})
		},
	} {
		t.Run(name, func(t *testing.T) {
			v2, operator, instance, node := scene(t)
			if err := takeAway(t.Context(), operator, instance); err != nil {
				t.Fatal(err)
			}
			if exists, err := v2.InstanceExists(t.Context(), node); exists || err != nil {
				t.Errorf("exists: %v, %v", exists, err)
			}
			if _, err := v2.InstanceMetadata(t.Context(), node); !errors.Is(err, cloudprovider.InstanceNotFound) {
				t.Errorf("metadata: %v", err)
			}
		})
	}
}

func TestAnErrorIsNoAnswer(t *testing.T) {
	v2, operator, _, node := scene(t)
	if err := operator.SetFault(t.Context(), simulator.Fault{Name: "outage", Kind: simulator.FaultOutage}); err != nil {
		t.Fatal(err)
	}
	if exists, err := v2.InstanceExists(t.Context(), node); exists || err == nil {
		t.Errorf("exists: %v, %v", exists, err)
	}
}

func TestConfigIsNeeded(t *testing.T) {
	if _, err := New(nil); err == nil {
		t.Error("a provider without a cloud was made")
	}
	if _, err := New(strings.NewReader("{}")); err == nil {
		t.Error("a cloud without an endpoint was accepted")
	}
}

func TestAListIsKeptForAWhile(t *testing.T) {
	clock := clocktesting.NewFakePassiveClock(time.Unix(0, 0))
	lists, failure := 0, errors.New("down")
	list := cached(func(context.Context) ([]simulator.Instance, error) {
		lists++
		return make([]simulator.Instance, lists), failure
	}, clock)
	for _, step := range []struct {
		name      string
		after     time.Duration
		failure   error
		lists     int
		instances int
	}{
		{"AnErrorIsReturned", 0, failure, 1, 1},
		{"AnErrorIsNotKept", 0, nil, 2, 2},
		{"AListIsKept", Kept - 1, nil, 2, 2},
		{"AnOldListIsReplaced", 1, nil, 3, 3},
	} {
		clock.SetTime(clock.Now().Add(step.after))
		failure = step.failure
		all, err := list(t.Context())
		if !errors.Is(err, step.failure) || lists != step.lists || len(all) != step.instances {
			t.Errorf("%s: %d lists, %d instances, %v", step.name, lists, len(all), err)
		}
	}
}
