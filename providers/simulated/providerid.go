package simulated

import (
	"fmt"
	"strings"
)

// invalidError is a permanent error: a retry fails until the input is changed.
type invalidError struct{ text string }

func (e *invalidError) Error() string { return e.text }

func invalidf(format string, args ...any) error {
	return &invalidError{text: fmt.Sprintf(format, args...)}
}

func providerID(region, id string) string { return Name + "://" + region + "/" + id }

func isInstanceID(id string) bool {
	digits, ok := strings.CutPrefix(id, "i-")
	return ok && len(digits) >= 8 && strings.Trim(digits, "0123456789") == ""
}

// instanceID returns the instance ID in a provider ID of this cloud. The region
// in it is ignored: IDs are unique across regions, and the provider ID of a Node
// stays the same when the region of its instance is changed.
func instanceID(providerID string) (string, error) {
	rest, ours := strings.CutPrefix(providerID, Name+"://")
	if !ours {
		return "", invalidf("provider ID %q is not of this cloud, whose IDs start with %s://", providerID, Name)
	}
	region, id, ok := strings.Cut(rest, "/")
	if !ok || region == "" || !isInstanceID(id) {
		return "", invalidf("provider ID %q is malformed; it should be %s", providerID, Name+"://<region>/i-00000001")
	}
	return id, nil
}
