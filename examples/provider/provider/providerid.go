package provider

import "github.com/fairlead-k8s/fairlead/provider/kit"

// providerIDs are the permanent links from Nodes to their instances, such as
// acme://region/i-00000001. A provider ID that does not match the pattern is an
// error. It never means that the instance does not exist.
var providerIDs = kit.NewProviderIDs(Name + "://{region}/{id}")
