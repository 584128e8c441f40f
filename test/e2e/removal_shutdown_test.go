package e2e

import (
	"context"
	"errors"
	"math"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	cloudproviderapi "k8s.io/cloud-provider/api"

	"github.com/fairlead-k8s/fairlead/test/internal/expect"
	"github.com/fairlead-k8s/fairlead/test/internal/nodepool"
	"github.com/fairlead-k8s/fairlead/test/internal/timeout"
)

// shutDown returns the case of a Node whose instance is stopped. The Node gets the
// shutdown taint. While nothing changes, the daemon neither reads nor writes the Node.
// The taint is removed when the instance runs again, whether or not the kubelet reports
// by then.
func (s silences) shutDown() []silentCase {
	var m *nodepool.Member
	var mark int64
	var since time.Time
	return []silentCase{{
		name: "ShutDown",
		begin: func(t *testing.T) {
			m = s.joins(t, "stopped")
			if err := s.Cloud.StopInstance(t.Context(), m.Instance.ID); err != nil {
				t.Fatal(err)
			}
			s.Silence(t, m)
			s.AwaitNode(t, m.Name, expect.Soon, shutdown)
			since = time.Now()
			expect.Within(t, expect.Soon, func(context.Context) error { // Wait until the audit log has the daemon's write.
				if len(s.Audit(t).Since(s.Mark).OfDaemons().OfNode(m.Name).Writes().Done()) == 0 {
					return errors.New("the daemon has not written the Node")
				}
				return nil
			})
			mark = s.Audit(t).Mark()
		},
		still: func(t *testing.T) {
			if did := s.Audit(t).Since(mark).OfDaemons().OfNode(m.Name); len(did) > 0 {
				t.Errorf("%d requests while nothing changed: %v", len(did), did)
			}
			s.spaced(t, m, since)
			describe(t, s.Bed, "shut down", m.Name)

			for _, step := range []struct {
				do   func(*testing.T)
				want func(*corev1.Node) error
			}{
				{func(t *testing.T) { s.power(t, m, s.Cloud.StartInstance) }, notShutdown}, // while Ready is Unknown
				{func(t *testing.T) { s.power(t, m, s.Cloud.StopInstance) }, shutdown},
				{func(t *testing.T) { s.power(t, m, s.Cloud.StartInstance); s.Wake(t, m) }, notShutdown},
			} {
				step.do(t)
				s.AwaitNode(t, m.Name, expect.Soon, step.want)
			}
			s.Stay(t, m)
		},
	}}
}

func (s silences) power(t *testing.T, m *nodepool.Member, switched func(context.Context, string) error) {
	t.Helper()
	if err := switched(t.Context(), m.Instance.ID); err != nil {
		t.Fatal(err)
	}
}

// shutdown returns an error if the Node lacks the shutdown taint.
func shutdown(node *corev1.Node) error {
	for _, taint := range node.Spec.Taints {
		if taint.Key == cloudproviderapi.TaintNodeShutdown {
			return expect.Equal("taint", corev1.Taint{Key: taint.Key, Effect: corev1.TaintEffectNoSchedule}, taint)
		}
	}
	return errors.New("it has no taint that says that it is shut down")
}

func notShutdown(node *corev1.Node) error {
	if shutdown(node) == nil {
		return errors.New("it has the taint that says that it is shut down")
	}
	return nil
}

// spaced checks the times of the questions about an instance that does not change. After
// the first few questions, the time between two questions is about sideLongestPeriod.
func (s silences) spaced(t *testing.T, m *nodepool.Member, since time.Time) {
	t.Helper()
	const first = 5                               // The first checks come sooner.
	together := timeout.Extended(time.Second / 2) // One check may take two calls.
	var looks []time.Time
	for _, a := range m.About(nodepool.AnswersOf(t, s.Cloud)) {
		if a.Began.After(since) && (len(looks) == 0 || a.Began.Sub(looks[len(looks)-1]) > together) {
			looks = append(looks, a.Began)
		}
	}
	took := time.Since(since)
	even := took.Seconds() / sideLongestPeriod.Seconds()
	t.Logf("%d looks in %v; one each %v are %.0f", len(looks), took.Round(time.Second), sideLongestPeriod, even)
	if most := int(math.Ceil(1.3*even)) + first; len(looks) > most {
		t.Errorf("the cloud was asked %d times in %v, want at most %d", len(looks), took.Round(time.Second), most)
	}
	if fewest := int(even / 2); len(looks) < fewest {
		t.Errorf("the cloud was asked %d times in %v, want at least %d", len(looks), took.Round(time.Second), fewest)
	}
}
