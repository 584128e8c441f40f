// Package cloud has the calls that the provider makes to the cloud acme. HTTP is a
// client of Fairlead's simulated cloud, so that everything works before you write
// your first line. Replace it with your cloud's SDK, and keep the promises of
// API's methods, because nodes are deleted when a method answers that an instance
// does not exist.
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
	// Instance returns the instance with this ID, also when it is stopped. It
	// returns an error that wraps ErrNotFound if the cloud itself said that
	// there is no such instance, and for nothing else: a timeout, a 403, or the
	// 404 of a proxy is another error. Nodes whose instances are not found are
	// deleted.
	Instance(ctx context.Context, id string) (Instance, error)
	// InstancesNamed returns all instances with this name. An empty list means
	// the same as ErrNotFound. If the list may be incomplete, InstancesNamed
	// returns an error.
	InstancesNamed(ctx context.Context, name string) ([]Instance, error)
}

// ErrNotFound means that the cloud said that there is no such instance.
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
}

// State is the state of an instance. In every state that is not listed here, the
// instance exists and is not shut down.
type State string

// The states that matter to Kubernetes.
const (
	Stopping   State = "stopping"
	Stopped    State = "stopped"
	Terminated State = "terminated" // gone for good, and perhaps still listed
)

// Address is one address of an instance. Its type is one of Kubernetes' types:
// InternalIP, ExternalIP, InternalDNS, ExternalDNS or Hostname.
type Address struct {
	Type    string `json:"type"`
	Address string `json:"address"`
}

// Error is an error with which the cloud, or something in its place, has answered.
type Error struct {
	// Status is the HTTP status.
	Status int
	// Code is the cloud's own name for the error. It is empty if something in the
	// cloud's place has answered.
	Code    string
	Message string
	// RetryAfter is how long the cloud has asked to wait; 0 if it did not ask.
	RetryAfter time.Duration
}

// Error implements error.
func (e *Error) Error() string {
	return fmt.Sprintf("the cloud answered %d %s: %s", e.Status, e.Code, e.Message)
}
