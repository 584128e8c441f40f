// Package lbservice creates Services of type LoadBalancer for one daemon. It compares the
// status and the conditions of the Services with the load balancers of the cloud.
package lbservice
