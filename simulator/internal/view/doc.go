// Package view sends all resources and their changes as server-sent events. The
// cloud's page reads this feed.
//
// It knows no kind of resource: package api gives it the collections. It
// imports faults and meter. Only package api imports it.
package view
