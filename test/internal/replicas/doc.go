// Package replicas starts daemons that elect a leader, behind proxies that record
// their requests.
package replicas
