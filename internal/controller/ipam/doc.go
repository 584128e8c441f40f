// Package ipam gives each Node the CIDRs of its pods, in place of
// kube-controller-manager.
//
// A pass looks at one Node. It observes the Node, and the ledger of all CIDRs that
// Nodes hold (observe.go). It decides (decide.go and rules_*.go, which are pure
// functions), and applies the plan (apply.go). Some plans do not end the pass, for
// example to read the Node from the API server or to reserve CIDRs. After such a plan,
// the pass decides again.
//
// The ledger is in memory only. It is made from a complete list of Nodes when the
// process begins to lead. An earlier leader may still write to some Nodes. Before the
// new leader gives any CIDR, it fences these Nodes: an annotation makes the API server
// refuse the late writes.
//
// DESIGN.md has the states of a Node. It lists the things that must never happen, the
// effects of a crash, and the risks that remain.
package ipam
