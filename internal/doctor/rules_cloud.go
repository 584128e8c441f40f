package doctor

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/fairlead-k8s/fairlead/internal/cluster"
	"github.com/fairlead-k8s/fairlead/internal/controller/mark"
	"github.com/fairlead-k8s/fairlead/internal/controller/nodefact"
)

// maxSkew is the largest difference between two clocks that is not reported.
// Certificates and Leases tolerate a few seconds.
const maxSkew = 5 * time.Second

func cloudChecks() []Check {
	return []Check{
		{
			ID: "FL501", Level: Error, Needs: []cluster.Source{cluster.Nodes, cluster.Services}, find: accessDenied,
			Title: "The cloud denies access",
			Why:   "The credentials are wrong, have expired or do not allow what the daemon needs. Meanwhile nothing is deleted or initialised.",
			Fix:   "kubectl -n kube-system logs -l app.kubernetes.io/component=cloud-controller-manager --tail=50 # docs/guides/credentials.md says how to change them",
		},
		{
			ID: "FL502", Level: Warning, find: skewedClocks,
			Title: "Clocks differ",
			Why:   fmt.Sprintf("Those of the API server, this machine and the leader differ by more than %v. Leases and signatures depend on them.", maxSkew),
			Fix:   "timedatectl status # on the machine that the message names",
		},
		{
			ID: "FL504", Level: Warning, Needs: []cluster.Source{cluster.Events}, find: lasting("CloudCallsLimited"),
			Title: "Calls wait for the cloud's quota",
			Why:   "Something else uses the account's quota, or the daemon's bounds are too low. Everything takes longer.",
			Fix:   "kubectl -n {namespace} get events --field-selector involvedObject.name={name}",
		},
		{
			ID: "FL505", Level: Warning, Needs: []cluster.Source{cluster.Events}, find: lasting("CloudComparisonsSlowed"),
			Title: "Nodes are compared with the cloud more slowly than asked for",
			Why:   "The daemon keeps to a part of the account's quota, so Nodes show changes of their instances later.",
			Fix:   "kubectl -n {namespace} get events --field-selector involvedObject.name={name} # docs/guides/cloud-quota.md",
		},
	}
}

func accessDenied(v *cluster.View) []Finding {
	var objects, messages []string
	for i := range v.Nodes {
		n := &v.Nodes[i]
		for _, kind := range []corev1.NodeConditionType{mark.NodeInitialized, mark.InstanceMissing} {
			if c := nodefact.Condition(n, kind); c != nil && c.Reason == cloudDenied && cluster.LeftAloneBy(n) == "" {
				objects, messages = append(objects, "node/"+n.Name), append(messages, c.Message)
			}
		}
	}
	for i := range v.Services {
		s := &v.Services[i]
		if c := meta.FindStatusCondition(s.Status.Conditions, mark.ServiceProvisioning); c != nil && c.Reason == cloudDenied {
			objects, messages = append(objects, serviceObject(s)), append(messages, c.Message)
		}
	}
	if len(objects) == 0 {
		return nil
	}
	objects = slices.Compact(objects)
	f := found("Objects that wait: %d. The first one says: %s", len(objects), messages[0])
	f.Evidence = limited(objects)
	return []Finding{f}
}

func skewedClocks(v *cluster.View) (all []Finding) {
	if v.Offset.Abs() > maxSkew {
		side := "ahead of"
		if v.Offset < 0 {
			side = "behind"
		}
		all = append(all, found("The clock of this machine is %s %s that of the API server.", v.Offset.Abs().Round(time.Second), side))
	}
	for i := range v.Leases {
		l := &v.Leases[i]
		if l.Spec.RenewTime == nil || !cluster.NamesManager(l.Name) || l.Spec.RenewTime.Sub(v.Now) <= maxSkew {
			continue
		}
		holder := "its holder"
		if l.Spec.HolderIdentity != nil {
			holder = strings.TrimSpace(*l.Spec.HolderIdentity)
		}
		all = add(all, "lease/"+cluster.NameOf(l), found("%s has renewed it %s in the future: its clock is ahead of that of the API server.", holder, l.Spec.RenewTime.Sub(v.Now).Round(time.Second)))
	}
	return all
}

// lasting finds each Lease with an event that CloudCallsNotLimited has not followed.
func lasting(reason string) func(*cluster.View) []Finding {
	return func(v *cluster.View) (all []Finding) {
		over := recently(v, "CloudCallsNotLimited")
		for _, e := range recently(v, reason) {
			ended := slices.ContainsFunc(over, func(o *corev1.Event) bool {
				return isAbout(o, &e.InvolvedObject) && cluster.LastTime(o).After(cluster.LastTime(e))
			})
			if !ended {
				all = append(all, Finding{Object: "lease/" + e.InvolvedObject.Namespace + "/" + e.InvolvedObject.Name, Message: e.Message})
			}
		}
		return all
	}
}
