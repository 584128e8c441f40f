// Package kube reads and writes the objects of the API server. It is the only
// package that writes them.
//
// Every change of a Node or a Service is a PATCH. The PATCH contains the UID of
// the object for which the decision was made. So it cannot change another object
// with the same name. Apart from the UID, it contains only the fields to change.
// A write does not begin after the end of its context. The end of the context
// does not interrupt a write that has begun.
//
// internal/daemon, internal/inspect and the controllers under internal/controller import
// this package. Files that only decide, such as decide.go, do not import it. The only
// package of this repository that it imports is internal/lease.
package kube
