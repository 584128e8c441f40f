package e2e

import (
	"context"
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-k8s/fairlead/simulator"
	"github.com/fairlead-k8s/fairlead/test/internal/nodes"
)

// joinsAs creates an instance, and the Node that its kubelet registers.
func joinsAs(edit func(*simulator.Instance, *corev1.Node)) act {
	return func(ctx context.Context, s *contender, name string) error {
		instance, node := simulator.Instance{Name: name}, nodes.New(name)
		if edit != nil {
			edit(&instance, node)
		}
		created := instance
		if instance.Name != "" {
			var err error
			if created, err = s.cloud.CreateInstance(ctx, instance); err != nil {
				return err
			}
			s.born.Store(name, created)
		}
		if node.Spec.ProviderID == "own" {
			node.Spec.ProviderID = nodes.ProviderID(created)
		}
		_, err := s.Admin.CoreV1().Nodes().Create(ctx, node, metav1.CreateOptions{})
		return err
	}
}

// patchesNode patches a Node, or with "status" its status.
func patchesNode(body string, subresources ...string) act {
	return func(ctx context.Context, s *contender, name string) error {
		_, err := s.Admin.CoreV1().Nodes().Patch(ctx, name, types.StrategicMergePatchType, []byte(body), metav1.PatchOptions{}, subresources...)
		return err
	}
}

// reports sets the condition Ready of a Node.
func reports(status corev1.ConditionStatus) act {
	return patchesNode(fmt.Sprintf(`{"status":{"conditions":[{"type":"Ready","status":%q,"reason":"Row"}]}}`, status), "status")
}

func deletesNode(ctx context.Context, s *contender, name string) error {
	return s.Admin.CoreV1().Nodes().Delete(ctx, name, metav1.DeleteOptions{})
}

// instance does something with the instance of the row.
func instance(do func(context.Context, *contender, string) error) act {
	return func(ctx context.Context, s *contender, name string) error {
		return do(ctx, s, s.instanceOf(name).ID)
	}
}

func changes(p simulator.InstancePatch) act {
	return instance(func(ctx context.Context, s *contender, id string) error {
		changed, err := s.cloud.UpdateInstance(ctx, id, p)
		s.born.Store(changed.Name, changed)
		return err
	})
}

var (
	terminates = instance(func(ctx context.Context, s *contender, id string) error { return s.cloud.TerminateInstance(ctx, id) })
	stops      = instance(func(ctx context.Context, s *contender, id string) error { return s.cloud.StopInstance(ctx, id) })
	boots      = instance(func(ctx context.Context, s *contender, id string) error { return s.cloud.StartInstance(ctx, id) })
)

// fails lets calls about the row's instance, or about its load balancer, fail.
func fails(calls ...simulator.Call) act {
	return func(ctx context.Context, s *contender, name string) error {
		match := "*" + name + "*"
		if i := s.instanceOf(name); i.ID != "" {
			match = i.ID
		}
		return s.cloud.SetFault(ctx, simulator.Fault{Name: name, Kind: simulator.FaultError, Match: match, Calls: calls})
	}
}

func heals(ctx context.Context, s *contender, name string) error {
	return s.cloud.ClearFault(ctx, name)
}

// serves creates a Service of type LoadBalancer.
func serves(edit func(*corev1.Service)) act {
	return func(ctx context.Context, s *contender, name string) error {
		service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.ServiceSpec{
			Type: corev1.ServiceTypeLoadBalancer, Selector: map[string]string{"app": name}, Ports: []corev1.ServicePort{{Name: "a", Port: 80}},
		}}
		if edit != nil {
			edit(service)
		}
		_, err := s.Admin.CoreV1().Services(metav1.NamespaceDefault).Create(ctx, service, metav1.CreateOptions{})
		return err
	}
}

// edits merges a patch, given as a value, into a Service.
func edits(patch map[string]any) act {
	return func(ctx context.Context, s *contender, name string) error {
		body, err := json.Marshal(patch)
		if err == nil {
			_, err = s.Admin.CoreV1().Services(metav1.NamespaceDefault).Patch(ctx, name, types.MergePatchType, body, metav1.PatchOptions{})
		}
		return err
	}
}

func deletesService(ctx context.Context, s *contender, name string) error {
	return s.Admin.CoreV1().Services(metav1.NamespaceDefault).Delete(ctx, name, metav1.DeleteOptions{})
}
