package bed

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"

	"github.com/fairlead-k8s/fairlead/test/internal/audit"
	"github.com/fairlead-k8s/fairlead/test/internal/expect"
)

// NodeSource is the source of the node controller's events.
const NodeSource = "cloud-node-controller"

// Events returns the events about a Node that the node controller has recorded. Each
// event is a string such as "Normal Synced: …". An event that was recorded several times
// is repeated in the result.
func (b *Bed) Events(ctx context.Context, node string) ([]string, error) {
	return b.EventsOf(ctx, NodeSource, node)
}

// EventsOf returns the events about a Node that a source has recorded.
func (b *Bed) EventsOf(ctx context.Context, source, node string) ([]string, error) {
	return b.EventsAbout(ctx, "Node", node, source)
}

// EventsAbout returns the events about an object that a source has recorded.
func (b *Bed) EventsAbout(ctx context.Context, kind, name, source string) ([]string, error) {
	list, err := b.Admin.CoreV1().Events(metav1.NamespaceDefault).List(ctx, metav1.ListOptions{FieldSelector: fields.Set{
		"involvedObject.kind": kind, "involvedObject.name": name, "source": source,
	}.String()})
	if err != nil {
		return nil, err
	}
	var all []string
	for _, e := range list.Items {
		for range max(e.Count, 1) {
			all = append(all, fmt.Sprintf("%s %s: %s", e.Type, e.Reason, e.Message))
		}
	}
	return all, nil
}

// AwaitEvent waits for an event that begins with start. Events are written in the
// background, so an event can come a little later than the change that it reports.
func (b *Bed) AwaitEvent(t *testing.T, node string, within time.Duration, start string) {
	t.Helper()
	expect.Within(t, within, func(ctx context.Context) error {
		all, err := b.Events(ctx, node)
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(all, func(e string) bool { return strings.HasPrefix(e, start) }) {
			return fmt.Errorf("node %s: no event %q among %q", node, start, all)
		}
		return nil
	})
}

// Check checks at the end of the test that the promises S6 and C1 were kept.
func (b *Bed) Check(t *testing.T) {
	t.Helper()
	mark, seen := b.Audit(t).Mark(), b.Guard.count()
	t.Cleanup(func() {
		for _, violation := range b.Guard.since(seen) {
			t.Errorf("S6: %s", violation)
		}
		all := b.Audit(t).Since(mark)
		for _, r := range all.OfUnknownUsers() {
			t.Errorf("C1: the daemon acts as %s: %s", r.User.Username, r)
		}
		for _, ours := range []func(audit.Requests) audit.Requests{audit.Requests.OfDaemons, audit.Requests.OfControllers} {
			for _, problem := range ours(all).OutsideEnvelope(func(r audit.Request) bool { return b.May(t, r) }) {
				t.Errorf("C1: %s", problem)
			}
		}
		b.Used.Record(t.Name(), all.OfDaemons())
		if b.playground.Ended() {
			t.Fatalf("the playground has ended:\n%s", b.playground.Tail(50))
		}
	})
}

// May asks the API server whether the request's user has the right to make it. The right to
// approve a certificate depends on its signer, which the log does not show. So May returns
// false for an approval.
func (b *Bed) May(t *testing.T, r audit.Request) bool {
	t.Helper()
	if r.Object.Subresource == "approval" {
		return false
	}
	review := authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{User: r.User.Username, Groups: r.User.Groups}}
	if o := r.Object; o.Resource == "" {
		path, _, _ := strings.Cut(r.URI, "?")
		review.Spec.NonResourceAttributes = &authorizationv1.NonResourceAttributes{Verb: r.Verb, Path: path}
	} else {
		review.Spec.ResourceAttributes = &authorizationv1.ResourceAttributes{
			Verb: r.Verb, Group: o.Group, Resource: o.Resource, Subresource: o.Subresource, Namespace: o.Namespace, Name: o.Name,
		}
	}
	answer, err := b.Admin.AuthorizationV1().SubjectAccessReviews().Create(context.WithoutCancel(t.Context()), &review, metav1.CreateOptions{})
	if err != nil {
		t.Errorf("C1: whether the request was within the daemon's rights is not known: %v", err)
		return false
	}
	return answer.Status.Allowed
}
