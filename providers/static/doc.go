// Package static is the provider for machines that no cloud owns: bare metal, a
// homelab, or the rack beside a cloud. It registers under the name "static". It
// makes no network calls: everything that it says about a Node comes from its
// configuration file and from the Node itself:
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
// A Node that no entry selects is not described and waits. With a template, so does a
// Node that has the provider ID of another provider. With "providerID: keep" each Node
// keeps the ID that its kubelet has set, and a Node without an ID waits.
//
// The provider never says that a machine does not exist, so the daemon deletes no
// Node because of it. It has neither load balancers nor routes. It cannot verify
// which machine a Node is, because a kubelet can set most labels and all annotations
// of its own Node. So the daemon approves no serving certificates of these kubelets.
package static
