package volume

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// memory is what this process remembers of a volume until the next pass. The zero
// value remembers nothing.
type memory struct {
	uid types.UID
	// failures counts the failed attempts since the last success, except those that have
	// their own pause (see hold). until is when the next attempt may begin, and why says
	// what it waits for.
	failures int
	until    time.Time
	why      string
	// recorded is the reason of the last event, recordedAt its time.
	recorded   string
	recordedAt time.Time
	// written is when this process has written the labels.
	written time.Time
}

// of returns the memory of this volume. If the memory is about an earlier volume of
// the same name, it starts from nothing.
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
func (m memory) isEmpty() bool { return m == memory{uid: m.uid} }
