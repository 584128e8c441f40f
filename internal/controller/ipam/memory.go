package ipam

import (
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// memory is what this process remembers of a Node that waits. The zero value
// remembers nothing.
type memory struct {
	uid types.UID
	// reason is why the Node waits, as a label of the metric.
	reason string
	// told is the reason of the last event, toldAt its time.
	told   string
	toldAt time.Time
}
