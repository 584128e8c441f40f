// Command testccm is a daemon as a vendor would build it, with package ccm and one
// provider. The provider is for the end-to-end tests: it fails on purpose.
package main

import "github.com/fairlead-k8s/fairlead/ccm"

func main() { ccm.Main() }
