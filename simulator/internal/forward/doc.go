// Package forward makes load balancers carry traffic: when the state changes, it
// updates the listeners, which package traffic opens.
//
// It imports wire, state and traffic. Packages api and simulator may import it.
package forward
