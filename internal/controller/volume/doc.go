// Package volume labels PersistentVolumes with their zone and region, if they have no
// such label, for example because they were made by hand. It also gives them a node
// affinity that agrees with the labels. So the scheduler places the pods of a volume
// where the volume is.
//
// A pass looks at one volume. It observes the volume (observe.go), decides (decide.go
// and rules_*.go, which are pure functions), and applies the plan (apply.go). A plan
// can also be to ask the cloud. When the pass has the answer, it decides again.
//
// DESIGN.md has the states of a volume. It lists the things that must never happen,
// and the points at which a crash can happen.
package volume
