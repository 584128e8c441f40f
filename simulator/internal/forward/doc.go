// Package forward makes load balancers carry traffic: it keeps the listeners,
// which package traffic opens, in line with the state.
//
// It imports wire, state and traffic. Package api and the root may import it.
package forward
