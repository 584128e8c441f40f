package e2e

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-k8s/fairlead/providers/simulated"
	"github.com/fairlead-k8s/fairlead/simulator"
	"github.com/fairlead-k8s/fairlead/simulator/wire"
	"github.com/fairlead-k8s/fairlead/test/internal/audit"
	"github.com/fairlead-k8s/fairlead/test/internal/bed"
	"github.com/fairlead-k8s/fairlead/test/internal/expect"
)

// watch checks the load balancers all the time: a Service never has two, and one of
// another class has none.
func (c *chaos) watch(ctx context.Context, t *testing.T) {
	t.Helper()
	for ; ctx.Err() == nil; bed.Pause(ctx, 50*time.Millisecond) {
		all, err := c.Cloud.LoadBalancers(ctx)
		if err != nil {
			continue
		}
		seen := map[types.UID]string{}
		c.mu.Lock()
		for _, l := range all {
			uid := types.UID(l.Tags[simulated.TagServiceUID])
			c.ofBalancer[l.ID] = uid
			if other := seen[uid]; other != "" {
				t.Errorf("S3: the load balancers %s and %s, want one for the Service %v", other, l.ID, c.lives[uid])
			}
			seen[uid] = l.ID
			if known := c.lives[uid]; known != nil && known.foreign {
				t.Errorf("S4: the load balancer %s, want none for the Service %v of another class", l.ID, known)
			}
		}
		c.mu.Unlock()
	}
}

// await waits until everything is as it should be. Replicas that have ended are started
// again, as a kubelet would do.
func (c *chaos) await(t *testing.T, within time.Duration, since string) {
	t.Helper()
	began, told := time.Now(), time.Now()
	expect.Within(t, within, func(ctx context.Context) error {
		c.supervise(t)
		bed.Pause(ctx, 200*time.Millisecond)
		err := c.problems(ctx)
		if err != nil && time.Since(told) > time.Minute {
			t.Logf("%v after %s: %v", time.Since(began).Round(time.Second), since, err)
			told = time.Now()
		}
		return err
	})
	t.Logf("%v after %s, everything is in order", time.Since(began).Round(100*time.Millisecond), since)
}

// problems compares all Services with the load balancers of the cloud.
func (c *chaos) problems(ctx context.Context) error {
	list, err := c.API().List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	backends, err := backendsNow(ctx, c.Services)
	if err != nil {
		return err
	}
	balancers, err := c.Cloud.LoadBalancers(ctx)
	if err != nil {
		return err
	}
	left, errs := map[string]simulator.LoadBalancer{}, []error(nil)
	for _, l := range balancers {
		left[l.Tags[simulated.TagServiceUID]] = l
	}
	for n := range list.Items {
		service := &list.Items[n]
		s := c.slotOf(service.Name)
		if s == nil {
			continue
		}
		var l *simulator.LoadBalancer
		if found, has := left[string(service.UID)]; has {
			l = &found
		}
		delete(left, string(service.UID))
		if err := s.wrong(service, l, backends); err != nil {
			errs = append(errs, fmt.Errorf("service %s with %s: %w", service.Name, c.lifeOf(service.UID), err))
		}
	}
	for uid, l := range left {
		errs = append(errs, fmt.Errorf("S2: the load balancer %s is left behind, want none for the Service %s", l.ID, c.lifeOf(types.UID(uid))))
	}
	return errors.Join(errs...)
}

// lifeOf describes the life of a Service.
func (c *chaos) lifeOf(uid types.UID) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.lives[uid].String()
}

func (c *chaos) slotOf(name string) *slot {
	if n := slices.IndexFunc(c.slots, func(s *slot) bool { return s.name == name }); n >= 0 {
		return c.slots[n]
	}
	return nil
}

// staysQuiet checks that nothing is written once everything is in order (P1).
func (c *chaos) staysQuiet(t *testing.T) {
	t.Helper()
	bed.Pause(t.Context(), time.Second) // What was written last may not be in the audit log yet.
	mark, began := c.Audit(t).Mark(), time.Now()
	bed.Pause(t.Context(), quietFor)
	for _, r := range c.Audit(t).Since(mark).OfDaemons().Writes() {
		if strings.HasPrefix(r.Resource(), "services") || strings.HasPrefix(r.Resource(), "nodes") {
			t.Errorf("P1: written although nothing changes: %s", r)
		}
	}
	for _, r := range c.front.Requests(ofBalancerChanges) {
		if r.Began.After(began) {
			t.Errorf("P1: the cloud is changed although nothing changes: %s %s", r.Method, r.Path)
		}
	}
}

// judge checks everything that has been called and written since the mark.
func (c *chaos) judge(t *testing.T, mark int64) {
	t.Helper()
	changes := c.front.Requests(ofBalancerChanges)
	neverBeside(t, changes)
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, r := range changes {
		l := c.lives[c.ofBalancer[path.Base(r.Path)]]
		if r.Method == http.MethodDelete && l != nil && (l.left.IsZero() || l.left.After(r.Began)) {
			t.Errorf("S2: a load balancer is deleted at %v, want that it stays until %v; its Service is %v", r.Began, l.left, l)
		}
	}
	report, err := c.Cloud.Calls(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range report.Counters {
		if n.Call == simulator.CreateLoadBalancer && n.Result == wire.CodeAlreadyExists {
			t.Errorf("S3: %d load balancers were to be made beside one that the Service has", n.Count)
		}
	}
	c.leavesOthersAlone(t, mark)
}

// leavesOthersAlone checks that no Service of another class has been written since the
// mark (S4). The caller holds mu.
func (c *chaos) leavesOthersAlone(t *testing.T, mark int64) {
	t.Helper()
	writes := c.Audit(t).Since(mark).OfDaemons().Writes().Where(func(r audit.Request) bool { return r.Object.Resource == "services" })
	for _, l := range c.lives {
		if !l.foreign {
			continue
		}
		for _, r := range writes {
			if bytes.Contains(r.Body, []byte(l.uid)) {
				t.Errorf("S4: %s, want no write of the Service %v of another class", r, l)
			}
		}
	}
}
