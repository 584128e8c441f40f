// Package alerts has tests that evaluate the chart's alerts with the engine of
// Prometheus. It is a module of its own, so that no other module needs that engine.
package alerts
