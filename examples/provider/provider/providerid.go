package provider

import "strings"

// providerID is what joins a Node and its instance for ever, such as
// acme://region/i-00000001.
func providerID(region, id string) string { return Name + "://" + region + "/" + id }

// instanceID is the instance that a provider ID names. What is not ours is an
// error and never an instance that does not exist: it may be the Node of
// another cloud.
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

// isID keeps out what would become another path of the API.
func isID(id string) bool {
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-"
	return id != "" && strings.Trim(id, letters) == ""
}
