package scenario

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-k8s/fairlead/simulator"
	"github.com/fairlead-k8s/fairlead/test/scale/internal/cluster"
	"github.com/fairlead-k8s/fairlead/test/scale/internal/contender"
	"github.com/fairlead-k8s/fairlead/test/scale/internal/report"
)

// driftPeriod returns the period after which Nodes are refreshed. It is at least 10
// seconds. In a larger cluster it is longer, so that one call for each Node in each
// period uses half of the quota.
func (s Settings) driftPeriod() time.Duration {
	return max(10*time.Second, time.Duration(2*s.Nodes/s.Quota)*time.Second)
}

var drift = Scenario{
	Name: "drift",
	What: func(s Settings) string {
		return fmt.Sprintf("Of %d of %d instances the addresses and the type change in the cloud.", s.changed(), s.Nodes)
	},
	Provider: contender.Simulated,
	Flags: sameFlags(func(s Settings) []string {
		return []string{"--node-status-update-frequency=" + s.driftPeriod().String()}
	}),
	run: func(ctx context.Context, t *trial) error {
		instances, err := t.fleet(ctx, cluster.Initialized)
		if err != nil {
			return err
		}
		if err := t.lead(ctx, float64(t.Nodes)/t.driftPeriod().Seconds()); err != nil {
			return err
		}
		if err := t.begin(ctx); err != nil {
			return err
		}
		changed := spread(instances, t.changed())
		err = cluster.Each(len(changed), func(n int) (err error) {
			changed[n], err = t.cloud.UpdateInstance(ctx, changed[n].ID, simulator.InstancePatch{
				Type: new("changed"),
				Addresses: []simulator.Address{
					{Type: simulator.InternalIP, Address: fmt.Sprintf("127.32.%d.%d", n/250, n%250+1)},
					{Type: simulator.ExternalIP, Address: fmt.Sprintf("198.18.%d.%d", n/250, n%250+1)},
				},
			})
			return err
		})
		if err != nil {
			return err
		}
		// A contender that asks about one Node after the other needs t.pass() to ask
		// about all of them.
		period := t.driftPeriod() + t.pass()
		if err := t.until(ctx, report.AddressesFollow, time.Minute+2*period, follow(changed, addressesFollow)); err != nil {
			return err
		}
		// A refresh may miss a change. Then the next refresh finds it.
		if err := t.until(ctx, "types follow", t.clock.Since(t.began.at)+period+t.driftPeriod(), follow(changed, typeFollows)); err != nil {
			return err
		}
		return t.end(ctx)
	},
}

// driftings returns the scenario drift with fast paths and without. With fast
// paths, Fairlead runs alone, because it notices a change so soon that another run
// at the same time would distort the result. Without fast paths, the scenario
// mostly waits for a refresh.
func driftings() []Scenario {
	both := withPlain(drift)
	both[0].Alone = []contender.Name{contender.Fairlead}
	return both
}

// changed returns the number of instances that change. The number is small, because the
// scenario measures the time until a change is seen.
func (s Settings) changed() int { return min(s.percent(5), 50) }

// follow returns a function that checks Nodes. It returns nil if each of the instances
// has a Node that meets the given condition.
func follow(instances []simulator.Instance, holds func(simulator.Instance, *corev1.Node) bool) func(map[string]*corev1.Node) error {
	return func(nodes map[string]*corev1.Node) error {
		done := 0
		for _, i := range instances {
			if node := nodes[i.Name]; node != nil && holds(i, node) {
				done++
			}
		}
		if done < len(instances) {
			return fmt.Errorf("%d of %d Nodes follow", done, len(instances))
		}
		return nil
	}
}

func addressesFollow(i simulator.Instance, node *corev1.Node) bool {
	for _, a := range i.Addresses {
		if cluster.Address(node, corev1.NodeAddressType(a.Type)) != a.Address {
			return false
		}
	}
	return true
}

func typeFollows(i simulator.Instance, node *corev1.Node) bool {
	return node.Labels[corev1.LabelInstanceTypeStable] == i.Type
}
