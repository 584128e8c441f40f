// Package node initialises Nodes, and keeps them in step with the instances of
// the cloud. It releases a Node for scheduling once the cloud has described its
// instance.
//
// One Node is one key. A pass observes (observe.go), decides (decide.go and the
// rules_*.go beside it, pure functions that return a plan with its reason) and
// applies (apply.go). A plan may be to ask the cloud; then the pass decides again,
// with the answer. DESIGN.md has the states.
//
// A crash between any two steps heals on the next pass, because every pass
// starts from what the API server stores: addresses that are written already
// need no write. The PATCH that sets provider ID and labels also removes the
// taint, and it comes after the addresses. A new process does not know which
// events an earlier process has recorded.
//
// The rules are in:
//
//   - rules_initialize.go: when a Node is released
//   - rules_step.go: how a released Node is kept up to date
//   - rules_addresses.go, rules_labels.go: what a Node's addresses and labels should be
//   - rules_compare.go: when a comparison with the cloud finds a Node up to date
//   - rules_owned.go: which events are about the owner of a Node
//   - rules_wait.go: what a waiting Node shows
//   - rules_wake.go: which changes of a Node ask for a pass
//
// All messages are in events.go.
package node
