// Package ccm turns any provider that satisfies cloudprovider.Interface into a
// cloud-controller-manager. A complete program is
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
// If that is not enough, a program calls MainWith with Options. It can make the
// provider in another way, and add its own flags, controllers and webhooks. The
// additions are started, stopped and watched like the daemon's own parts.
package ccm
