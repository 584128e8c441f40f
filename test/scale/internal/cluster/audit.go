package cluster

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
)

// ccmUser is who the daemons under test are to the API server.
const ccmUser = "cloud-controller-manager"

// Requests is what the daemons under test have asked of the API server, without
// the lease: that is renewed whatever happens.
type Requests struct {
	// Writes and Reads are counted by verb and resource, such as
	// "patch nodes/status". A watch counts when it ends. Writes include Events.
	Writes, Reads map[string]int
	// Events is how many requests wrote an Event.
	Events int
	// Refused is how many requests the API server has answered with an error,
	// conflicts among them.
	Refused int
	// DeletedNodes are the names of the Nodes that were deleted.
	DeletedNodes []string
}

// auditEntry is one request that the API server has answered.
type auditEntry struct {
	Verb string `json:"verb"`
	User struct {
		Username string `json:"username"`
	} `json:"user"`
	Object struct {
		Resource    string `json:"resource"`
		Subresource string `json:"subresource"`
		Name        string `json:"name"`
	} `json:"objectRef"`
	URI    string `json:"requestURI"`
	Status struct {
		Code int `json:"code"`
	} `json:"responseStatus"`
}

func (e auditEntry) what() string {
	if e.Object.Resource == "" {
		path, _, _ := strings.Cut(e.URI, "?")
		return e.Verb + " " + path
	}
	return e.Verb + " " + strings.TrimSuffix(e.Object.Resource+"/"+e.Object.Subresource, "/")
}

func (e auditEntry) writes() bool {
	return slices.Contains([]string{"create", "update", "patch", "delete", "deletecollection"}, e.Verb)
}

// Mark is the end of the audit log. Whoever has got the answer to a request
// finds the request before it.
func (p *Plane) Mark() (int64, error) {
	info, err := os.Stat(p.auditFile)
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// Since are the requests that were written down after the mark.
func (p *Plane) Since(mark int64) (Requests, error) {
	file, err := os.Open(p.auditFile)
	if err != nil {
		return Requests{}, err
	}
	defer func() { _ = file.Close() }() // it was only read
	// The mark may be within a line, which began before it.
	if _, err := file.Seek(max(mark-1, 0), io.SeekStart); err != nil {
		return Requests{}, err
	}
	reader := bufio.NewReader(file)
	if mark > 0 {
		_, _ = reader.ReadBytes('\n') // If there is no end yet, the next read says so.
	}
	return count(reader)
}

func count(log *bufio.Reader) (Requests, error) {
	r := Requests{Writes: map[string]int{}, Reads: map[string]int{}}
	for {
		line, err := log.ReadBytes('\n')
		if err == io.EOF { // The last line may be half written.
			return r, nil
		}
		if err != nil {
			return r, err
		}
		var e auditEntry
		if err := json.Unmarshal(line, &e); err != nil {
			return r, fmt.Errorf("audit log: %w: %s", err, line)
		}
		r.add(e)
	}
}

func (r *Requests) add(e auditEntry) {
	if e.User.Username != ccmUser || e.Object.Resource == "leases" {
		return
	}
	if e.Status.Code >= http.StatusBadRequest {
		r.Refused++
	}
	if !e.writes() {
		r.Reads[e.what()]++
		return
	}
	r.Writes[e.what()]++
	if e.Object.Resource == "events" {
		r.Events++
	}
	if e.Verb == "delete" && e.Object.Resource == "nodes" && e.Status.Code == http.StatusOK {
		r.DeletedNodes = append(r.DeletedNodes, e.Object.Name)
	}
}
