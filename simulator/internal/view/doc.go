// Package view tells a page what there is and what changes: the feed that the
// cloud's page reads, as server-sent events.
//
// It knows no kind of resource: package api gives it the collections. It
// imports wire, faults and meter. Only package api imports it.
package view
