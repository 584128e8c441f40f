package kit_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/fairlead-k8s/fairlead/provider/kit"
)

// config is the configuration of a provider.
type config struct {
	Endpoint kit.Endpoint  `json:"endpoint"`
	Token    string        `json:"token"`
	Timeout  time.Duration `json:"timeout"`
}

// Check makes config a kit.Checker.
func (c *config) Check(wrong kit.Wrong) {
	if c.Endpoint == "" {
		wrong("endpoint", "is missing")
	}
	if c.Timeout < 0 {
		wrong("timeout", "must not be negative")
	}
}

func ExampleReadConfig() {
	file := strings.NewReader(`
endpont: https://api.example.com
token: 0123
timeout: 10
`)
	c := config{Timeout: 30 * time.Second} // a default
	fmt.Println(kit.ReadConfig(file, &c))
	// Output:
	// cloud config: line 2: endpont: unknown key; did you mean endpoint?; line 2: endpoint: is missing; line 4: timeout: must be a duration such as 30s, not "10"
}

func ExampleProviderIDs() {
	// Version 1 of this provider wrote IDs without a region.
	ids := kit.NewProviderIDs("acme://{region}/{id}", "acme:///{id}")

	written, err := ids.Print("eu-1", "i-42")
	fmt.Println(written, err)
	for _, text := range []string{"acme://eu-1/i-42", "acme:///i-42", "other:///i-42", "acme://i-42"} {
		parts, err := ids.Parse(text)
		switch {
		case errors.Is(err, kit.ErrForeignProviderID):
			fmt.Println(text, "is a Node of another cloud")
		case err != nil:
			fmt.Println(err)
		default:
			fmt.Println(text, "is the instance", parts["id"])
		}
	}
	// Output:
	// acme://eu-1/i-42 <nil>
	// acme://eu-1/i-42 is the instance i-42
	// acme:///i-42 is the instance i-42
	// other:///i-42 is a Node of another cloud
	// provider ID "acme://i-42": it is malformed; it should be like acme://{region}/{id} or acme:///{id}
}

// machine is the cloud's type for an instance.
type machine struct{ id, name, status string }

func ExampleInstances() {
	cloud := map[string]machine{"i-1": {"i-1", "node-1", "running"}, "i-2": {"i-2", "node-2", "terminated"}}
	ids := kit.NewProviderIDs("acme://{region}/{id}")
	instances := kit.Instances[machine]{
		ParseID: func(providerID string) (string, error) {
			parts, err := ids.Parse(providerID)
			return parts["id"], err
		},
		ByID: func(_ context.Context, id string) (machine, error) { // one call of the cloud
			found, ok := cloud[id]
			if !ok {
				return machine{}, cloudprovider.InstanceNotFound // only if the cloud itself says that the machine does not exist
			}
			return found, nil
		},
		Named: func(_ context.Context, name string) (found []machine, err error) { // one call of the cloud
			for _, m := range cloud {
				if m.name == name {
					found = append(found, m)
				}
			}
			return found, nil
		},
		Identify: func(m machine) kit.Identity {
			return kit.Identity{ID: m.id, Name: m.name, Gone: m.status == "terminated"}
		},
	}

	for _, node := range []*corev1.Node{
		{ObjectMeta: metav1.ObjectMeta{Name: "node-1"}},
		{ObjectMeta: metav1.ObjectMeta{Name: "node-1"}, Spec: corev1.NodeSpec{ProviderID: "acme://eu-1/i-1"}},
		{ObjectMeta: metav1.ObjectMeta{Name: "node-2"}},
		{ObjectMeta: metav1.ObjectMeta{Name: "node-3"}, Spec: corev1.NodeSpec{ProviderID: "other:///i-3"}},
	} {
		fmt.Println(instances.Exists(context.Background(), node))
	}
	// Output:
	// true <nil>
	// true <nil>
	// false <nil>
	// false provider ID "other:///i-3": it belongs to another provider; provider IDs of this provider are like acme://{region}/{id}
}

func ExampleAllPages() {
	pages := map[string]struct {
		items []string
		next  string
	}{"": {[]string{"a", "b"}, "page-2"}, "page-2": {[]string{"c"}, ""}}
	all, err := kit.AllPages(context.Background(), func(_ context.Context, token string) ([]string, string, error) {
		page := pages[token] // one call of the cloud
		return page.items, page.next, nil
	})
	fmt.Println(all, err)
	// Output: [a b c] <nil>
}

func ExampleAnnotations() {
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{
		"acme.example.com/drain": "soon",
		"acme.example.com/teir":  "large",
	}}}
	a := kit.NewAnnotations(service.Annotations, "acme.example.com/")
	tier := "small" // the default
	if word, ok := a.OneOf("acme.example.com/tier", "small", "large"); ok {
		tier = word
	}
	_, drains := a.Duration("acme.example.com/drain", 0, time.Hour)
	fmt.Println(tier, drains)
	fmt.Println(a.Err())
	// Output:
	// small false
	// annotation acme.example.com/drain: "soon" is refused: it must be a duration from 0s to 1h0m0s, such as 30s; annotation acme.example.com/teir: is unknown; did you mean acme.example.com/tier?
}

// balancer is the cloud's type for a load balancer.
type balancer struct {
	id, owner, state, address string
	targets                   []string
}

func ExampleResource() {
	var cloud []balancer // what the cloud has
	const owner = "cluster-1/uid-1"
	ensure := func(ctx context.Context, targets ...string) (*corev1.LoadBalancerStatus, error) {
		resource := kit.Resource[*balancer]{
			Kind:  "load balancer",
			Pause: 5 * time.Second,
			Owned: func(context.Context) (owned []*balancer, err error) { // a list by tag
				for i := range cloud {
					if cloud[i].owner == owner {
						owned = append(owned, &cloud[i])
					}
				}
				return owned, nil
			},
			Create: func(context.Context) (*balancer, error) { // the tag is a part of the same call
				cloud = append(cloud, balancer{id: "lb-1", owner: owner, state: "creating", targets: targets})
				return nil, errors.New("timeout") // and the reply is lost
			},
			Change: func(_ context.Context, is *balancer) (*balancer, error) {
				if fmt.Sprint(is.targets) != fmt.Sprint(targets) {
					is.targets = targets // one call of the cloud
				}
				return is, nil
			},
			State: func(b *balancer) kit.ResourceState {
				state := kit.ResourceState{ID: b.id, Locked: true}
				if b.state != "active" {
					state.Pending = b.state
				}
				return state
			},
		}
		is, err := resource.Ensure(ctx)
		if err != nil {
			return nil, err
		}
		return kit.Status(corev1.LoadBalancerIPModeVIP, is.address)
	}

	_, err := ensure(context.Background(), "node-1")
	fmt.Println(err)
	_, err = ensure(context.Background(), "node-1") // the next call adopts it
	fmt.Println(err)
	cloud[0].state, cloud[0].address = "active", "203.0.113.1"
	status, err := ensure(context.Background(), "node-1", "node-2")
	fmt.Println(status.Ingress[0].IP, err, cloud[0].targets, len(cloud))
	// Output:
	// create load balancer: timeout
	// load balancer lb-1 is creating
	// 203.0.113.1 <nil> [node-1 node-2] 1
}

func ExampleStatus() {
	status, err := kit.Status(corev1.LoadBalancerIPModeProxy, "203.0.113.1", "2001:db8::1")
	for _, ingress := range status.Ingress {
		fmt.Println(ingress.IP, *ingress.IPMode)
	}
	fmt.Println(err)
	// Output:
	// 203.0.113.1 Proxy
	// 2001:db8::1 Proxy
	// <nil>
}
