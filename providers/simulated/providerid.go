package simulated

import (
	"strings"

	"github.com/fairlead-k8s/fairlead/provider/kit"
)

// providerIDs are the provider IDs of instances. Code that reads a provider ID ignores
// the region. Instance IDs are unique across regions. And if the region of an instance
// changes, the provider ID of its Node stays the same.
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
