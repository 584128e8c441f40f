// Package ec2test imitates the calls of EC2 that the provider of AWS makes for
// nodes. It speaks EC2's query protocol, so the real SDK can use it: set a
// ServiceOverride in the provider's configuration.
package ec2test

import (
	"encoding/xml"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"sync"
)

// The states of an instance.
const (
	Running    = "running"
	Stopped    = "stopped"
	Terminated = "terminated" // gone, but still listed for about an hour
)

// Instance is an instance of EC2.
type Instance struct {
	ID, Type, Zone string
	PrivateIP      string
	PrivateDNS     string // the name of its Node
	State          string
	Untagged       bool              // without the tag of the cluster
	Tags           map[string]string // tags other than the tag of the cluster
}

// Endpoint is EC2 in one region. It is an http.Handler. The zero value has no
// instances.
type Endpoint struct {
	// ClusterID is the ID of the cluster. Each instance has a tag with this ID, unless
	// its field Untagged is true.
	ClusterID string

	mu        sync.Mutex
	instances []Instance     // guarded by mu
	denied    bool           // guarded by mu
	calls     map[string]int // by action; guarded by mu
}

// Put adds an instance, or replaces the instance with the same ID.
func (e *Endpoint) Put(i Instance) {
	e.Forget(i.ID)
	e.mu.Lock()
	defer e.mu.Unlock()
	e.instances = append(e.instances, i)
}

// Instance returns the instance with the ID. If there is none, it returns
// false.
func (e *Endpoint) Instance(id string) (Instance, bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, i := range e.instances {
		if i.ID == id {
			return i, true
		}
	}
	return Instance{}, false
}

// Forget removes an instance, as EC2 does long after its termination.
func (e *Endpoint) Forget(id string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.instances = slices.DeleteFunc(e.instances, func(i Instance) bool { return i.ID == id })
}

// Deny makes the endpoint refuse every call until Allow is called. EC2 answers
// in the same way if the caller has no permission.
func (e *Endpoint) Deny() { e.setDenied(true) }

// Allow ends the effect of Deny.
func (e *Endpoint) Allow() { e.setDenied(false) }

func (e *Endpoint) setDenied(denied bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.denied = denied
}

// Tags returns the tags of an instance, except for the tag of the cluster.
func (e *Endpoint) Tags(id string) map[string]string {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, i := range e.instances {
		if i.ID == id {
			return maps.Clone(i.Tags)
		}
	}
	return nil
}

// Calls returns the number of calls of an action.
func (e *Endpoint) Calls(action string) int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.calls[action]
}

// ServeHTTP implements http.Handler.
func (e *Endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if err := r.ParseForm(); err != nil {
		refuse(w, http.StatusBadRequest, "MalformedQueryString", err.Error())
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	action := r.PostForm.Get("Action")
	if e.calls == nil {
		e.calls = map[string]int{}
	}
	e.calls[action]++
	if e.denied {
		refuse(w, http.StatusForbidden, "UnauthorizedOperation", "You are not authorized to perform this operation.")
		return
	}
	switch action {
	case "DescribeInstances":
		e.describeInstances(w, r.PostForm)
	case "DescribeAvailabilityZones":
		e.describeZones(w)
	case "CreateTags":
		e.createTags(w, r.PostForm)
	case "DescribeInstanceTopology":
		answer(w, topologies{}) // empty, as for most types of instances
	default:
		refuse(w, http.StatusBadRequest, "InvalidAction", fmt.Sprintf("The action %s is not valid for this web service.", action))
	}
}

// describeInstances answers a query by ID or by filter. The caller holds e.mu.
func (e *Endpoint) describeInstances(w http.ResponseWriter, form url.Values) {
	found := e.instances
	if ids := numbered(form, "InstanceId"); len(ids) > 0 {
		found = nil
		for _, id := range ids {
			n := slices.IndexFunc(e.instances, func(i Instance) bool { return i.ID == id })
			if n < 0 {
				refuse(w, http.StatusBadRequest, "InvalidInstanceID.NotFound", fmt.Sprintf("The instance ID '%s' does not exist", id))
				return
			}
			found = append(found, e.instances[n])
		}
	}
	var answered reservations
	for _, i := range found {
		matches, err := i.matches(form)
		if err != nil {
			refuse(w, http.StatusBadRequest, "InvalidParameterValue", err.Error())
			return
		}
		if matches {
			answered.Instances = append(answered.Instances, i.described(e.ClusterID))
		}
	}
	answer(w, answered)
}

// createTags adds tags to instances. The caller holds e.mu.
func (e *Endpoint) createTags(w http.ResponseWriter, form url.Values) {
	tagged := numbered(form, "ResourceId")
	for _, id := range tagged {
		if !slices.ContainsFunc(e.instances, func(i Instance) bool { return i.ID == id }) {
			refuse(w, http.StatusBadRequest, "InvalidInstanceID.NotFound", fmt.Sprintf("The instance ID '%s' does not exist", id))
			return
		}
	}
	tags := map[string]string{}
	for n := 1; form.Has(fmt.Sprintf("Tag.%d.Key", n)); n++ {
		tags[form.Get(fmt.Sprintf("Tag.%d.Key", n))] = form.Get(fmt.Sprintf("Tag.%d.Value", n))
	}
	for n, i := range e.instances {
		if slices.Contains(tagged, i.ID) {
			e.instances[n].Tags = merged(i.Tags, tags)
		}
	}
	answer(w, created{Return: true})
}

func merged(one, other map[string]string) map[string]string {
	both := map[string]string{}
	maps.Copy(both, one)
	maps.Copy(both, other)
	return both
}

// matches reports whether an instance passes all filters.
func (i Instance) matches(form url.Values) (bool, error) {
	properties := map[string]string{"private-dns-name": i.PrivateDNS, "instance-state-name": i.State}
	for n := 1; ; n++ {
		filter := fmt.Sprintf("Filter.%d", n)
		name := form.Get(filter + ".Name")
		if name == "" {
			return true, nil
		}
		property, known := properties[name]
		if !known {
			return false, fmt.Errorf("The filter '%s' is invalid", name) //nolint:revive,staticcheck // EC2's words
		}
		if !slices.Contains(numbered(form, filter+".Value"), property) {
			return false, nil
		}
	}
}

// describeZones answers a query with the zone of each instance. The caller holds
// e.mu.
func (e *Endpoint) describeZones(w http.ResponseWriter) {
	var answered zones
	for _, i := range e.instances {
		answered.Zones = append(answered.Zones, zone{Name: i.Zone, ID: zoneID(i.Zone)})
	}
	answer(w, answered)
}

// zoneID returns the ID of a zone such as eu-test-1a, in the form of AWS's IDs.
func zoneID(zone string) string { return "tst1-az" + zone[len(zone)-1:] }

// numbered returns the values of key.1, key.2 and so on in the form.
func numbered(form url.Values, key string) []string {
	var all []string
	for n := 1; form.Has(fmt.Sprintf("%s.%d", key, n)); n++ {
		all = append(all, form.Get(fmt.Sprintf("%s.%d", key, n)))
	}
	return all
}

func answer(w http.ResponseWriter, body any) {
	w.Header().Set("Content-Type", "text/xml;charset=UTF-8")
	_ = xml.NewEncoder(w).Encode(body) // writing fails only if the client has gone
}

// Refuse returns a handler that answers every call with an error of EC2.
func Refuse(status int, code string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		refuse(w, status, code, "Because of a fault of the test.")
	}
}

// NoInstances answers a call of DescribeInstances with an empty list.
func NoInstances(w http.ResponseWriter, _ *http.Request) { answer(w, reservations{}) }

func refuse(w http.ResponseWriter, status int, code, message string) {
	w.WriteHeader(status)
	answer(w, refusal{Code: code, Message: message})
}
