package cluster

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/fairlead-k8s/fairlead/test/internal/audit"
)

const auditLog = `{"verb":"patch","user":{"username":"cloud-controller-manager"},"objectRef":{"resource":"nodes","subresource":"status","name":"n1"},"responseStatus":{"code":200}}
{"verb":"patch","user":{"username":"system:node-controller"},"objectRef":{"resource":"nodes","name":"n1"},"responseStatus":{"code":200}}
{"verb":"update","user":{"username":"cloud-controller-manager"},"objectRef":{"resource":"leases","name":"cloud-controller-manager"},"responseStatus":{"code":200}}
{"verb":"get","user":{"username":"cloud-controller-manager"},"objectRef":{"resource":"leases","name":"cloud-controller-manager"},"responseStatus":{"code":200}}
{"verb":"create","user":{"username":"cloud-controller-manager"},"objectRef":{"resource":"events"},"responseStatus":{"code":201}}
{"verb":"delete","user":{"username":"cloud-controller-manager"},"objectRef":{"resource":"nodes","name":"n1"},"responseStatus":{"code":200}}
{"verb":"delete","user":{"username":"cloud-controller-manager"},"objectRef":{"resource":"nodes","name":"n2"},"responseStatus":{"code":409}}
{"verb":"get","user":{"username":"cloud-controller-manager"},"requestURI":"/healthz?timeout=1s","responseStatus":{"code":200}}
{"verb":"get","user":{"username":"cloud-control`

func TestCount(t *testing.T) {
	file := filepath.Join(t.TempDir(), "audit.log")
	if err := os.WriteFile(file, []byte(auditLog), 0o600); err != nil {
		t.Fatal(err)
	}
	p := &Plane{audit: audit.File(file)}
	r, err := p.Since(0)
	if err != nil {
		t.Fatal(err)
	}
	for what, want := range map[string]int{"patch nodes/status": 1, "create events": 1, "delete nodes": 2} {
		if got := r.Writes[what]; got != want {
			t.Errorf("%s: %d, want %d", what, got, want)
		}
	}
	if len(r.Writes) != 3 || len(r.Reads) != 1 || r.Reads["get /healthz"] != 1 {
		t.Errorf("writes %v, reads %v", r.Writes, r.Reads)
	}
	if r.Events != 1 || r.Refused != 1 {
		t.Errorf("%d events, %d refused; want one each", r.Events, r.Refused)
	}
	if !slices.Equal(r.DeletedNodes, []string{"n1"}) {
		t.Errorf("deleted %v; a deletion that was refused is none", r.DeletedNodes)
	}
}
