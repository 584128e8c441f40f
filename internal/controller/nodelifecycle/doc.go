// Package nodelifecycle deletes the Nodes whose instances no longer exist, and
// taints those whose instances are shut down.
//
// One Node is one key. A pass observes (observe.go), decides whether the Node
// may go to the final check (decideSuspicion in decide.go) and applies
// (apply.go). The final check (deletion.go) is serial: it reads the Node from
// the API server, asks the cloud again, asks witnesses, and deletes
// (decideDeletion in decide.go). DESIGN.md has the states.
//
// Evidence is kept in memory only. A new leader asks for it again, and a crash
// around a deletion leaves a Node that is deleted or that is not.
//
// Rules: rules_silence.go decides when a kubelet is silent; rules_evidence.go
// what the cloud's answers prove, and when it is asked again; rules_witness.go
// which other Nodes make an absence credible; rules_budget.go how many Nodes may
// be absent together; rules_hold.go what a Node shows while it is kept;
// rules_shutdown.go who has the shutdown taint; rules_outcome.go what follows
// from a deletion; rules_wake.go which changes of a Node are looked into.
// Limits stand in rules_limits.go, all messages in events.go.
package nodelifecycle
