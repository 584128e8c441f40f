package bed

import (
	"testing"

	"github.com/fairlead-k8s/fairlead/test/internal/audit"
)

// AuditLog reads the audit log for a test. If that fails, the test fails.
type AuditLog struct {
	t    *testing.T
	file audit.File
}

// Audit returns the audit log of the API server.
func (b *Bed) Audit(t *testing.T) AuditLog {
	t.Helper()
	return AuditLog{t, audit.File(b.Cluster.AuditLog)}
}

// Mark returns the end of the log.
func (l AuditLog) Mark() int64 {
	l.t.Helper()
	mark, err := l.file.End()
	if err != nil {
		l.t.Fatal(err)
	}
	return mark
}

// Since does the same as audit.File.Since.
func (l AuditLog) Since(mark int64) audit.Requests {
	l.t.Helper()
	all, err := l.file.Since(mark)
	if err != nil {
		l.t.Fatal(err)
	}
	return all
}
