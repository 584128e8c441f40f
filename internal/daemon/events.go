package daemon

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-k8s/fairlead/internal/controller/certificate"
	"github.com/fairlead-k8s/fairlead/internal/controller/ipam"
	"github.com/fairlead-k8s/fairlead/internal/controller/message"
	"github.com/fairlead-k8s/fairlead/internal/controller/node"
	"github.com/fairlead-k8s/fairlead/internal/controller/nodelifecycle"
	"github.com/fairlead-k8s/fairlead/internal/controller/route"
	"github.com/fairlead-k8s/fairlead/internal/controller/service"
	"github.com/fairlead-k8s/fairlead/internal/controller/volume"
	"github.com/fairlead-k8s/fairlead/internal/daemon/provider"
)

var controllerMisconfigured = message.Reason{
	Name: "ControllerMisconfigured", On: "Lease", Type: corev1.EventTypeWarning,
	When: "A controller does not run, because the flags that it needs are missing or wrong. The other controllers run.",
	Do:   "Correct the flags that the message names, or switch the controller off in `--controllers`.",
}

var providerOffersNothing = message.Reason{
	Name: "ProviderOffersNothing", On: "Lease", Type: corev1.EventTypeWarning,
	When: "The provider offers neither instances nor load balancers nor routes, so no controller has work. The provider is asked again, after a delay that grows to 5 minutes.",
	Do:   "Look for errors in the provider's own log lines: some providers offer nothing while one of their own requests fails.",
}

var anotherManagerAtWork = message.Reason{
	Name: "AnotherManagerAtWork", On: "Lease", Type: corev1.EventTypeWarning,
	When: "Another cloud-controller-manager works in the cluster, and no flags divide the objects between the two. The daemon checks this once, 75 seconds after it has begun to lead.",
	Do:   "End one of the two (docs/guides/replace-the-ccm.md), or divide the objects between them (docs/guides/two-managers.md). Nothing, if the other one has ended in the meantime.",
}

var (
	cloudCallsLimited = message.Reason{
		Name: "CloudCallsLimited", On: "Lease", Type: corev1.EventTypeWarning,
		When: "Calls to the cloud often have to wait, because the request quota is used up or because flags limit the calls. The message names the cause.",
		Do:   "If the quota is used up, find out what else uses it, or have it raised. If flags limit the calls, raise `--cloud-api-qps` and `--cloud-api-concurrency`. Nothing, if this is soon over, for example after many Nodes have joined.",
	}
	cloudCallsNotLimited = message.Reason{
		Name: "CloudCallsNotLimited", On: "Lease", Type: corev1.EventTypeNormal,
		When: "`CloudCallsLimited` or `CloudComparisonsSlowed` was recorded, and then for a minute no such call to the cloud had to wait.",
	}
	cloudComparisonsSlowed = message.Reason{
		Name: "CloudComparisonsSlowed", On: "Lease", Type: corev1.EventTypeNormal,
		When: "The periodic comparison of all Nodes with the cloud takes longer than `--node-status-update-frequency`, because it may use only a part of the cloud's request quota.",
		Do:   "Nothing, if Nodes need not show changes of their instances within that time. If the quota is larger than the daemon believes, say so with `--cloud-api-budget` (docs/guides/cloud-quota.md).",
	}
)

// becameLeader is the reason of an event that the library of the election records.
// Upstream has the same event.
var becameLeader = message.Reason{
	Name: "LeaderElection", On: "Lease", Type: corev1.EventTypeNormal,
	When: "A replica has begun or stopped leading. The message names the replica.",
}

// Reasons returns the reasons of all events that the process itself records. All
// these events are on the Lease of its election.
func Reasons() []message.Reason {
	return append(provider.Reasons(), controllerMisconfigured, providerOffersNothing, anotherManagerAtWork, cloudCallsLimited, cloudCallsNotLimited, cloudComparisonsSlowed, becameLeader)
}

// AllReasons returns the reasons of all controllers and of the process.
func AllReasons() []message.Reason {
	return slices.Concat(node.Reasons(), nodelifecycle.Reasons(), service.Reasons(), route.Reasons(), certificate.Reasons(), volume.Reasons(), ipam.Reasons(), Reasons())
}
