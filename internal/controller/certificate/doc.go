// Package certificate approves the requests of kubelets for serving certificates
// whose every name and address the cloud confirms.
//
// A pass observes (observe.go) one CertificateSigningRequest and the Node that has
// made it. It decides (decide.go and the rules_*.go beside it, pure functions). The
// first plan is to ask the cloud which instance the Node is, the second to read
// request and Node from the API server, the last to approve. What is not proven
// waits, with an event on the Node. apply.go carries the plan out.
//
// Nothing that a kubelet writes is evidence: neither its Node's status, nor its
// annotations, nor the provider ID with which it has created its Node.
//
// A crash loses only what memory.go has: how long requests pause, how much of the limits
// is used, and when events were recorded. The cloud is asked again about a request that
// is still undecided.
//
// DESIGN.md has the states of a request, and what may never happen.
package certificate
