// Package kube is the cluster's side of the daemon: what controllers read of
// the API server through informers, and the only place that writes to it.
//
// Every write is a PATCH that carries the UID of the object it is meant for,
// so that it cannot hit an object which took over the name, and never carries
// a field that the writer did not decide about.
package kube
