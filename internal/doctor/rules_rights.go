package doctor

import (
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Right is the right to use a verb on a resource.
type Right struct {
	Verb      string `json:"verb"`
	Group     string `json:"group,omitempty"`
	Resource  string `json:"resource"` // with the subresource, if any
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name,omitempty"`
	// Excess marks a right that a manager should not have.
	Excess bool `json:"excess,omitempty"`
}

// split returns the resource and its subresource.
func (r Right) split() (resource, sub string) {
	resource, sub, _ = strings.Cut(r.Resource, "/")
	return resource, sub
}

func (r Right) String() string {
	resource, sub := r.split()
	if r.Group != "" {
		resource += "." + r.Group
	}
	if sub != "" {
		resource += "/" + sub
	}
	return strings.TrimSpace(r.Verb + " " + resource + " " + r.Name)
}

func rightsChecks() []Check {
	return []Check{
		{
			ID: "FL401", Category: Rights, Level: Error, Title: "The manager's account lacks a right",
			Why:   "All requests that need the right fail. Without `delete nodes`, for example, Nodes of terminated instances stay for ever.",
			Looks: "A SubjectAccessReview for each right that docs/reference/rights.md lists, as far as the manager's flags need it.",
			Fix:   "kubectl -n {namespace} get {kind} {name} -o jsonpath='{.spec.template.spec.serviceAccountName}' # then give this account the right, with a ClusterRole and a ClusterRoleBinding: deploy/deployment.yaml has both for Fairlead; the daemon of a vendor needs the roles of the vendor",
			Needs: append([]Source{Reviews}, managers...), find: missingRights, cannot: withoutReviews,
		},
		{
			ID: "FL403", Category: Rights, Level: Warning, Title: "The manager's account has rights that allow almost everything",
			Why:   "Somebody who takes over the Pod gets these rights, too.",
			Looks: "A SubjectAccessReview for each of these rights: list all Secrets, create Pods, create tokens of any service account, impersonate users, and `*`. Some providers read a Secret: narrow the right to that Secret.",
			Fix:   "kubectl get clusterrolebindings -o wide | grep {name} # then bind the role in deploy/deployment.yaml instead, and the rights that docs/reference/rights.md lists for the provider",
			Needs: append([]Source{Reviews}, managers...), find: excessRights, cannot: withoutReviews,
		},
	}
}

// account returns the account with which the manager reads objects and renews its
// Lease. With --use-service-account-credentials, controllers write with other
// accounts.
func (m Manager) account() string {
	return "system:serviceaccount:" + m.Workload.Namespace + ":" + m.Workload.Template.ServiceAccount
}

// groupsOf returns the groups of a service account.
func groupsOf(account string) []string {
	parts := strings.Split(account, ":")
	return []string{"system:serviceaccounts", "system:serviceaccounts:" + parts[2], "system:authenticated"}
}

func (m Manager) writer(controller string) string {
	if m.Flags.is("use-service-account-credentials", false) {
		return "system:serviceaccount:" + metav1.NamespaceSystem + ":" + controller
	}
	return m.account()
}

// reviews returns the reviews to make about the rights of a manager's accounts. They
// have no answers yet.
func (m Manager) reviews() []Review {
	var all []Review
	ask := func(account string, rights ...Right) {
		for _, r := range rights {
			all = append(all, Review{Manager: m.object(), Account: account, Right: r})
		}
	}
	ask(m.account(), Right{Verb: "list", Resource: "nodes"}, Right{Verb: "watch", Resource: "nodes"})
	if m.Elects && m.Lease != "" {
		namespace, name, _ := strings.Cut(m.Lease, "/")
		for _, verb := range []string{"get", "update"} {
			ask(m.account(), Right{Verb: verb, Group: "coordination.k8s.io", Resource: "leases", Namespace: namespace, Name: name})
		}
	}
	if m.runs("cloud-node-controller", "cloud-node") {
		ask(m.writer("node-controller"), Right{Verb: "patch", Resource: "nodes"}, Right{Verb: "patch", Resource: "nodes/status"}, Right{Verb: "create", Resource: "events"})
	}
	if m.runs("cloud-node-lifecycle-controller", "cloud-node-lifecycle") && m.Flags.is("node-deletion", true) {
		ask(m.writer("node-controller"), Right{Verb: "get", Resource: "nodes"}, Right{Verb: "delete", Resource: "nodes"})
	}
	if m.runs("service-lb-controller", "service") {
		ask(m.account(), Right{Verb: "list", Resource: "services"}, Right{Verb: "watch", Resource: "services"})
		ask(m.writer("service-controller"), Right{Verb: "patch", Resource: "services/status"})
	}
	ask(m.account(),
		Right{Verb: "list", Resource: "secrets", Excess: true},
		Right{Verb: "create", Resource: "pods", Excess: true},
		Right{Verb: "create", Resource: "serviceaccounts/token", Excess: true},
		Right{Verb: "impersonate", Resource: "users", Excess: true},
		Right{Verb: "*", Group: "*", Resource: "*", Excess: true},
	)
	return all
}

func withoutReviews(v *View) string {
	if len(v.Reviews) == 0 {
		return "no manager's service account is known"
	}
	return ""
}

// reviewed selects reviews with the given function. It returns a finding for each
// account in the selected reviews. The finding names the account's rights in these
// reviews.
func (v *View) reviewed(what string, holds func(Review) bool) (all []Finding) {
	at := map[string]int{}
	for _, r := range v.Reviews {
		if !holds(r) {
			continue
		}
		key := r.Manager + " " + r.Account
		if _, ok := at[key]; !ok {
			at[key] = len(all)
			all = append(all, Finding{Object: r.Manager, Message: fmt.Sprintf("%s %s: ", r.Account, what)})
		} else {
			all[at[key]].Message += ", "
		}
		all[at[key]].Message += r.Right.String()
	}
	return all
}

func missingRights(v *View) []Finding {
	return v.reviewed("may not", func(r Review) bool { return !r.Right.Excess && !r.Allowed })
}

func excessRights(v *View) []Finding {
	return v.reviewed("may", func(r Review) bool { return r.Right.Excess && r.Allowed })
}
