package conformance

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/fairlead-k8s/fairlead/provider"
)

// faultChecks are the checks in which calls to the cloud fail.
var faultChecks = []Check{
	{
		ID: "instances/fault-is-error", Level: Core, Needs: needs(needMachines, needFaulter), Source: sourceNotFound,
		Title: "Each failure of the cloud is returned as an error, and never as the answer that an instance does not exist",
		Cost:  "In each outage of the cloud: " + costDeleted,
		run: func(t *trial) {
			m := t.machine("a")
			t.under(failures(), func(f Fault) {
				for _, n := range both(m) {
					t.brief(func(ctx context.Context) { t.notAbsent(ctx, n, "fault "+string(f.Kind)) })
					t.brief(func(ctx context.Context) { t.notEmpty(ctx, n, "fault "+string(f.Kind)) })
				}
			})
		},
	},
	{
		ID: "instances/denied-as-404", Level: Measured, Needs: needs(needMachines, needFaulter), Source: sourceNotFound,
		Title: "How many of two calls about a running machine call it absent if the cloud answers 404 to everything",
		Cost:  "A provider cannot tell this from a machine that is gone. The daemon asks about other Nodes first.",
		run: func(t *trial) {
			m := t.machine("a")
			absent := 0
			t.under(faults(FaultNotFound), func(Fault) {
				for _, n := range both(m) {
					t.brief(func(ctx context.Context) {
						if exists, err := t.exists(ctx, n); !exists && err == nil {
							absent++
						}
					})
				}
			})
			t.measure("absentUnder404", float64(absent))
		},
	},
	{
		ID: "instances/short-list", Level: Core, Needs: needs(needMachines, needFaulter), Source: sourceNotFound,
		Title: "An instance that is missing in a list is not called absent when it is asked for by ID",
		Cost:  costDeleted,
		run: func(t *trial) {
			machines := t.machines(roles(3)...)
			t.under(faults(FaultEmptyList, FaultTruncatedList), func(f Fault) {
				for _, m := range machines {
					t.notAbsent(t.ctx, joined(m), "fault "+string(f.Kind))
				}
			})
		},
	},
	{
		ID: "instances/kinds", Level: Extended, Needs: needs(needMachines, needFaulter), Source: "provider.ErrorClassifier, provider.Classify",
		Title: "The errors of the cloud can be told apart: throttled, denied, unavailable",
		Cost:  "The daemon cannot say why it waits, and does not slow down for a cloud that asks for it.",
		run: func(t *trial) {
			m := t.machine("a")
			want := map[FaultKind]provider.ErrorKind{
				FaultThrottled: provider.Throttled, FaultUnauthenticated: provider.Denied, FaultForbidden: provider.Denied, FaultUnavailable: provider.Unavailable,
			}
			all := append(faults(FaultThrottled, FaultUnauthenticated, FaultForbidden, FaultUnavailable), Fault{Kind: FaultThrottled, RetryAfter: time.Second})
			t.under(all, func(f Fault) {
				ctx, cancel := context.WithTimeout(t.ctx, 5*callTime) // a provider may try again by itself
				defer cancel()
				_, err := t.exists(ctx, joined(m))
				switch got := t.classify(err); {
				case err == nil: // the provider knew the answer without this call
				case got.Kind != want[f.Kind]:
					t.errorf("fault %s: InstanceExists: %v; this is read as %q, want %q", f.Kind, err, got.Kind, want[f.Kind])
				case got.RetryAfter < f.RetryAfter:
					t.errorf("fault %s: InstanceExists: %v; the cloud has asked to wait for %v, and the error says %v", f.Kind, err, f.RetryAfter, got.RetryAfter)
				}
			})
		},
	},
}

// faults returns a fault of each kind.
func faults(kinds ...FaultKind) []Fault {
	var all []Fault
	for _, kind := range kinds {
		all = append(all, Fault{Kind: kind})
	}
	return all
}

// failures returns the faults in which the cloud gives no valid answer.
func failures() []Fault {
	return faults(FaultError, FaultUnavailable, FaultThrottled, FaultUnauthenticated, FaultForbidden, FaultReset, FaultGarbage)
}

// under calls the function under each fault that the world can set, each time with a
// provider that remembers nothing. If the world can set none, it ends the check.
func (t *trial) under(all []Fault, call func(Fault)) {
	tried := 0
	for _, f := range all {
		t.restart()
		restore, err := t.setFault(f)
		if errors.Is(err, ErrCannot) {
			continue
		}
		t.must(fmt.Sprintf("set fault %s", f.Kind), err)
		call(f)
		restore()
		tried++
	}
	if tried == 0 {
		t.notRunf("the world can set none of the faults %+v", all)
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

// timeChecks are the checks in which the cloud does not answer a call, or asks the
// provider to wait before the next call.
var timeChecks = []Check{
	{
		ID: "instances/cancel", Level: Core, Needs: needs(needMachines, needFaulter), Source: sourceContext,
		Title: "A call returns with an error when its context is canceled",
		Cost:  "The daemon cannot stop, and a new leader starts while the old one still writes.",
		run: func(t *trial) {
			t.unanswered(func(ctx context.Context) (context.Context, context.CancelFunc) {
				ctx, cancel := context.WithCancel(ctx)
				time.AfterFunc(soon, cancel)
				return ctx, cancel
			})
		},
	},
	{
		ID: "instances/deadline", Level: Core, Needs: needs(needMachines, needFaulter), Source: sourceContext,
		Title: "A call returns with an error when its deadline has passed",
		Cost:  costStuck,
		run: func(t *trial) {
			t.unanswered(func(ctx context.Context) (context.Context, context.CancelFunc) { return context.WithTimeout(ctx, soon) })
		},
	},
	{
		ID: "instances/others-hang", Level: Core, Needs: needs(needMachines, needFaulter), Source: sourceContext,
		Title: "If the cloud does not answer one caller, other callers do not wait",
		Cost:  costStuck,
		run: func(t *trial) {
			a, b := t.machine("a"), t.machine("b")
			t.under([]Fault{{Kind: FaultHang, Count: 1}}, func(Fault) { t.besideOther(joined(a), joined(b)) })
		},
	},
	{
		ID: "instances/retry-after", Level: Extended, Needs: needs(needMachines, needFaulter, needMeter), Source: "HTTP: Retry-After",
		Title: "After the cloud has asked to wait, a call does not ask again before that time",
		Cost:  "The cloud throttles the account for longer, and so everything that uses this account.",
		run: func(t *trial) {
			m := t.machine("a")
			t.under([]Fault{{Kind: FaultThrottled, RetryAfter: time.Minute}}, func(f Fault) {
				calls := t.counted(func() {
					t.brief(func(ctx context.Context) { _, _ = t.exists(ctx, joined(m)) })
				})
				if calls.Refused > 1 {
					t.errorf("the cloud has asked to wait for %v, and one InstanceExists has called it %d times within %v", f.RetryAfter, calls.Refused, callTime)
				}
			})
		},
	},
}

// unanswered calls the provider while the cloud does not answer. The context of the call
// ends soon. Both an error and the right answer without a call of the cloud are right.
func (t *trial) unanswered(ending func(context.Context) (context.Context, context.CancelFunc)) {
	m := t.machine("a")
	t.under(faults(FaultHang), func(Fault) {
		t.inTime("InstanceExists", "although its context had ended", func(ctx context.Context) {
			ctx, cancel := ending(ctx)
			defer cancel()
			t.caught("InstanceExists, while the cloud does not answer", func() {
				if exists, err := t.exists(ctx, joined(m)); err == nil && !exists {
					t.errorf("InstanceExists, while the cloud does not answer, = false, nil; want an error")
				}
			})
		})
	})
}

// besideOther asks about the first Node while the cloud does not answer, and requires that
// the second question is answered.
func (t *trial) besideOther(first, second *corev1.Node) {
	other, cancel := context.WithCancel(t.ctx)
	defer cancel()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		defer func() { _ = recover() }() // other checks report a panic
		_, _ = t.instances().InstanceExists(other, first)
	}()
	select {
	case <-ended: // the provider needed no call
	case <-time.After(2 * soon):
	}
	// The fault may hit this call instead of the one in the goroutine. Then the next
	// call succeeds.
	var err error
	for range 3 {
		began := time.Now()
		t.brief(func(ctx context.Context) {
			var exists bool
			if exists, err = t.exists(ctx, second); err == nil && !exists {
				err = errors.New("it said that the instance does not exist")
			}
		})
		if took := time.Since(began); took > callTime+grace {
			t.failf("while another caller waits for the cloud, InstanceExists(%s) has taken %v; its context had ended after %v", show(second), took.Truncate(time.Second), callTime)
		}
		if err == nil {
			return
		}
	}
	t.errorf("while another caller waits for the cloud, InstanceExists(%s): %v; want true, nil", show(second), err)
}
