// Command testccm is a vendor's daemon: package ccm and one provider, which is
// made for the end-to-end tests and does what providers should not.
package main

import "github.com/fairlead-k8s/fairlead/ccm"

func main() { ccm.Main() }
