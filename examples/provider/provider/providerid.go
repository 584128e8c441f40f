package provider

import "strings"

// providerID returns the permanent link from a Node to its instance, such as
// acme://region/i-00000001.
func providerID(region, id string) string { return Name + "://" + region + "/" + id }

// instanceID returns the instance ID in a provider ID. A provider ID of another
// cloud is an error. It must never count as an instance that does not exist.
func instanceID(providerID string) (string, error) {
	rest, ours := strings.CutPrefix(providerID, Name+"://")
	if !ours {
		return "", invalidf("provider ID %q is not of this cloud, whose IDs start with %s://", providerID, Name)
	}
	region, id, _ := strings.Cut(rest, "/")
	if region == "" || !isID(id) {
		return "", invalidf("provider ID %q is not of the form %s://REGION/ID", providerID, Name)
	}
	return id, nil
}

// isID reports whether the text can be an ID. Other texts could change the path of
// the request.
func isID(id string) bool {
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-"
	return id != "" && strings.Trim(id, letters) == ""
}
