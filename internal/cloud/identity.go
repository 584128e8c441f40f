package cloud

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Identity is the cloud's answer to the question which instance a Node is.
type Identity struct {
	// ByName is the instance with the Node's name. It is nil if the provider cannot
	// look an instance up by name.
	ByName *Metadata
	// ByID is the instance with the Node's provider ID. It is nil if the Node has
	// none.
	ByID *Metadata
	// Asked is the time at which the question was asked. No call for the answer began
	// earlier.
	Asked time.Time
}

// Identity asks which instance a Node is. It asks with the Node's name and, if the Node
// has a provider ID, also with that ID. The provider also gets the UID, but no other
// field of the Node, because a kubelet can write all the others. The parameter request
// names the purpose of the question, such as the UID of a CertificateSigningRequest.
// The answer comes from calls that were made for this request alone, and that began
// after the caller knew the request. Nothing is coalesced with another question,
// batched or cached. If the answer comes late, the next question for the same request
// gets it. Questions about one Node are asked one after the other, because its kubelet
// decides how many requests there are.
//
// If the cloud has no instance with that name or none with that ID, the error is of
// kind NotFound.
func (i *Instances) Identity(ctx context.Context, node *corev1.Node, request string) (Identity, error) {
	c := call{method: "InstanceMetadata", priority: highPriority, names: namesOfNode(node)}
	answer, err := i.identifications.ask(ctx, c, identity(node)+"/"+request, func(ctx context.Context, c call) (Identity, error) {
		return i.identify(ctx, c, node)
	})
	return answer.clone(), err
}

// nodeOf returns the Node's name, which is the first part of a question's key.
func nodeOf(key string) string {
	name, _, _ := strings.Cut(key, "/")
	return name
}

func (i *Instances) identify(ctx context.Context, c call, node *corev1.Node) (answer Identity, err error) {
	answer.Asked = time.Now()
	named, err := i.refresh(ctx, c, bare(node, ""))
	switch {
	case err == nil && !named.Nameless:
		answer.ByName = &named
	case err != nil && KindOf(err) != NotImplemented:
		return Identity{}, fmt.Errorf("by name: %w", err)
	}
	if node.Spec.ProviderID == "" {
		return answer, nil
	}
	found, err := i.refresh(ctx, c, bare(node, node.Spec.ProviderID))
	if err != nil {
		return Identity{}, fmt.Errorf("by provider ID: %w", err)
	}
	answer.ByID = &found
	return answer, nil
}

// bare returns a Node that has nothing but the name, the UID and this provider
// ID.
func bare(node *corev1.Node, id string) *corev1.Node {
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: node.Name, UID: node.UID},
		Spec:       corev1.NodeSpec{ProviderID: id},
	}
}

func (i Identity) clone() Identity {
	i.ByName, i.ByID = i.ByName.clone(), i.ByID.clone()
	return i
}

func (m *Metadata) clone() *Metadata {
	if m == nil {
		return nil
	}
	c := *m
	c.Addresses, c.Labels = slices.Clone(m.Addresses), maps.Clone(m.Labels)
	return &c
}
