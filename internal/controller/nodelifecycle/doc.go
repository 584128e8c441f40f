// Package nodelifecycle deletes the Nodes whose instances no longer exist, and
// taints those whose instances are shut down.
//
// Each pass is about one Node. It observes the Node (observe.go), decides whether the
// Node goes to the final check (decideSuspicion in decide.go), and applies the plan
// (apply.go). The final check is made for one Node at a time. It reads the Node from the
// API server, asks the cloud about it again, asks about other Nodes (the witnesses), and
// deletes the Node (decideDeletion in decide.go). DESIGN.md describes the states.
//
// Evidence is kept in memory only. A new leader gathers it again. A deletion is one
// call, so no crash can leave it half done.
//
// The rules are in:
//
//   - rules_silence.go: when a kubelet is silent
//   - rules_evidence.go: what the cloud's answers prove, and when the cloud is asked
//     again
//   - rules_termination.go: when the end of a machine is proven
//   - rules_snapshot.go: what the rules read of all Nodes
//   - rules_witness.go: which other Nodes show that the answer "absent" can be trusted,
//     and what holds if there are none
//   - rules_budget.go: how many absent Nodes are too many
//   - rules_hold.go: which event and condition a held Node shows, and what follows from
//     the result of a deletion
//   - rules_shutdown.go: which Nodes get the shutdown taint
//   - rules_wake.go: which changes of a Node trigger a pass
//
// Limits are in rules_limits.go, and messages in events.go.
package nodelifecycle
