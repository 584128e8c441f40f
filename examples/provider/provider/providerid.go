package provider

import "github.com/fairlead-k8s/fairlead/provider/kit"

// providerIDs parses and prints provider IDs, such as acme://region/i-00000001. A
// provider ID is the permanent link from a Node to its instance. If a provider ID
// does not match the pattern, this is an error, and never means that the instance
// does not exist.
var providerIDs = kit.NewProviderIDs(Name + "://{region}/{id}")
