// Package bed is a test bed: a control plane with kubelets, the simulated cloud that
// they follow, and what is needed to run daemons between the two.
package bed
