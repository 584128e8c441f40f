package explain

import (
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// daemon derives the state of the daemon from the Lease and its events.
func (all Reasons) daemon(v daemonView, now time.Time) Daemon {
	d := Daemon{Lease: v.name}
	events := all.recorded("Lease", v.events)
	events = slices.DeleteFunc(events, func(e event) bool {
		return e.Name == "CloudCallsLimited" && e.isOver(events, "CloudCallsNotLimited")
	})
	d.Reported = reported(events, nil, now)
	if v.lease == nil {
		d.Problem = v.unread
		if d.Problem == "" {
			d.Problem = fmt.Sprintf("There is no Lease %s, so no daemon that takes a Lease has led here. With --leader-elect=false a daemon takes none. If the daemon has another Lease (--leader-elect-resource-name), name it with --lease.", v.name)
		}
		return d
	}
	spec := v.lease.Spec
	d.Leader = ptr.Deref(spec.HolderIdentity, "")
	d.Since, d.Renewed = ptr.Deref(spec.AcquireTime, metav1.MicroTime{}).Time, ptr.Deref(spec.RenewTime, metav1.MicroTime{}).Time
	const clockSkew = 5 * time.Second // how far the clock of this machine may be ahead of the daemon's
	lasts := time.Duration(ptr.Deref(spec.LeaseDurationSeconds, 0)) * time.Second
	switch {
	case d.Leader == "":
		d.Problem = fmt.Sprintf("Nobody holds the Lease %s, so no daemon works. Look at the daemon's Pods.", v.name)
	case now.Sub(d.Renewed) > lasts+clockSkew:
		d.Problem = fmt.Sprintf("%s holds the Lease %s and has not renewed it for %v, so no daemon works. Look at the daemon's Pods.", d.Leader, v.name, now.Sub(d.Renewed).Round(time.Second))
	}
	return d
}
