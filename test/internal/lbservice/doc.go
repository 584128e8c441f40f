// Package lbservice creates Services of type LoadBalancer, which have a daemon of
// their own. It compares the Services' status and conditions with the load balancers
// of the cloud.
package lbservice
