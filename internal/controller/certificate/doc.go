// Package certificate approves kubelets' requests for serving certificates. It
// approves a request only if the cloud confirms every name and address in it.
//
// A pass observes one CertificateSigningRequest and the Node that has made it
// (observe.go). Then it decides (decide.go and rules_*.go, which are pure functions).
// The first plan is to ask the cloud which instance the Node is. The second plan is to
// read the request and the Node from the API server. The last plan is to approve. A
// request that the cloud does not confirm waits, and an event on the Node says why.
// apply.go carries the plan out.
//
// Nothing that a kubelet writes is evidence: not the status of its Node, not the
// annotations, and not the provider ID with which it has created the Node.
//
// A crash loses only the memory in memory.go: the pauses of requests, the used part of
// each limit, and the times of events. The cloud is asked again about a request that is
// still undecided.
//
// DESIGN.md has the states of a request, and lists the things that must never happen.
package certificate
