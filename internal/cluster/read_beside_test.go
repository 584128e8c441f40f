package cluster

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
)

// TestReadBesideAsksForWhatIsAllowed counts requests. ReadBeside makes no
// request that would be refused.
func TestReadBesideAsksForWhatIsAllowed(t *testing.T) {
	rule := func(group string, resources ...string) authorizationv1.ResourceRule {
		return authorizationv1.ResourceRule{Verbs: []string{"list"}, APIGroups: []string{group}, Resources: resources}
	}
	const review = "create selfsubjectrulesreviews in "
	for name, row := range map[string]struct {
		rules []authorizationv1.ResourceRule
		err   error
		want  []string
	}{
		"Nothing":      {nil, nil, []string{review}},
		"NoAnswer":     {nil, errors.New("refused"), []string{review}},
		"RoleOfTheCCM": {[]authorizationv1.ResourceRule{rule("", "nodes", "services")}, nil, []string{review, "list nodes in "}},
		"AdminOfEverything": {[]authorizationv1.ResourceRule{rule("*", "*")}, nil, []string{
			review, "list nodes in ", "list leases in kube-system", "list deployments in kube-system", "list daemonsets in kube-system", "list statefulsets in kube-system",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			client := fake.NewClientset()
			client.PrependReactor("create", "selfsubjectrulesreviews", func(a clienttesting.Action) (bool, runtime.Object, error) {
				answer := a.(clienttesting.CreateAction).GetObject().(*authorizationv1.SelfSubjectRulesReview)
				answer.Status.ResourceRules = row.rules
				return true, answer, row.err
			})
			client.PrependReactor("list", "nodes", func(clienttesting.Action) (bool, runtime.Object, error) {
				return true, &corev1.NodeList{ListMeta: metav1.ListMeta{Continue: "more"}}, nil // Only the first page is read.
			})
			v, err := ReadBeside(t.Context(), client, &Clock{Now: func() time.Time { return noon }})
			if !errors.Is(err, row.err) || (v == nil) != (row.err != nil) || v != nil && !v.Now.Equal(noon) {
				t.Errorf("got %+v, error %v", v, err)
			}
			var got []string
			for _, a := range client.Actions() {
				got = append(got, a.GetVerb()+" "+a.GetResource().Resource+" in "+a.GetNamespace())
			}
			if d := cmp.Diff(row.want, got); d != "" {
				t.Errorf("-want +got:\n%s", d)
			}
		})
	}
}

func TestMayList(t *testing.T) {
	for name, row := range map[string]struct {
		verbs, groups, resources, names string
		want                            bool
	}{
		"Named":         {"get list", "apps", "daemonsets deployments", "", true},
		"Everything":    {"*", "*", "*", "", true},
		"OtherVerb":     {"get watch", "apps", "deployments", "", false},
		"OtherGroup":    {"list", "extensions", "deployments", "", false},
		"OtherResource": {"list", "apps", "replicasets", "", false},
		"OnlyOneByName": {"list", "apps", "deployments", "ccm", false},
		"NoRule":        {"", "", "", "", false},
	} {
		t.Run(name, func(t *testing.T) {
			rule := authorizationv1.ResourceRule{Verbs: strings.Fields(row.verbs), APIGroups: strings.Fields(row.groups), Resources: strings.Fields(row.resources), ResourceNames: strings.Fields(row.names)}
			if got := mayList([]authorizationv1.ResourceRule{{}, rule}, "apps", "deployments"); got != row.want {
				t.Errorf("got %t", got)
			}
		})
	}
}
