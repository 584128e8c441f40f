// Package kube reads and writes the objects of the API server. It is the only
// package that writes them.
//
// Every write of a Node or a Service is a PATCH that carries the UID of the
// object that was decided upon, so that it cannot change another object with
// the same name. It carries only fields that the controller has decided about.
// A write does not begin after the end of the context, and the end of the
// context does not cut it short.
//
// Package internal/app and the controllers under internal/controller, except
// their rules, import this package. It imports nothing of this repository.
package kube
