// Package static is the provider for machines that no cloud owns: bare metal, a
// homelab, or the rack beside a cloud. It registers under the name "static". It
// makes no network calls. All its data about a Node come from the Node itself
// and from the configuration file:
//
//	nodes: # the first entry that selects a Node describes it
//	- selector: {matchLabels: {node.example.com/edge: ""}} # {} selects all
//	  region: home         # optional
//	  zone: rack-1         # optional
//	  type: nuc            # optional: the instance type
//	  labels: {example.com/power: solar} # optional
//	  externalIPs: fromAnnotation example.com/public-ip # optional; or none
//	providerID: static://home/{{name}} # or keep
//
// If no entry selects a Node, the Node waits. If "providerID" is a template, a Node
// with the provider ID of another provider waits too. With "providerID: keep", each
// Node keeps the ID that its kubelet has set, and a Node without an ID waits.
//
// The provider never says that a machine does not exist, so it never makes the
// daemon delete a Node. It has neither load balancers nor routes. It cannot verify
// which machine a Node is, because a kubelet can set most labels and all annotations
// of its own Node. So the daemon approves no serving certificates of these kubelets.
package static
