package conformance

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/fairlead-k8s/fairlead/provider"
)

// faultChecks returns the checks in which calls to the cloud fail.
func faultChecks() []Check {
	needs := []Need{NeedMachines, NeedFaulter}
	return []Check{
		{
			ID: "instances/fault-is-error", Level: Core, Since: "0.2", Needs: needs, run: faultIsError,
			Title:  "Each failure of the cloud is returned as an error, and never as the answer that an instance does not exist",
			Source: sourceNotFound, Cost: "In each outage of the cloud: " + costDeleted,
		},
		{
			ID: "instances/denied-as-404", Level: Measured, Since: "0.2", Needs: needs, run: deniedAs404,
			Title:  "How many of two calls about a running machine call it absent if the cloud answers 404 to everything",
			Source: sourceNotFound, Cost: "A provider cannot tell this from a machine that is gone. The daemon asks about other Nodes first.",
		},
		{
			ID: "instances/short-list", Level: Core, Since: "0.2", Needs: needs, run: shortList,
			Title:  "An instance that is missing in a list is not called absent when it is asked for by ID",
			Source: sourceNotFound, Cost: costDeleted,
		},
		{
			ID: "instances/kinds", Level: Extended, Since: "0.2", Needs: needs, run: kinds,
			Title:  "The errors of the cloud can be told apart: throttled, denied, unavailable",
			Source: "provider.ErrorClassifier, provider.Classify",
			Cost:   "The daemon cannot say why it waits, and does not slow down for a cloud that asks for it.",
		},
	}
}

// failures returns the faults in which the cloud gives no valid answer.
func failures() []FaultKind {
	return []FaultKind{FaultError, FaultUnavailable, FaultThrottled, FaultUnauthenticated, FaultForbidden, FaultReset, FaultGarbage}
}

// under calls t.refresh, sets the fault, calls the function, and clears the fault. It
// reports whether the world can set the fault.
func (t *trial) under(f Fault, call func()) bool {
	t.refresh()
	restore, err := t.setFault(f)
	if errors.Is(err, ErrCannot) {
		return false
	}
	t.must(fmt.Sprintf("set fault %s", f.Kind), err)
	restore = sync.OnceFunc(restore)
	defer restore()
	// Even if the function hangs, the fault must not hit the next check.
	t.cleanup(fmt.Sprintf("clear fault %s", f.Kind), func(context.Context) error { restore(); return nil })
	call()
	return true
}

func faultIsError(t *trial) {
	m := t.machine("a")
	tried := 0
	for _, kind := range failures() {
		if t.under(Fault{Kind: kind}, func() {
			for _, n := range []*corev1.Node{joined(m), named(m)} {
				t.brief(func(ctx context.Context) { t.notAbsent(ctx, n, "fault "+string(kind)) })
				t.brief(func(ctx context.Context) { t.notEmpty(ctx, n, "fault "+string(kind)) })
			}
		}) {
			tried++
		}
	}
	if tried == 0 {
		t.notRunf("the world has none of the faults %v", failures())
	}
}

// notEmpty fails the check if the provider returns neither metadata nor an error. It
// also fails the check if the provider says that there is no instance.
func (t *trial) notEmpty(ctx context.Context, n *corev1.Node, when string) {
	switch got, err := t.instances().InstanceMetadata(ctx, n); {
	case err == nil && (got == nil || got.ProviderID == ""):
		t.errorf("%s: InstanceMetadata(%s) = %+v, nil; want an error", when, show(n), got)
	case errors.Is(err, cloudprovider.InstanceNotFound):
		t.errorf("%s: InstanceMetadata(%s): %v; want an error that is not InstanceNotFound", when, show(n), err)
	}
}

func deniedAs404(t *trial) {
	m := t.machine("a")
	absent := 0
	if !t.under(Fault{Kind: FaultNotFound}, func() {
		for _, n := range []*corev1.Node{joined(m), named(m)} {
			t.brief(func(ctx context.Context) {
				if exists, err := t.exists(ctx, n); !exists && err == nil {
					absent++
				}
			})
		}
	}) {
		t.notRunf("the world has no fault %s", FaultNotFound)
	}
	t.measure("absentUnder404", float64(absent))
}

func shortList(t *trial) {
	machines := []Machine{t.machine("a"), t.machine("b"), t.machine("c")}
	tried := 0
	for _, kind := range []FaultKind{FaultEmptyList, FaultTruncatedList} {
		if t.under(Fault{Kind: kind}, func() {
			for _, m := range machines {
				t.notAbsent(t.ctx, joined(m), "fault "+string(kind))
			}
		}) {
			tried++
		}
	}
	if tried == 0 {
		t.notRunf("the world has neither the fault %s nor %s", FaultEmptyList, FaultTruncatedList)
	}
}

func kinds(t *trial) {
	m := t.machine("a")
	const pause = time.Second
	tried := 0
	for _, c := range []struct {
		fault Fault
		want  provider.ErrorKind
	}{
		{Fault{Kind: FaultThrottled}, provider.Throttled},
		{Fault{Kind: FaultThrottled, RetryAfter: pause}, provider.Throttled},
		{Fault{Kind: FaultUnauthenticated}, provider.Denied},
		{Fault{Kind: FaultForbidden}, provider.Denied},
		{Fault{Kind: FaultUnavailable}, provider.Unavailable},
	} {
		if t.under(c.fault, func() {
			ctx, cancel := context.WithTimeout(t.ctx, 5*callTime) // a provider may try again by itself
			defer cancel()
			_, err := t.exists(ctx, joined(m))
			switch got := t.classify(err); {
			case err == nil: // the provider knew the answer without this call
			case got.Kind != c.want:
				t.errorf("fault %s: InstanceExists: %v; this is read as %q, want %q", c.fault.Kind, err, got.Kind, c.want)
			case got.RetryAfter < c.fault.RetryAfter:
				t.errorf("fault %s: InstanceExists: %v; the cloud has asked to wait for %v, and the error says %v", c.fault.Kind, err, pause, got.RetryAfter)
			}
		}) {
			tried++
		}
	}
	if tried == 0 {
		t.notRunf("the world has none of the faults %s, %s, %s and %s", FaultThrottled, FaultUnauthenticated, FaultForbidden, FaultUnavailable)
	}
}

// classify reads an error as the daemon does.
func (t *trial) classify(err error) provider.Classification {
	if classifier, ok := t.provider.(provider.ErrorClassifier); ok {
		if got := classifier.ClassifyError(err); got.Kind != provider.Unclassified || got.Known {
			return got
		}
	}
	return provider.Classify(err)
}
