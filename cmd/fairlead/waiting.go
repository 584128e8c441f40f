package main

import (
	"slices"

	coordinationv1 "k8s.io/api/coordination/v1"

	"github.com/fairlead-k8s/fairlead/internal/doctor"
	"github.com/fairlead-k8s/fairlead/internal/explain"
)

// waitingIn returns a function that applies the rules of `explain --waiting` to the
// objects that the command "doctor" has read.
func waitingIn(reasons explain.Reasons) doctor.Explain {
	return func(v *doctor.View) any {
		w := reasons.WaitingIn(explain.Lists{
			Nodes: v.Nodes, Services: v.Services, Volumes: v.Volumes, Requests: v.Requests,
			Events: slices.Concat(v.Events, v.OtherEvents), Now: v.Now,
		}, daemonIn(v))
		w.Unread = v.Unread(doctor.Nodes, doctor.Services, doctor.Volumes, doctor.Requests, doctor.Events, doctor.OtherEvents)
		return w
	}
}

// daemonIn returns the part of a doctor.View that is about the daemon.
func daemonIn(v *doctor.View) explain.DaemonView {
	d := explain.DaemonView{Name: v.DaemonLease()}
	at := slices.IndexFunc(v.Leases, func(l coordinationv1.Lease) bool { return l.Namespace+"/"+l.Name == d.Name })
	if at >= 0 {
		d.Lease = &v.Leases[at]
	} else if unread := v.Unread(doctor.Leases); len(unread) > 0 {
		d.Unread = "Whether a daemon works is not known. " + unread[0]
	}
	for i := range v.Events {
		if o := &v.Events[i].InvolvedObject; o.Kind == "Lease" && o.Namespace+"/"+o.Name == d.Name {
			d.Events = append(d.Events, v.Events[i])
		}
	}
	return d
}
