package wire

import "time"

// State is the state of an instance.
type State string

// The states of an instance.
const (
	Pending    State = "pending"
	Running    State = "running"
	Stopping   State = "stopping"
	Stopped    State = "stopped"
	Terminated State = "terminated"
)

// AddressType is the type of an address, named as in Kubernetes.
type AddressType string

// The types of addresses.
const (
	InternalIP  AddressType = "InternalIP"
	ExternalIP  AddressType = "ExternalIP"
	InternalDNS AddressType = "InternalDNS"
	ExternalDNS AddressType = "ExternalDNS"
	Hostname    AddressType = "Hostname"
)

// AddressTypes returns all types of addresses.
func AddressTypes() []AddressType {
	return []AddressType{InternalIP, ExternalIP, InternalDNS, ExternalDNS, Hostname}
}

// Address is one address of an instance.
type Address struct {
	Type    AddressType `json:"type"`
	Address string      `json:"address"`
}

// Instance is a machine of the cloud. Its ID never changes and is never reused.
// Its name can be changed and need not be unique.
type Instance struct {
	ID        string            `json:"id,omitempty"`
	Name      string            `json:"name"`
	Zone      string            `json:"zone,omitempty"`
	Region    string            `json:"region,omitempty"`
	Type      string            `json:"type,omitempty"`
	State     State             `json:"state,omitempty"`
	Addresses []Address         `json:"addresses"`
	Labels    map[string]string `json:"labels,omitempty"`
	// TerminatedAt is the time at which the instance ended. It is zero in all other
	// states. The cloud sets it.
	TerminatedAt time.Time `json:"terminatedAt,omitzero"`
}

// InstanceChanges lists the instances that have changed, and says where in the log of
// changes the next watch begins.
type InstanceChanges struct {
	// Changed is ordered by the time of each instance's last change.
	Changed []InstanceRef `json:"changed"`
	// Resume is the value of the query parameter "since" in a request for later
	// changes.
	Resume string `json:"resume"`
}

// InstanceRef names an instance.
type InstanceRef struct {
	ID     string `json:"id"`
	Name   string `json:"name"`
	Region string `json:"region,omitempty"`
}

// InstancePatch changes an instance. A field that is nil changes nothing.
type InstancePatch struct {
	Name   *string `json:"name,omitempty"`
	Zone   *string `json:"zone,omitempty"`
	Region *string `json:"region,omitempty"`
	Type   *string `json:"type,omitempty"`
	// Addresses replace all addresses. An empty list that is not nil removes all
	// addresses.
	Addresses []Address `json:"addresses,omitzero"`
	// Labels are merged into those of the instance; a nil value removes a label.
	Labels map[string]*string `json:"labels,omitempty"`
}

// Volume is a disk. Only instances in one of the volume's zones can use it. Its ID,
// name, zones and region never change. Two volumes never have the same name at the
// same time.
type Volume struct {
	ID   string `json:"id,omitempty"`
	Name string `json:"name"`
	// Zones are the zones of the disk. The cloud sorts them. A replicated disk has
	// several zones. If a creation has no zones, the cloud chooses one.
	Zones  []string `json:"zones"`
	Region string   `json:"region,omitempty"`
}
