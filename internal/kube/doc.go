// Package kube reads and writes the objects of the API server. It is the only
// package that writes them.
//
// Every change of a Node or a Service is a PATCH. It contains the UID of the
// object for which the decision was made, so that it cannot change another object
// with the same name. It contains only the fields to change. A write does not
// begin after the end of its context, but the end of the context does not
// interrupt it.
//
// internal/app, internal/inspect and the controllers under internal/controller import
// this package; the files with rules do not. Of this repository, it imports only
// internal/lease.
package kube
