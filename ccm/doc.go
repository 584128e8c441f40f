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
//
// A program that needs more calls MainWith with Options: a provider that is made
// in another way, flags, controllers and webhooks of its own. What it adds is
// started, stopped and watched like the daemon's own parts.
package ccm
