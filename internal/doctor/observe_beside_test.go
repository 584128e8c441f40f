package doctor

import (
	"errors"
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

// TestObserveBesideAsksForWhatIsAllowed counts requests. ObserveBeside makes no
// request that would be refused.
func TestObserveBesideAsksForWhatIsAllowed(t *testing.T) {
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
			v, err := ObserveBeside(t.Context(), client, &Clock{Now: func() time.Time { return noon }})
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
