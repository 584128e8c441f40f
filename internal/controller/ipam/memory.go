package ipam

import (
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// memory is this process's memory of a Node that waits. The zero value is an empty
// memory.
type memory struct {
	uid types.UID
	// reason is the reason for which the Node waits. It is a label of the metric.
	reason string
	// told is the reason of the last event, and toldAt is its time.
	told   string
	toldAt time.Time
}
