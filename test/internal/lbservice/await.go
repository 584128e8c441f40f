package lbservice

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-k8s/fairlead/simulator"
	"github.com/fairlead-k8s/fairlead/test/internal/expect"
)

// AwaitService waits until check finds nothing wrong with the Service.
func (s Services) AwaitService(t *testing.T, name string, within time.Duration, check func(*corev1.Service) error) *corev1.Service {
	t.Helper()
	var service *corev1.Service
	expect.Within(t, within, func(ctx context.Context) error {
		var err error
		if service, err = s.API().Get(ctx, name, metav1.GetOptions{}); err != nil {
			return err
		}
		if err := check(service); err != nil {
			return fmt.Errorf("service %s: %w", name, err)
		}
		return nil
	})
	return service
}

// AwaitServing waits until the Service has exactly one load balancer and shows its
// address. The load balancer must have exactly these instances as backends. The
// conditions of the Service must show that nothing is left to do.
func (s Services) AwaitServing(t *testing.T, name string, instances ...simulator.Instance) simulator.LoadBalancer {
	t.Helper()
	return s.AwaitServingWithin(t, expect.Soon, name, instances...)
}

// AwaitServingWithin does the same as AwaitServing with another timeout.
func (s Services) AwaitServingWithin(t *testing.T, within time.Duration, name string, instances ...simulator.Instance) simulator.LoadBalancer {
	t.Helper()
	var l simulator.LoadBalancer
	s.AwaitService(t, name, within, func(service *corev1.Service) error {
		var err error
		if l, err = s.Balancer(t.Context(), name); err != nil {
			return err
		}
		if !slices.Contains(service.Finalizers, Finalizer) {
			return errors.New("it has no finalizer")
		}
		if ingress := service.Status.LoadBalancer.Ingress; len(ingress) != 1 || ingress[0].IP != l.Address {
			return fmt.Errorf("it shows %+v, want %s", ingress, l.Address)
		}
		return errors.Join(
			expect.Equal("backends", idsOf(instances), l.Backends),
			Showing(ConditionServing, metav1.ConditionTrue, "Ready")(service),
			Showing(ConditionProvisioning, metav1.ConditionFalse, "Provisioned")(service),
		)
	})
	return l
}

func idsOf(instances []simulator.Instance) []string {
	ids := []string{}
	for _, i := range instances {
		ids = append(ids, i.ID)
	}
	slices.Sort(ids)
	return ids
}

// AwaitGone waits until neither the Service nor any load balancer of it is left.
func (s Services) AwaitGone(t *testing.T, name string) {
	t.Helper()
	expect.Within(t, RetriesWithin, func(ctx context.Context) error {
		service, err := s.API().Get(ctx, name, metav1.GetOptions{})
		if !apierrors.IsNotFound(err) {
			return fmt.Errorf("service %s is still there with %+v: %w", name, service.Status.Conditions, err)
		}
		if left, err := s.BalancersOf(ctx, name); err != nil || len(left) > 0 {
			return fmt.Errorf("service %s is gone and its load balancer is not: %+v, %w", name, left, err)
		}
		return nil
	})
}

// AwaitInternal is for a Service that no longer has the type LoadBalancer. It waits until
// the old load balancer is gone, and the Service has no trace of it.
func (s Services) AwaitInternal(t *testing.T, name string) {
	t.Helper()
	s.AwaitService(t, name, expect.Soon, func(service *corev1.Service) error {
		left, err := s.BalancersOf(t.Context(), name)
		if err != nil || len(left)+len(service.Finalizers)+len(service.Status.LoadBalancer.Ingress)+len(service.Status.Conditions) > 0 {
			return fmt.Errorf("left of the load balancer: %+v, %v, %+v, %w", left, service.Finalizers, service.Status, err)
		}
		return nil
	})
}

// shown returns the condition of this type, or nil if the Service has none.
func shown(service *corev1.Service, kind string) *metav1.Condition {
	n := slices.IndexFunc(service.Status.Conditions, func(c metav1.Condition) bool { return c.Type == kind })
	if n < 0 {
		return nil
	}
	return &service.Status.Conditions[n]
}

// Showing returns a check for this condition in a Service. The condition's message
// must contain the words.
func Showing(kind string, status metav1.ConditionStatus, reason string, words ...string) func(*corev1.Service) error {
	return func(service *corev1.Service) error {
		c := shown(service, kind)
		switch {
		case c == nil:
			return fmt.Errorf("no condition %s among %+v", kind, service.Status.Conditions)
		case c.Status != status, c.Reason != reason, !expect.HasWords(c.Message, words):
			return fmt.Errorf("condition %s is %s %s: %s; want %s %s and %q in it", kind, c.Status, c.Reason, c.Message, status, reason, words)
		}
		return nil
	}
}

// Told returns the events about a Service that the daemon has recorded.
func (s Services) Told(ctx context.Context, service string) ([]string, error) {
	return s.EventsAbout(ctx, "Service", service, serviceSource)
}

// AwaitTold waits for an event about a Service that begins with start and contains
// the words.
func (s Services) AwaitTold(t *testing.T, service string, within time.Duration, start string, words ...string) {
	t.Helper()
	expect.Within(t, within, func(ctx context.Context) error {
		all, err := s.Told(ctx, service)
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(all, func(e string) bool { return strings.HasPrefix(e, start) && expect.HasWords(e, words) }) {
			return fmt.Errorf("service %s: no event %q with %q among %q", service, start, words, all)
		}
		return nil
	})
}
