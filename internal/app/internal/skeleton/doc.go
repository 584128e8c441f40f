// Package skeleton says what the community's skeleton, k8s.io/cloud-provider, would do
// with what a dry run of this daemon has observed. Its rules are the facts of
// docs/reference/upstream-behaviour.md, which they cite.
//
// It is pure. Package app gathers the observations and prints the result.
package skeleton
