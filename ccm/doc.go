// Package ccm makes a cloud-controller-manager of any provider that satisfies
// cloudprovider.Interface. A complete program is
//
//	package main
//
//	import (
//		"github.com/fairlead-k8s/fairlead/ccm"
//
//		_ "example.com/cloud/provider" // registers itself in its init
//	)
//
//	func main() { ccm.Main() }
package ccm
