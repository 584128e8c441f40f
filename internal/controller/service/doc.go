// Package service gives Services of type LoadBalancer their load balancers and
// keeps those in line with Services and nodes.
//
// One Service is one key. A pass observes (observe.go), decides the next step
// and its why (decide.go and the rules_*.go beside it, pure functions), carries
// it out (apply.go), and decides again, until nothing is left to do or
// something has to be waited for. Since a key has one worker, calls about one
// Service never overlap, and each gets the newest set of nodes (S3).
//
// A crash between any two steps heals on the next pass. The finalizer is written
// before the cloud is first called and goes after the last call, so whatever a
// lost process has left in the cloud is found again (S2). What is lost is which
// shape and which nodes the cloud was last told: the next process tells it once
// more, without a word where nothing has changed.
//
// Rules: rules_ours.go says which Services are served; rules_shape.go what of a
// Service makes its load balancer; rules_provide.go and rules_cleanup.go the
// order of steps; rules_backends.go which nodes are behind it; rules_wait.go
// when a call is made again and what a waiting Service shows. Every message
// stands in events.go.
package service
