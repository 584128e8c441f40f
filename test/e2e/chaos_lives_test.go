package e2e

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-k8s/fairlead/simulator"
	"github.com/fairlead-k8s/fairlead/test/internal/bed"
	"github.com/fairlead-k8s/fairlead/test/internal/expect"
	"github.com/fairlead-k8s/fairlead/test/internal/lbservice"
)

// slot is a name under which one Service lives after the other.
type slot struct {
	*chaos

	r    *rand.Rand
	name string
	now  *serviceLife // nil: there is none, or it is being deleted
	// wanted means that the Service wants a load balancer from us.
	wanted bool
}

// lives lets Services live under this name until the storm is over.
func (s *slot) lives(t *testing.T, over <-chan struct{}) {
	t.Helper()
	pauses := []time.Duration{0, 0, 50 * time.Millisecond, 300 * time.Millisecond, time.Second, 3 * time.Second}
	for {
		select {
		case <-over:
			return
		default:
		}
		switch pick := s.r.IntN(10); {
		case s.now == nil:
			if s.gone(t.Context()) {
				s.begins(t)
			}
		case pick < 4:
			s.ends(t)
		case pick < 7 || s.now.foreign:
			s.edit(t, fmt.Sprintf(`{"spec":{"ports":[{"port":%d}]}}`, 80+s.r.IntN(1000)))
		case s.wanted:
			s.leaves()
			s.edit(t, `{"spec":{"type":"ClusterIP"}}`)
			if pick == 9 {
				s.edit(t, `{"spec":{"type":"LoadBalancer","loadBalancerClass":"`+foreign+`"}}`)
			}
		default:
			s.returns(t)
		}
		bed.Pause(t.Context(), pauses[s.r.IntN(len(pauses))])
	}
}

// begins creates the next Service of this name.
func (s *slot) begins(t *testing.T) {
	t.Helper()
	service := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: s.name},
		Spec:       corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer, Ports: []corev1.ServicePort{{Port: 80}}},
	}
	theirs := s.r.IntN(6) == 0
	if theirs {
		service.Finalizers, service.Spec.LoadBalancerClass = []string{lbservice.Finalizer}, new(foreign)
	}
	var created *corev1.Service
	s.try(t, func(ctx context.Context) (err error) {
		if created, err = s.API().Create(ctx, service, metav1.CreateOptions{}); apierrors.IsAlreadyExists(err) { // The reply to an earlier try was lost.
			created, err = s.API().Get(ctx, s.name, metav1.GetOptions{})
		}
		return err
	})
	if created == nil {
		return
	}
	s.now, s.wanted = &serviceLife{uid: created.UID, foreign: theirs}, !theirs
	s.mu.Lock()
	s.chaos.lives[created.UID] = s.now
	s.mu.Unlock()
	s.did("created, of another class: %v", theirs)
}

// did records what has happened to the Service.
func (s *slot) did(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now.did = append(s.now.did, time.Now().Format("15:04:05.000 ")+fmt.Sprintf(format, args...))
}

// ends deletes the Service. The controller of another class removes its finalizer.
//
// Only the version that was read is deleted. Otherwise the API server would ignore a
// finalizer that is written between the two reads of its deletion. If the process was then
// killed before it had removed the load balancer, that would be left behind.
func (s *slot) ends(t *testing.T) {
	t.Helper()
	s.leaves()
	s.try(t, func(ctx context.Context) error {
		service, err := s.API().Get(ctx, s.name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		return s.API().Delete(ctx, s.name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &s.now.uid, ResourceVersion: &service.ResourceVersion}})
	})
	if s.now.foreign {
		s.try(t, func(ctx context.Context) error { return s.Unfinalized(ctx, s.name) })
	}
	s.did("deleted")
	s.now = nil
}

// returns makes the Service want a load balancer from us again. One that belongs to
// another class has to become internal first.
func (s *slot) returns(t *testing.T) {
	t.Helper()
	s.edit(t, `{"spec":{"type":"ClusterIP"}}`)
	s.edit(t, `{"spec":{"type":"LoadBalancer"}}`)
	s.wanted = true
}

// leaves records that the Service wants no load balancer from us.
func (s *slot) leaves() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.now.left.IsZero() {
		s.now.left = time.Now()
	}
	s.wanted = false
}

func (s *slot) edit(t *testing.T, body string) {
	t.Helper()
	s.try(t, func(ctx context.Context) error {
		_, err := s.API().Patch(ctx, s.name, types.MergePatchType, []byte(body), metav1.PatchOptions{})
		return err
	})
	s.did("%s", body)
}

// try makes a request until the API server has carried it out. It is not cut short by the
// end of the storm, so that the state of the Service is known.
func (s *slot) try(t *testing.T, request func(context.Context) error) {
	t.Helper()
	for began := time.Now(); ; bed.Pause(t.Context(), 100*time.Millisecond) {
		err := request(t.Context())
		if err == nil || apierrors.IsNotFound(err) {
			return
		}
		if apierrors.IsInvalid(err) || time.Since(began) > settledWithin {
			t.Errorf("service %s: %v", s.name, err)
			return
		}
	}
}

// gone reports whether no Service has this name.
func (s *slot) gone(ctx context.Context) bool {
	_, err := s.API().Get(ctx, s.name, metav1.GetOptions{})
	return apierrors.IsNotFound(err)
}

// wrong returns what is wrong with the Service that has this name and its load balancer.
func (s *slot) wrong(service *corev1.Service, l *simulator.LoadBalancer, backends []string) error {
	ingress := service.Status.LoadBalancer.Ingress
	switch {
	case s.now == nil:
		return errors.New("it is still there, want it gone")
	case s.now.uid != service.UID:
		return fmt.Errorf("want %s", s.now.uid)
	case s.now.foreign:
		return errors.Join(expect.Equal("finalizers", []string{lbservice.Finalizer}, service.Finalizers), expect.Equal("conditions", 0, len(service.Status.Conditions)))
	case !s.wanted:
		if l != nil || len(service.Finalizers)+len(ingress)+len(service.Status.Conditions) > 0 {
			return fmt.Errorf("load balancer %+v, finalizers %v, %+v, want nothing left", l, service.Finalizers, service.Status)
		}
		return nil
	case l == nil || !slices.Contains(service.Finalizers, lbservice.Finalizer) || len(ingress) != 1 || ingress[0].IP != l.Address:
		return fmt.Errorf("load balancer %+v, finalizers %v, %+v, want the finalizer and this address", l, service.Finalizers, service.Status)
	}
	return errors.Join(
		expect.Equal("backends", backends, l.Backends), expect.Equal("port", int(service.Spec.Ports[0].Port), l.Listeners[0].Port),
		lbservice.Showing(lbservice.ConditionServing, metav1.ConditionTrue, "Ready")(service),
		lbservice.Showing(lbservice.ConditionProvisioning, metav1.ConditionFalse, "Provisioned")(service),
	)
}
