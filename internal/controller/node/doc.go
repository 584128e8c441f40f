// Package node initialises Nodes, and keeps them in step with the instances of
// the cloud. It releases a Node for scheduling once the cloud has described its
// instance.
//
// Each pass is about one Node. It observes the Node (observe.go), decides (decide.go
// and the rules_*.go files), and applies the plan (apply.go). The decisions are pure
// functions, which return a plan with its reason. If the plan is to ask the cloud, the
// pass decides again with the answer. DESIGN.md describes the states.
//
// The next pass repairs the effects of a crash between any two writes, because every
// pass starts from the state that the API server stores. For example, it does not write
// addresses that the Node already has. The PATCH that sets the provider ID and the
// labels also removes the taint. That PATCH comes after the write of the addresses. A
// new process does not know which events an earlier process has recorded.
//
// The rules are in:
//
//   - rules_initialize.go: when a Node is released
//   - rules_step.go: how a released Node is kept up to date
//   - rules_addresses.go, rules_labels.go: what a Node's addresses and labels should be
//   - rules_compare.go: when a comparison with the cloud finds a Node up to date, and
//     when its next step is due
//   - rules_owned.go: which events are about the owner of a Node
//   - rules_wait.go: what a waiting Node shows, and when the cloud is asked again
//   - rules_wake.go: which changes of a Node trigger a pass
//
// Messages are in events.go.
package node
