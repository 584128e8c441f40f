// Package nodelifecycle deletes the Nodes whose instances no longer exist, and
// taints those whose instances are shut down.
//
// One Node is one key. A pass observes (observe.go), decides whether the Node
// may go to the final check (decideSuspicion in decide.go) and applies
// (apply.go). The final check (deletion.go) is serial: it reads the Node from
// the API server, asks the cloud again, asks about witnesses, and deletes
// (decideDeletion in decide.go). DESIGN.md has the states.
//
// Evidence is kept in memory only, and a new leader asks for it again. A
// deletion is one call, so no crash can leave it half done.
//
// The rules are in:
//
//   - rules_silence.go: when a kubelet is silent
//   - rules_evidence.go: what the cloud's answers prove, and when it is asked again
//   - rules_witness.go: which other Nodes make an absence credible
//   - rules_ours.go: which Nodes are probably not machines of this cloud
//   - rules_index.go, rules_candidates.go, rules_standing.go, rules_tally.go: what the
//     rules read of all Nodes together
//   - rules_budget.go: how many Nodes may be absent together
//   - rules_hold.go: what a Node shows while it is held
//   - rules_shutdown.go: which Nodes get the shutdown taint
//   - rules_outcome.go: what follows from a deletion
//   - rules_wake.go: which changes of a Node ask for a pass
//
// Limits are in rules_limits.go, and all messages are in events.go.
package nodelifecycle
