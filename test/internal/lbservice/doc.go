// Package lbservice makes Services of type LoadBalancer for a daemon of their own, and
// compares their status and conditions with the load balancers of the cloud.
package lbservice
