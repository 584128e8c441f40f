package doctor

import (
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-k8s/fairlead/internal/cluster"
)

func rightsChecks() []Check {
	return []Check{
		{
			ID: "FL401", Level: Error, Needs: andManagers(cluster.Reviews), find: missingRights, cannot: withoutReviews,
			Title: "The manager's account lacks a right",
			Why:   "All requests that need it fail. [rights.md](rights.md) lists them.",
			Fix:   "kubectl -n {namespace} get {kind} {name} -o jsonpath='{.spec.template.spec.serviceAccountName}' # then give this account the right, with a ClusterRole and a ClusterRoleBinding: deploy/deployment.yaml has both for Fairlead; the daemon of a vendor needs the roles of the vendor",
		},
		{
			ID: "FL403", Level: Warning, Needs: andManagers(cluster.Reviews), find: excessRights, cannot: withoutReviews,
			Title: "The manager's account has rights that allow almost everything",
			Why:   "These are: list all Secrets, create Pods, create tokens of any account, impersonate users, and `*`.",
			Fix:   "kubectl get clusterrolebindings -o wide | grep {name} # then bind the role in deploy/deployment.yaml instead, and the rights that docs/reference/rights.md lists for the provider",
		},
	}
}

// mostReviewed is the maximum number of managers whose accounts are reviewed.
const mostReviewed = 3

// questions returns the reviews to make about the rights of the managers' accounts.
func questions(v *cluster.View) (all []cluster.Review) {
	reviewed := 0
	for _, m := range v.Managers() {
		if m.Workload != nil && m.Workload.Template.ServiceAccount != "" && reviewed < mostReviewed {
			reviewed++
			all = append(all, questionsAbout(m)...)
		}
	}
	return all
}

// questionsAbout returns the reviews to make about one manager. With
// --use-service-account-credentials, its controllers write with accounts of their own.
func questionsAbout(m cluster.Manager) (all []cluster.Review) {
	const accounts = "system:serviceaccount:"
	account := accounts + m.Workload.Namespace + ":" + m.Workload.Template.ServiceAccount
	writer := func(controller string) string {
		if m.Flags.Is("use-service-account-credentials", false) {
			return accounts + metav1.NamespaceSystem + ":" + controller
		}
		return account
	}
	ask := func(account, resource string, verbs ...string) {
		for _, verb := range verbs {
			all = append(all, cluster.Review{Manager: m.Object(), Account: account, Right: cluster.Right{Verb: verb, Resource: resource}})
		}
	}
	ask(account, "nodes", "list", "watch")
	if m.Elects && m.Lease != "" {
		namespace, name, _ := strings.Cut(m.Lease, "/")
		ask(account, "leases", "get", "update")
		for i := range all[2:] {
			r := &all[2+i].Right
			r.Group, r.Namespace, r.Name = "coordination.k8s.io", namespace, name
		}
	}
	if m.Runs("cloud-node-controller", "cloud-node") {
		by := writer("node-controller")
		ask(by, "nodes", "patch")
		ask(by, "nodes/status", "patch")
		ask(by, "events", "create")
	}
	if m.Runs("cloud-node-lifecycle-controller", "cloud-node-lifecycle") && m.Flags.Is("node-deletion", true) {
		ask(writer("node-controller"), "nodes", "get", "delete")
	}
	if m.Runs("service-lb-controller", "service") {
		ask(account, "services", "list", "watch")
		ask(writer("service-controller"), "services/status", "patch")
	}
	for _, r := range []cluster.Right{
		{Verb: "list", Resource: "secrets", Excess: true},
		{Verb: "create", Resource: "pods", Excess: true},
		{Verb: "create", Resource: "serviceaccounts/token", Excess: true},
		{Verb: "impersonate", Resource: "users", Excess: true},
		{Verb: "*", Group: "*", Resource: "*", Excess: true},
	} {
		all = append(all, cluster.Review{Manager: m.Object(), Account: account, Right: r})
	}
	return all
}

func withoutReviews(v *cluster.View) string {
	if len(v.Reviews) == 0 {
		return "no manager's service account is known"
	}
	return ""
}

// reviewsOf returns a finding for each account that the chosen reviews are about. The
// finding names the rights in these reviews.
func reviewsOf(v *cluster.View, what string, chosen func(cluster.Review) bool) (all []Finding) {
	at := map[string]int{}
	for _, r := range v.Reviews {
		if !chosen(r) {
			continue
		}
		key := r.Manager + " " + r.Account
		if i, ok := at[key]; ok {
			all[i].Message += ", " + r.Right.String()
			continue
		}
		at[key] = len(all)
		all = append(all, Finding{Object: r.Manager, Message: fmt.Sprintf("%s %s: %s", r.Account, what, r.Right)})
	}
	return all
}

func missingRights(v *cluster.View) []Finding {
	return reviewsOf(v, "may not", func(r cluster.Review) bool { return !r.Right.Excess && !r.Allowed })
}

func excessRights(v *cluster.View) []Finding {
	return reviewsOf(v, "may", func(r cluster.Review) bool { return r.Right.Excess && r.Allowed })
}
