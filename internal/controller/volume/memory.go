package volume

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-k8s/fairlead/internal/controller/showing"
)

// memory is what this process remembers about a volume from one pass to the next. The
// zero value is an empty memory.
type memory struct {
	uid types.UID
	// failures counts the failed attempts since the last success. It leaves out
	// attempts after which the cloud has asked for a pause, and calls that are still
	// under way.
	failures int
	// until is the earliest time of the next attempt.
	until time.Time
	// reason and why are the reason and the message of the last failure.
	reason, why string
	// recorded has the events about the failures since the last success.
	recorded showing.News
	// written is the time when this process wrote the labels.
	written time.Time
}

// of returns the memory of this volume. If m is about an earlier volume with the same
// name, the result is an empty memory.
func (m memory) of(v *corev1.PersistentVolume) memory {
	if m.uid != v.UID {
		return memory{uid: v.UID}
	}
	return m
}

// withoutFailure returns the memory after a success.
func (m memory) withoutFailure() memory { return memory{uid: m.uid, written: m.written} }

// wroteAt returns the memory after the labels were written.
func (m memory) wroteAt(now time.Time) memory {
	m.written = now
	return m
}

// isEmpty reports whether nothing is remembered.
func (m memory) isEmpty() bool { return m.until.IsZero() && m.written.IsZero() }
