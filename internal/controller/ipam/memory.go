package ipam

import (
	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-k8s/fairlead/internal/controller/showing"
)

// memory is this process's memory of a Node that waits. The zero value is an empty
// memory.
type memory struct {
	uid types.UID
	// reason is the reason for which the Node waits. It is a label of the metric.
	reason string
	// told has the events about the wait.
	told showing.News
}
