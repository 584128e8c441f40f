package cluster

import (
	"net/http"

	"github.com/fairlead-k8s/fairlead/test/internal/audit"
)

// Requests counts the requests of the daemons under test to the API server. It leaves
// out requests for the lease, because a daemon always renews the lease.
type Requests struct {
	// Writes and Reads are counted by verb and resource, such as
	// "patch nodes/status". A watch counts when it ends. Writes include Events.
	Writes, Reads map[string]int
	// Events is the number of requests that wrote an Event.
	Events int
	// Refused is the number of requests that the API server has answered with
	// an error, such as a conflict.
	Refused int
	// DeletedNodes are the names of the Nodes that were deleted.
	DeletedNodes []string
}

// Mark returns the end of the audit log. All requests that were answered so far
// are before the mark.
func (p *Plane) Mark() (int64, error) { return p.audit.End() }

// Since counts the requests in the audit log after the mark.
func (p *Plane) Since(mark int64) (Requests, error) {
	all, err := p.audit.Since(mark)
	if err != nil {
		return Requests{}, err
	}
	return count(all), nil
}

func count(all audit.Requests) Requests {
	counted := Requests{Writes: map[string]int{}, Reads: map[string]int{}}
	for _, r := range all.OfDaemons() {
		counted.add(r)
	}
	return counted
}

func (c *Requests) add(r audit.Request) {
	if r.Object.Resource == "leases" {
		return
	}
	if r.Status.Code >= http.StatusBadRequest {
		c.Refused++
	}
	if !r.Writes() {
		c.Reads[r.What()]++
		return
	}
	c.Writes[r.What()]++
	if r.Object.Resource == "events" {
		c.Events++
	}
	if r.Verb == "delete" && r.Object.Resource == "nodes" && r.Status.Code == http.StatusOK {
		c.DeletedNodes = append(c.DeletedNodes, r.Object.Name)
	}
}
