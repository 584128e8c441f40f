// Package cloud has the calls that the provider makes to the cloud acme. HTTP is
// a client of Fairlead's simulated cloud, so that everything works before you
// write your first line. Replace HTTP with your cloud's SDK, and keep what the
// comments of the interface API promise. These promises matter: if a method
// answers that an instance does not exist, its Node is deleted.
package cloud

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// API is the part of the cloud's API that the provider calls. The context of each
// call has a deadline, and the call must return when the context ends. Calls are
// concurrent.
type API interface {
	// Instance returns the instance with this ID, even if the instance is stopped.
	// If the cloud itself said that the instance does not exist, the error wraps
	// ErrNotFound. No other error may wrap it: not a timeout, a 403, or the 404 of
	// a proxy. Nodes whose instances are not found are deleted.
	Instance(ctx context.Context, id string) (Instance, error)
	// InstancesNamed returns all instances with this name. An empty list means
	// the same as ErrNotFound. If the list may be incomplete, InstancesNamed
	// returns an error.
	InstancesNamed(ctx context.Context, name string) ([]Instance, error)
}

// ErrNotFound means that, according to the cloud, the instance does not exist.
var ErrNotFound = errors.New("no such instance")

// Instance is a machine of the cloud. Its ID is never reused.
type Instance struct {
	ID        string            `json:"id"`
	Name      string            `json:"name"`
	Region    string            `json:"region"`
	Zone      string            `json:"zone"`
	Type      string            `json:"type"`
	State     State             `json:"state"`
	Addresses []Address         `json:"addresses"`
	Labels    map[string]string `json:"labels"`
	// TerminatedAt is the time at which the instance ended, if the cloud still lists it.
	TerminatedAt time.Time `json:"terminatedAt"`
}

// State is the state of an instance. In every state that is not listed here, the
// instance exists and is not shut down.
type State string

// The states that matter to Kubernetes.
const (
	Stopping   State = "stopping"
	Stopped    State = "stopped"
	Terminated State = "terminated" // gone, but perhaps still listed
)

// Address is one address of an instance. Its type is one of Kubernetes' types:
// InternalIP, ExternalIP, InternalDNS, ExternalDNS or Hostname.
type Address struct {
	Type    string `json:"type"`
	Address string `json:"address"`
}

// Error is an error in an answer from the cloud, or from another server, such as
// a proxy.
type Error struct {
	// Status is the HTTP status.
	Status int
	// Code is the cloud's own name for the error. It is empty if the answer did
	// not come from the cloud.
	Code    string
	Message string
	// RetryAfter is the time that the cloud asked the caller to wait; 0 if it did
	// not ask.
	RetryAfter time.Duration
}

// Error implements error.
func (e *Error) Error() string {
	return fmt.Sprintf("the cloud answered %d %s: %s", e.Status, e.Code, e.Message)
}
