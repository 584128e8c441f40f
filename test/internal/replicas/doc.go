// Package replicas starts daemons that elect a leader. Proxies record the daemons'
// requests.
package replicas
