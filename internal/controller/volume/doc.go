// Package volume gives PersistentVolumes that were made by hand the labels of
// their zone and region, and a node affinity that agrees with them, so that the
// scheduler places their pods where the volume is.
//
// A pass looks at one volume. It observes (observe.go) the volume, decides
// (decide.go and the rules_*.go beside it, pure functions), and applies the plan
// (apply.go). To ask the cloud is an action too: the pass decides again when it
// has the answer.
//
// DESIGN.md has the states of a volume, what may never happen, and where a crash
// may fall.
package volume
