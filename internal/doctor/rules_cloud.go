package doctor

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-k8s/fairlead/internal/controller/mark"
	"github.com/fairlead-k8s/fairlead/internal/controller/nodefact"
)

// maxSkew is the largest difference between two clocks that is not reported.
// Certificates and Leases tolerate a few seconds.
const maxSkew = 5 * time.Second

func cloudChecks() []Check {
	return []Check{
		{
			ID: "FL501", Category: Cloud, Level: Error, Title: "The cloud denies access",
			Why:   "The credentials are wrong, have expired or do not allow what the daemon needs. Meanwhile nothing is deleted, and nothing is initialised.",
			Looks: "The reason `CloudDenied` in conditions of Nodes and Services.",
			Fix:   "kubectl -n kube-system logs -l app.kubernetes.io/component=cloud-controller-manager --tail=50 # docs/guides/credentials.md says how to change them",
			Needs: []Source{Nodes, Services}, find: accessDenied,
		},
		{
			ID: "FL502", Category: Cloud, Level: Warning, Title: "Clocks differ",
			Why:   "Whether a Lease has expired depends on the clock. Clouds refuse requests whose signature has a wrong time.",
			Looks: fmt.Sprintf("The `Date` of the API server's answers and the clock of this machine; and Leases that were renewed in the future. Differences of more than %v are reported.", maxSkew),
			Fix:   "timedatectl status # on the machine that the message names", find: skewedClocks,
		},
		{
			ID: "FL504", Category: Cloud, Level: Warning, Title: "Calls wait for the cloud's quota",
			Why:   "Something else uses the account's quota, or the daemon's bounds are too low. Everything takes longer.",
			Looks: "The events `CloudCallsLimited` and `CloudCallsNotLimited` of the Lease in the last hour.",
			Fix:   "kubectl -n {namespace} get events --field-selector involvedObject.name={name}",
			Needs: []Source{Events}, find: callsLimited,
		},
		{
			ID: "FL505", Category: Cloud, Level: Warning, Title: "Nodes are compared with the cloud more slowly than asked for",
			Why:   "The daemon keeps to a part of the account's request quota. Nodes show changes of their instances later.",
			Looks: "The events `CloudComparisonsSlowed` and `CloudCallsNotLimited` of the Lease in the last hour.",
			Fix:   "kubectl -n {namespace} get events --field-selector involvedObject.name={name} # docs/guides/cloud-quota.md",
			Needs: []Source{Events}, find: comparisonsSlowed,
		},
	}
}

func accessDenied(v *View) []Finding {
	var objects, messages []string
	for i := range v.Nodes {
		n := &v.Nodes[i]
		for _, kind := range []corev1.NodeConditionType{mark.NodeInitialized, mark.InstanceMissing} {
			if c := nodefact.Condition(n, kind); c != nil && c.Reason == cloudDenied && !leftAlone(n) {
				objects, messages = append(objects, objectOf(n)), append(messages, c.Message)
			}
		}
	}
	for i := range v.Services {
		if c := conditionOf(&v.Services[i], mark.ServiceProvisioning); c != nil && c.Reason == cloudDenied {
			objects, messages = append(objects, serviceObject(&v.Services[i])), append(messages, c.Message)
		}
	}
	if len(objects) == 0 {
		return nil
	}
	objects = slices.Compact(objects)
	return []Finding{{Message: fmt.Sprintf("Objects that wait: %d. The first one says: %s", len(objects), messages[0]), Evidence: limited(objects)}}
}

func skewedClocks(v *View) (all []Finding) {
	if v.Offset.Abs() > maxSkew {
		side := "ahead of"
		if v.Offset < 0 {
			side = "behind"
		}
		all = append(all, Finding{Message: fmt.Sprintf("The clock of this machine is %s %s that of the API server.", v.Offset.Abs().Round(time.Second), side)})
	}
	for i := range v.Leases {
		l := &v.Leases[i]
		if l.Spec.RenewTime != nil && namesManager(l.Name) && l.Spec.RenewTime.Sub(v.Now) > maxSkew {
			holder := "its holder"
			if l.Spec.HolderIdentity != nil {
				holder = strings.TrimSpace(*l.Spec.HolderIdentity)
			}
			all = append(all, Finding{Object: "lease/" + leaseName(l), Message: fmt.Sprintf("%s has renewed it %s in the future: its clock is ahead of that of the API server.", holder, l.Spec.RenewTime.Sub(v.Now).Round(time.Second))})
		}
	}
	return all
}

func callsLimited(v *View) []Finding { return v.lasting("CloudCallsLimited") }

func comparisonsSlowed(v *View) []Finding { return v.lasting("CloudComparisonsSlowed") }

// lasting returns a finding for each Lease with an event that CloudCallsNotLimited has not
// followed.
func (v *View) lasting(reason string) (all []Finding) {
	over := v.recently("CloudCallsNotLimited")
	for _, e := range v.recently(reason) {
		ended := slices.ContainsFunc(over, func(o *corev1.Event) bool {
			return o.InvolvedObject.Namespace == e.InvolvedObject.Namespace && o.InvolvedObject.Name == e.InvolvedObject.Name && eventTime(o).After(eventTime(e))
		})
		if !ended {
			all = append(all, Finding{Object: "lease/" + e.InvolvedObject.Namespace + "/" + e.InvolvedObject.Name, Message: e.Message})
		}
	}
	return all
}
