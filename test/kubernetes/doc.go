// Package kubernetes runs cases of Kubernetes' own end-to-end tests on the playground, with Fairlead's daemon and the
// simulated cloud. It is a module of its own, so that no other module needs those tests.
package kubernetes
