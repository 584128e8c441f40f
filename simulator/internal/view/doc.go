// Package view sends what there is and what changes, as server-sent events: the
// feed that the cloud's page reads.
//
// It knows no kind of resource: package api gives it the collections. It
// imports faults and meter. Only package api imports it.
package view
