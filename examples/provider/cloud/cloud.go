// Package cloud is all that the provider needs of the cloud acme. HTTP speaks to
// the simulated cloud of Fairlead, so that everything works before the first
// line of your own. Replace it with your cloud's SDK, and keep what the methods
// of API promise: nodes are deleted on what they say.
package cloud

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// API is the part of the cloud's API that the provider calls. Each call comes
// with a deadline in its context and must return when that ends. Calls are
// made side by side.
type API interface {
	// Instance returns the instance with this ID, also when it is stopped. It
	// returns an error that wraps ErrNotFound if the cloud itself said that
	// there is no such instance, and for nothing else: a timeout, a 403, or the
	// 404 of a proxy is another error. Nodes whose instances are not found are
	// deleted.
	Instance(ctx context.Context, id string) (Instance, error)
	// InstancesNamed returns all instances with this name. None is an answer,
	// and means the same as ErrNotFound; a list that may lack something is an
	// error.
	InstancesNamed(ctx context.Context, name string) ([]Instance, error)
}

// ErrNotFound means that the cloud said that there is no such instance.
var ErrNotFound = errors.New("no such instance")

// Instance is a machine of the cloud. Its ID is never given to another one.
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

// State is where an instance is in its life. What is not listed here is an
// instance that exists and is not shut down.
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

// Error is what the cloud answered instead of what it was asked for.
type Error struct {
	// Status is the HTTP status.
	Status int
	// Code is the cloud's own name for the error, empty if the answer was not the
	// cloud's.
	Code    string
	Message string
	// RetryAfter is how long the cloud asked to be left alone; 0 if it did not.
	RetryAfter time.Duration
}

// Error implements error.
func (e *Error) Error() string {
	return fmt.Sprintf("the cloud answered %d %s: %s", e.Status, e.Code, e.Message)
}
