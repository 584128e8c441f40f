// Package skeleton says what the community's skeleton, k8s.io/cloud-provider, would
// do. Its input comes from a dry run of this daemon. Its rules follow
// docs/reference/upstream-behaviour.md, and cite that page.
//
// The package is pure. Package app gathers the observations and prints the result.
package skeleton
