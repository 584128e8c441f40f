package cluster

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	defaultLease = metav1.NamespaceSystem + "/" + cloudControllerManager
	// A Lease that has not been renewed for staleAfter has no leader any more. Leaders
	// renew their Lease every few seconds.
	staleAfter = time.Minute
)

// Manager is a cloud-controller-manager.
type Manager struct {
	// Workload is nil if only the Lease is visible, as in a managed control plane. It
	// is also nil for the daemon itself when the daemon looks for other managers.
	Workload *Workload
	Flags    Flags
	Elects   bool
	Lease    string // namespace and name; empty if it is not known
	isSelf   bool   // the manager is the daemon that looks for others
}

// Object returns kind/namespace/name of the workload or the Lease.
func (m Manager) Object() string {
	if m.Workload == nil {
		return "lease/" + m.Lease
	}
	return m.Workload.Object()
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
		return m.Object() + " (no Lease)"
	case m.Lease == "":
		return m.Object()
	default:
		return fmt.Sprintf("%s (Lease %s)", m.Object(), m.Lease)
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
		m := managerOf(w, FlagsOf(w.Template.Containers[at].Line))
		if m.Flags.Is("shadow", false) {
			continue // A manager with --shadow takes no Lease, and changes nothing.
		}
		claimed = append(claimed, m.Lease)
		if w.Replicas > 0 {
			all = append(all, m)
		}
	}
	for i := range v.Leases {
		l := &v.Leases[i]
		if name := NameOf(l); NamesManager(l.Name) && v.IsRenewed(l) && !slices.Contains(claimed, name) {
			all = append(all, Manager{Elects: true, Lease: name, Flags: Flags{}})
		}
	}
	slices.SortStableFunc(all, func(a, b Manager) int { return cmp.Compare(a.Object(), b.Object()) })
	return all
}

// DaemonLease returns the namespace/name of the daemon's Lease. If the usual Lease does
// not exist, it returns the Lease that a manager names. If no manager names one, it
// returns the usual Lease.
func (v *View) DaemonLease() string {
	if v.Lease(defaultLease) != nil {
		return defaultLease
	}
	for _, m := range v.Managers() {
		if m.Lease != "" {
			return m.Lease
		}
	}
	return defaultLease
}

func managerOf(w *Workload, f Flags) Manager {
	m := Manager{Workload: w, Flags: f, Elects: f.Is("leader-elect", true)}
	namespace, known := f.or("leader-elect-resource-namespace", metav1.NamespaceSystem)
	name, alsoKnown := f.or("leader-elect-resource-name", cloudControllerManager)
	if m.Elects && known && alsoKnown {
		m.Lease = namespace + "/" + name
	}
	return m
}

// divides reports whether the manager's flags limit it to some of the objects.
func (m Manager) divides() bool {
	return m.Flags.Has("own-provider-id-schemes") || m.Flags.Has("own-node-selector") || m.Flags["cloud-provider"] == "static" ||
		m.Flags.Has("load-balancer-class") || slices.ContainsFunc(m.Flags.List("controllers"), func(c string) bool { return c != "*" })
}

// Runs reports whether the manager runs a controller. The arguments are the
// controller's present name and its former name.
func (m Manager) Runs(controller, other string) bool {
	chosen := m.Flags.List("controllers")
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

// Serves reports whether the manager might serve Services of this class. The class ""
// means Services without a class. If the manager's workload is not visible, its Flags
// are not known, and the result is true.
func (m Manager) Serves(class string) bool {
	classes := m.Flags.List("load-balancer-class")
	switch {
	case m.Workload == nil:
		return true
	case !m.Runs("service-lb-controller", "service"):
		return false
	case class == "":
		return !slices.Contains(classes, "-")
	default:
		return slices.Contains(classes, class)
	}
}

// Routes reports whether the manager makes routes.
func (m Manager) Routes() bool {
	return m.Workload != nil && m.Flags.Is("configure-cloud-routes", true) && m.Flags.Has("cluster-cidr") && m.Runs("node-route-controller", "route")
}
