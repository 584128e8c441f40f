package doctor

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	defaultLease = "cloud-controller-manager"
	// A Lease that has not been renewed for staleAfter has no leader any more. Leaders
	// renew their Lease every few seconds.
	staleAfter = time.Minute
)

// Manager is a cloud-controller-manager.
type Manager struct {
	// Workload is nil if only the Lease is visible, as in a managed control plane. It
	// is also nil for the daemon itself when the daemon looks for other managers.
	Workload *Workload
	Flags    flags
	Elects   bool
	Lease    string // namespace and name; empty if it is not known
	isSelf   bool   // the manager is the daemon that looks for others
}

func (m Manager) object() string {
	if m.Workload == nil {
		return "lease/" + m.Lease
	}
	return m.Workload.object()
}

func (m Manager) String() string {
	switch {
	case m.isSelf && m.Elects:
		return fmt.Sprintf("this daemon (Lease %s)", m.Lease)
	case m.isSelf:
		return "this daemon (no Lease)"
	case m.Workload == nil:
		return "the holder of Lease " + m.Lease
	case !m.Elects:
		return m.object() + " (no Lease)"
	case m.Lease == "":
		return m.object()
	default:
		return fmt.Sprintf("%s (Lease %s)", m.object(), m.Lease)
	}
}

// Managers returns the cloud-controller-managers that should be at work. These are the
// workloads that have replicas and run without --shadow. The result also has a manager
// without a visible workload if its Lease is renewed.
func (v *View) Managers() []Manager {
	var all []Manager
	var claimed []string
	for i := range v.Workloads {
		w := &v.Workloads[i]
		at := slices.IndexFunc(w.Template.Containers, isManager)
		if at < 0 {
			continue
		}
		m := managerOf(w, flagsOf(w.Template.Containers[at].Line))
		if m.Flags.is("shadow", false) {
			continue // A manager with --shadow takes no Lease, and changes nothing.
		}
		claimed = append(claimed, m.Lease)
		if w.Replicas > 0 {
			all = append(all, m)
		}
	}
	for i := range v.Leases {
		l := &v.Leases[i]
		if name := leaseName(l); namesManager(l.Name) && v.isRenewed(l) && !slices.Contains(claimed, name) {
			all = append(all, Manager{Elects: true, Lease: name, Flags: flags{}})
		}
	}
	slices.SortStableFunc(all, func(a, b Manager) int { return cmp.Compare(a.object(), b.object()) })
	return all
}

func managerOf(w *Workload, f flags) Manager {
	m := Manager{Workload: w, Flags: f, Elects: f.is("leader-elect", true)}
	namespace, known := f.or("leader-elect-resource-namespace", metav1.NamespaceSystem)
	name, alsoKnown := f.or("leader-elect-resource-name", defaultLease)
	if m.Elects && known && alsoKnown {
		m.Lease = namespace + "/" + name
	}
	return m
}

func leaseName(l *coordinationv1.Lease) string { return l.Namespace + "/" + l.Name }

// lease returns the Lease with this namespace/name, or nil if there is none.
func (v *View) lease(name string) *coordinationv1.Lease {
	for i := range v.Leases {
		if leaseName(&v.Leases[i]) == name {
			return &v.Leases[i]
		}
	}
	return nil
}

// isRenewed reports whether the Lease has a holder that renews it.
func (v *View) isRenewed(l *coordinationv1.Lease) bool {
	return l.Spec.HolderIdentity != nil && *l.Spec.HolderIdentity != "" && l.Spec.RenewTime != nil && v.Now.Sub(l.Spec.RenewTime.Time) < staleAfter
}

// divides reports whether the manager's flags limit it to some of the objects.
func (m Manager) divides() bool {
	return m.Flags.has("own-provider-id-schemes") || m.Flags.has("own-node-selector") || m.Flags["cloud-provider"] == "static" ||
		m.Flags.has("load-balancer-class") || slices.ContainsFunc(m.Flags.list("controllers"), func(c string) bool { return c != "*" })
}

// runs reports whether the manager runs a controller. The arguments are the
// controller's present name and its former name.
func (m Manager) runs(controller, other string) bool {
	chosen := m.Flags.list("controllers")
	if len(chosen) == 0 {
		return true
	}
	for _, c := range chosen {
		switch strings.TrimPrefix(c, "-") {
		case controller, other:
			return !strings.HasPrefix(c, "-")
		}
	}
	return slices.Contains(chosen, "*")
}

// serves reports whether the manager might serve Services of this class. The class ""
// means Services without a class. If the manager's workload is not visible, its flags
// are not known, and the result is true.
func (m Manager) serves(class string) bool {
	classes := m.Flags.list("load-balancer-class")
	switch {
	case m.Workload == nil:
		return true
	case !m.runs("service-lb-controller", "service"):
		return false
	case class == "":
		return !slices.Contains(classes, "-")
	default:
		return slices.Contains(classes, class)
	}
}

// routes reports whether the manager makes routes.
func (m Manager) routes() bool {
	return m.Workload != nil && m.Flags.is("configure-cloud-routes", true) && m.Flags.has("cluster-cidr") && m.runs("node-route-controller", "route")
}
