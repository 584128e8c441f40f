package simulated

import (
	"strings"

	"github.com/fairlead-k8s/fairlead/provider/kit"
)

// providerIDs are the provider IDs of instances. A reader of a provider ID ignores its
// region, for two reasons: instance IDs are unique across regions, and the provider ID
// of a Node stays the same when the region of its instance changes.
var providerIDs = kit.NewProviderIDs(Name+"://{region}/{id}").Where("id", isInstanceID)

func isInstanceID(id string) bool {
	digits, ok := strings.CutPrefix(id, "i-")
	return ok && len(digits) >= 8 && strings.Trim(digits, "0123456789") == ""
}

// instanceID returns the instance ID in a provider ID of this cloud.
func instanceID(providerID string) (string, error) {
	parts, err := providerIDs.Parse(providerID)
	return parts["id"], err
}
