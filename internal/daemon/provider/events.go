package provider

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-k8s/fairlead/internal/controller/message"
)

// All these events are on the Lease of the election, because the files belong to the
// process and to no other object.
var (
	configApplied = message.Reason{
		Name: "CloudConfigApplied", On: "Lease", Type: corev1.EventTypeNormal,
		When: "The provider works with the new content of its files.",
	}
	configRefused = message.Reason{
		Name: "CloudConfigRefused", On: "Lease", Type: corev1.EventTypeWarning,
		When: "The provider refuses the new content of its files. The former content stays in use.",
		Do:   "Read the provider's error in the log, and correct the files.",
	}
	configChanged = message.Reason{
		Name: "CloudConfigChanged", On: "Lease", Type: corev1.EventTypeNormal,
		When: "The provider's files have changed, and the provider reads them only at its start. The process ends, so that it is started again. If it leads, it releases its lease first.",
	}
)

// Reasons returns the reasons of all events of this package.
func Reasons() []message.Reason {
	return []message.Reason{configApplied, configRefused, configChanged}
}
