package daemon

import (
	"context"
	"fmt"
	"sync"
	"time"

	"k8s.io/klog/v2"

	"github.com/fairlead-k8s/fairlead/internal/cloud"
	"github.com/fairlead-k8s/fairlead/internal/controller/message"
	"github.com/fairlead-k8s/fairlead/internal/daemon/settings"
	"github.com/fairlead-k8s/fairlead/internal/kube"
	"github.com/fairlead-k8s/fairlead/internal/sleep"
)

// limitPeriod is the time between two checks of followLimit.
const limitPeriod = 5 * time.Second

// followLimit checks once in each limitPeriod whether calls to the cloud wait. It
// reports each change in a metric, in the log and in events. The checks end with
// ctx. Events are written until the context lasting ends. The returned function
// waits for the end of the checks.
func (p *Process) followLimit(ctx, lasting context.Context) (wait func()) {
	record := p.leaseRecorder(lasting)
	var following sync.WaitGroup
	following.Go(func() {
		before := cloud.Unlimited
		for sleep.For(ctx, limitPeriod) {
			now := p.gateway.Load().Limit()
			if now.By == before {
				continue
			}
			for _, by := range []cloud.LimitedBy{cloud.QuotaLimits, cloud.CeilingLimits, cloud.ShareLimits} {
				p.metrics.limited.WithLabelValues(string(by)).Set(asGauge(now.By == by))
			}
			for _, e := range limitEvents(before, now) {
				klog.FromContext(ctx).Info("The limit of calls to the cloud has changed", "why", e.Message)
				record(e)
			}
			before = now.By
		}
	})
	return following.Wait
}

// leaseRecorder returns a function that records an event on the Lease. The events are
// written until ctx ends. Only one goroutine may call the function. The recorder of
// the events runs until ctx ends, so the function makes it only for the first event.
// An event that cannot be recorded is logged.
func (p *Process) leaseRecorder(ctx context.Context) func(message.Event) {
	var recorder *kube.Recorder
	return func(e message.Event) {
		if recorder == nil {
			client, err := p.clients.own.Client(settings.ManagerName)
			if err != nil {
				klog.FromContext(ctx).Error(err, "There is no client for an event on the Lease", "reason", e.Reason)
				return
			}
			recorder = kube.NewRecorder(ctx, client, settings.ManagerName)
		}
		recorder.Lease(p.Settings.Election.Lease(), e.Type, e.Reason, e.Message)
	}
}

func asGauge(is bool) float64 { //nolint:revive // flag-parameter: it is the value
	if is {
		return 1
	}
	return 0
}

// limitEvents returns the events for the beginning, the end or a change of a limit.
func limitEvents(before cloud.LimitedBy, now cloud.Limit) (all []message.Event) {
	if (now.By == cloud.Unlimited || now.By == cloud.ShareLimits) && before != cloud.Unlimited {
		all = append(all, cloudCallsNotLimited.Event("Calls to the cloud no longer wait."))
	}
	switch now.By {
	case cloud.QuotaLimits:
		all = append(all, cloudCallsLimited.Event("Calls to the cloud ("+now.Calls+") wait, because the cloud's request quota is used up or seems to be. Something else may be using this account's request quota."))
	case cloud.CeilingLimits:
		all = append(all, cloudCallsLimited.Event("Calls to the cloud ("+now.Calls+") wait, because --cloud-api-qps and --cloud-api-concurrency limit them."))
	case cloud.ShareLimits:
		all = append(all, cloudComparisonsSlowed.Event(fmt.Sprintf("All Nodes are compared with the cloud more slowly than --node-status-update-frequency says, with at most %.2g calls a second, so that the rest of the cloud's request quota is free for calls that somebody waits for.", now.PerSecond)))
	case cloud.Unlimited:
	}
	return all
}
