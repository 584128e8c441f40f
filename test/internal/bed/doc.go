// Package bed is a test bed. It has a control plane with kubelets, and the simulated
// cloud that the kubelets follow. It can run daemons between the two.
package bed
