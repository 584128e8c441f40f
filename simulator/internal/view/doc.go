// Package view sends all resources and their changes as server-sent events. The
// cloud's page reads this feed.
//
// It does not depend on any kind of resource: package api passes in the
// collections. It imports faults and meter. Only package api imports it.
package view
