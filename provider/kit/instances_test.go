package kit_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/fairlead-k8s/fairlead/provider"
	"github.com/fairlead-k8s/fairlead/provider/kit"
)

// server is an instance of a tiny cloud.
type server struct {
	id, name string
	gone     bool
}

// servers is the tiny cloud. It counts its calls.
type servers struct {
	all    []server
	err    error // of each call
	calls  int
	answer *server // result of each call of ByID; nil: the server with the ID
}

func (c *servers) instances() kit.Instances[server] {
	return kit.Instances[server]{
		ParseID: func(text string) (string, error) {
			parts, err := regional.Parse(text)
			return parts["id"], err
		},
		ByID: func(_ context.Context, id string) (server, error) {
			c.calls++
			if c.answer != nil {
				return *c.answer, nil
			}
			i := slices.IndexFunc(c.all, func(s server) bool { return s.id == id })
			if c.err == nil && i < 0 {
				return server{}, fmt.Errorf("404: %w", cloudprovider.InstanceNotFound)
			}
			return c.all[max(i, 0)], c.err
		},
		Named: func(context.Context, string) ([]server, error) {
			c.calls++
			return c.all, c.err
		},
		Identify: func(s server) kit.Identity { return kit.Identity{ID: s.id, Name: s.name, Gone: s.gone} },
	}
}

func node(name, providerID string) *corev1.Node {
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.NodeSpec{ProviderID: providerID}}
}

func fleet() *servers {
	return &servers{all: []server{
		{id: "i-1", name: "a"},
		{id: "i-2", name: "b"},
		{id: "i-3", name: "twin"},
		{id: "i-4", name: "twin"},
		{id: "i-5", name: "old", gone: true},
		{id: "i-6", name: "a", gone: true},
		{id: "i-1", name: "a"}, // pages that overlap
	}}
}

// rows has Nodes, each with the wanted answer: an instance, "absent" or an error.
var rows = []struct {
	node *corev1.Node
	want string
}{
	{node("a", ""), "i-1"},
	{node("a", "acme://eu/i-2"), "i-2"}, // by the provider ID, whatever the name
	{node("b", "acme:///i-1"), "i-1"},
	{node("none", ""), "absent"},
	{node("none", "acme://eu/i-9"), "absent"},
	{node("old", ""), "absent"},
	{node("old", "acme://eu/i-5"), "absent"},
	{node("twin", ""), "2 instances are named twin: i-3, i-4"},
	{node("twin", "acme://eu/i-4"), "i-4"},
	{node("a", "aws:///eu/i-1"), "belongs to another provider"},
	{node("a", "acme://eu/"), "malformed"},
}

func TestFind(t *testing.T) {
	for _, row := range rows {
		check(t, row.node, row.want, func(n *corev1.Node) (server, error) { return fleet().instances().Find(t.Context(), n) })
	}
	for _, row := range rows {
		exists, err := fleet().instances().Exists(t.Context(), row.node)
		found := strings.HasPrefix(row.want, "i-")
		if exists != found || (err == nil) != (found || row.want == "absent") {
			t.Errorf("%s %s exists: %v, %v", row.node.Name, row.node.Spec.ProviderID, exists, err)
		}
	}
}

func check(t *testing.T, n *corev1.Node, want string, find func(*corev1.Node) (server, error)) {
	t.Helper()
	got, err := find(n)
	switch {
	case want == "absent":
		if !errors.Is(err, cloudprovider.InstanceNotFound) {
			t.Errorf("%s %s: got %v, %v", n.Name, n.Spec.ProviderID, got, err)
		}
	case strings.HasPrefix(want, "i-"):
		if err != nil || got.id != want {
			t.Errorf("%s %s: got %v, %v", n.Name, n.Spec.ProviderID, got, err)
		}
	default:
		if err == nil || !strings.Contains(err.Error(), want) || errors.Is(err, cloudprovider.InstanceNotFound) || provider.Classify(err).Kind != provider.Invalid {
			t.Errorf("%s %s: got %v, %v", n.Name, n.Spec.ProviderID, got, err)
		}
	}
}

// Only an instance that the cloud lists as gone is found, and only by its ID.
func TestFindGone(t *testing.T) {
	for _, row := range rows {
		got, found, err := fleet().instances().FindGone(t.Context(), row.node)
		id, listed := row.node.Spec.ProviderID, row.node.Spec.ProviderID == "acme://eu/i-5"
		bad := id != "" && !strings.HasPrefix(row.want, "i-") && row.want != "absent"
		if found != listed || (err != nil) != bad || listed && got.id != "i-5" {
			t.Errorf("%s %s: got %v, %v, %v", row.node.Name, id, got, found, err)
		}
	}
	c := fleet()
	c.err = errors.New("503")
	if _, found, err := c.instances().FindGone(t.Context(), node("old", "acme://eu/i-5")); found || err == nil {
		t.Errorf("in an outage: %v, %v", found, err)
	}
}

// With any list, FindAll gives the same answers as Find.
func TestNoListMakesAnythingAbsent(t *testing.T) {
	whole := fleet().all
	for name, list := range map[string][]server{"None": nil, "Short": whole[:1], "Whole": whole, "Others": {{id: "i-8", name: "z"}}} {
		t.Run(name, func(t *testing.T) {
			var nodes []*corev1.Node
			for _, row := range rows {
				nodes = append(nodes, row.node)
			}
			answers := fleet().instances().FindAll(t.Context(), nodes, list)
			for n, row := range rows {
				check(t, row.node, row.want, func(*corev1.Node) (server, error) { return answers[n].Instance, answers[n].Err })
			}
		})
	}
	c := fleet()
	c.instances().FindAll(t.Context(), []*corev1.Node{node("a", ""), node("b", "acme:///i-2"), node("x", "aws:///i")}, whole)
	if c.calls != 0 {
		t.Errorf("%d calls about instances that are in the list", c.calls)
	}
}

func TestFaultsMakeNothingAbsent(t *testing.T) {
	outage := errors.New("503")
	for _, row := range rows {
		c := fleet()
		c.err = outage
		if exists, err := c.instances().Exists(t.Context(), row.node); exists || err == nil || errors.Is(err, cloudprovider.InstanceNotFound) {
			t.Errorf("%s %s: %v, %v", row.node.Name, row.node.Spec.ProviderID, exists, err)
		}
	}
	c := fleet()
	c.answer = &server{}
	if _, err := c.instances().Find(t.Context(), node("a", "acme:///i-1")); err == nil || errors.Is(err, cloudprovider.InstanceNotFound) {
		t.Errorf("an answer about nothing: %v", err)
	}
}

func TestAllPages(t *testing.T) {
	pages := map[string]string{"": "a", "a": "b", "b": ""}
	broken := errors.New("reset")
	ended, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("the caller has gone"))
	for name, row := range map[string]struct {
		ctx  context.Context
		page func(context.Context, string) ([]string, string, error)
		want string
	}{
		"All": {t.Context(), func(_ context.Context, token string) ([]string, string, error) {
			return []string{"item of " + token}, pages[token], nil
		}, ""},
		"Broken": {t.Context(), func(_ context.Context, token string) ([]string, string, error) {
			return []string{"x"}, pages[token], map[string]error{"b": broken}[token]
		}, "page 3: reset"},
		"Endless": {t.Context(), func(context.Context, string) ([]string, string, error) { return []string{"x"}, "same", nil }, "page 2: the cloud answered with the token of an earlier page"},
		"Ended":   {ended, func(context.Context, string) ([]string, string, error) { return nil, "", nil }, "page 1: the caller has gone"},
	} {
		got, err := kit.AllPages(row.ctx, row.page)
		if row.want == "" && (err != nil || !slices.Equal(got, []string{"item of ", "item of a", "item of b"})) {
			t.Errorf("%s: got %q, %v", name, got, err)
		}
		if row.want != "" && (got != nil || err == nil || err.Error() != row.want) {
			t.Errorf("%s: got %q, %v", name, got, err)
		}
	}
}
