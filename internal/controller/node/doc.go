// Package node keeps the Nodes of the cluster in step with the instances of
// the cloud: it releases a Node for scheduling once the cloud has said what it
// is, and follows the cloud from then on.
//
// One Node is one key. A pass observes (observe.go), decides (decide.go and
// the rules_*.go beside it, pure functions that return a plan with its why) and
// applies (apply.go). A plan may be to ask the cloud: then the pass decides
// again, with the answer.
//
// A crash between any two steps heals on the next pass, since every pass starts
// from what the API server stores: addresses that are written already need no
// write, and the taint goes in the same PATCH as provider ID and labels, after
// the addresses. What is lost with the process is how long a Node has waited
// and which events have been recorded; both start anew.
//
// There are two controllers, each with upstream's name, a queue and a rhythm of
// its own. Controller initialises Nodes and keeps them in step. Lifecycle
// removes those whose instances are gone and taints those whose instances are
// shut down; it observes in lifecycle_look.go, decides in rules_remove.go, and
// remembers only what the cloud has said, which a new leader asks for again. A
// crash around a deletion leaves a Node that is deleted or that is not.
//
// Rules: rules_initialize.go releases a Node; rules_step.go follows the cloud
// afterwards; rules_addresses.go and rules_labels.go say what a Node's addresses
// and labels should be; rules_wait.go says what a waiting Node shows.
// rules_remove.go lists what keeps a Node from being deleted; beside it,
// rules_silence.go, rules_evidence.go, rules_witness.go and rules_crowd.go hold
// one part each, rules_hold.go says what such a Node shows, and
// rules_shutdown.go keeps the taint. Every message stands in events.go and
// events_lifecycle.go.
package node
