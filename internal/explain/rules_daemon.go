package explain

import (
	"fmt"
	"slices"
	"time"
)

// daemon derives the state of the daemon from the Lease and its events.
func (all Reasons) daemon(v DaemonView, now time.Time) Daemon {
	d := Daemon{Lease: v.Name}
	events := all.recorded("Lease", v.Events)
	events = slices.DeleteFunc(events, func(e event) bool {
		return e.Name == "CloudCallsLimited" && e.isOver(events, "CloudCallsNotLimited")
	})
	d.Reported = reported(events, nil, now)
	if v.Lease == nil {
		d.Problem = v.Unread
		if d.Problem == "" {
			d.Problem = fmt.Sprintf("There is no Lease %s, so no daemon that takes a Lease has led here. With --leader-elect=false a daemon takes none. If the daemon has another Lease (--leader-elect-resource-name), name it with --lease.", v.Name)
		}
		return d
	}
	spec := v.Lease.Spec
	if spec.AcquireTime != nil {
		d.Since = spec.AcquireTime.Time
	}
	if spec.RenewTime != nil {
		d.Renewed = spec.RenewTime.Time
	}
	if spec.HolderIdentity != nil {
		d.Leader = *spec.HolderIdentity
	}
	var lasts time.Duration
	if spec.LeaseDurationSeconds != nil {
		lasts = time.Duration(*spec.LeaseDurationSeconds) * time.Second
	}
	switch {
	case d.Leader == "":
		d.Problem = fmt.Sprintf("Nobody holds the Lease %s, so no daemon works. Look at the daemon's Pods.", v.Name)
	case now.Sub(d.Renewed) > lasts+clockSkew:
		d.Problem = fmt.Sprintf("%s holds the Lease %s and has not renewed it for %v, so no daemon works. Look at the daemon's Pods.", d.Leader, v.Name, now.Sub(d.Renewed).Round(time.Second))
	}
	return d
}

// clockSkew is how far the clock of this machine may be ahead of the daemon's.
const clockSkew = 5 * time.Second
