// Package ipam gives each Node the CIDRs of its pods, in place of
// kube-controller-manager.
//
// A pass looks at one Node. It observes (observe.go) the Node and the ledger of all
// CIDRs that are held, decides (decide.go and the rules_*.go beside it, pure
// functions), and applies the plan (apply.go). Reading the Node from the API server
// and reserving CIDRs are actions, too: the pass decides again after them.
//
// The ledger is in memory only. It is made from a complete list of the API server when
// the process begins to lead. Before any CIDR is given, the leader fences the Nodes to
// which an earlier leader may still write: an annotation makes the API server refuse
// such late writes.
//
// DESIGN.md has the states of a Node, what may never happen, what a crash leaves
// behind, and what cannot be excluded.
package ipam
