// Package bed is a test bed. It has a control plane, a simulated cloud, and a kubelet for
// each instance of the cloud. It can run daemons.
package bed
