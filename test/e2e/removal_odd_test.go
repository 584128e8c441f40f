package e2e

import (
	"context"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	cloudproviderapi "k8s.io/cloud-provider/api"

	"github.com/fairlead-k8s/fairlead/simulator"
	"github.com/fairlead-k8s/fairlead/test/internal/bed"
	"github.com/fairlead-k8s/fairlead/test/internal/expect"
	"github.com/fairlead-k8s/fairlead/test/internal/nodepool"
	"github.com/fairlead-k8s/fairlead/test/internal/nodes"
)

// odd returns the cases of unusual Nodes. None of them is deleted.
func (s silences) odd() []silentCase {
	return slices.Concat(s.foreign(), s.othersToo(), s.keptOff())
}

// foreign returns the cases of Nodes of another provider. Some providers return an error
// about these Nodes. Others say "absent".
func (s silences) foreign() []silentCase {
	var cases []silentCase
	for _, row := range []struct {
		name    string
		fault   string
		reasons []string
	}{
		{"ForeignProviderIDIsRefused", "", []string{"ForeignProviderID", "CloudRejected"}},
		{"ForeignProviderIDIsAbsent", "disowns", []string{"ForeignProviderID"}},
	} {
		var m *nodepool.Member
		cases = append(cases, silentCase{
			name: row.name,
			begin: func(t *testing.T) {
				i := s.Instance(t, simulator.Instance{Name: s.Name("foreign")})
				node := nodes.NewInitialized(i)
				node.Spec.ProviderID = "elsewhere://west/12345"
				if row.fault == "" {
					node.Spec.ProviderID = "refused://west/12345"
				}
				m = s.Join(t, node, i)
				if row.fault != "" {
					s.misbehave(t, m, row.fault)
				}
				s.Silence(t, m)
			},
			ends: func(t *testing.T) {
				s.AwaitHeld(t, []*nodepool.Member{m}, row.reasons...)
				describe(t, s.Bed, row.name, m.Name)
				noStream(t, s.Pool, []*nodepool.Member{m})
			},
			still: func(t *testing.T) { s.Stay(t, m) },
		})
	}
	return cases
}

// othersToo returns the cases of two Nodes with one provider ID, and of an instance that
// was renamed in the cloud.
func (s silences) othersToo() []silentCase {
	var shared, twin, renamed *nodepool.Member
	return []silentCase{
		{
			name: "TwoNodesWithOneProviderID",
			begin: func(t *testing.T) {
				shared = s.joins(t, "shared")
				node := nodes.NewInitialized(shared.Instance)
				node.Name = s.Name("shared")
				twin = s.Join(t, node, shared.Instance)
				s.Silence(t, shared)
			},
			ends: func(t *testing.T) { s.AwaitAsked(t, 1, shared) },
			still: func(t *testing.T) {
				s.Stay(t, shared, twin)
				describe(t, s.Bed, "one of two with one provider ID", shared.Name)
			},
		},
		{
			name: "RenamedInTheCloud",
			begin: func(t *testing.T) {
				renamed = s.joins(t, "renamed")
				s.Cloud.Change(t, renamed.Instance, simulator.InstancePatch{Name: new(renamed.Name + "-otherwise")})
				s.Silence(t, renamed)
			},
			ends: func(t *testing.T) { s.AwaitAsked(t, 2, renamed) },
			still: func(t *testing.T) {
				s.Stay(t, renamed)
				describe(t, s.Bed, "renamed in the cloud", renamed.Name)
			},
		},
	}
}

// keptOff returns the cases of Nodes that the daemon must not touch, although their
// instances are gone.
func (s silences) keptOff() []silentCase {
	const finalizer = "e2e.fairlead.dev/kept"
	var excluded, terminating *nodepool.Member
	untouched := func(t *testing.T, m *nodepool.Member) {
		t.Helper()
		if writes := s.Audit(t).Since(s.Mark).OfDaemons().OfNode(m.Name).Writes(); len(writes) > 0 {
			t.Errorf("node %s was written: %v", m.Name, writes)
		}
		told, err := s.EventsOf(t.Context(), nodepool.Source, m.Name)
		if err != nil {
			t.Fatal(err)
		}
		if len(told) > 0 {
			t.Errorf("node %s: events %q", m.Name, told)
		}
		if all := m.About(nodepool.AnswersOf(t, s.Cloud)); len(all) > 0 {
			t.Errorf("node %s: the cloud was asked %d times", m.Name, len(all))
		}
	}
	return []silentCase{
		{
			name: "Excluded",
			begin: func(t *testing.T) {
				i := s.Instance(t, simulator.Instance{Name: s.Name("kept")})
				node := nodes.NewInitialized(i)
				node.Labels[labelExclude] = "true"
				excluded = s.Join(t, node, i)
				s.Terminate(t, excluded)
				s.Silence(t, excluded)
			},
			still: func(t *testing.T) {
				s.Stay(t, excluded)
				untouched(t, excluded)
			},
		},
		{
			name: "AlreadyTerminating",
			begin: func(t *testing.T) {
				i := s.Instance(t, simulator.Instance{Name: s.Name("terminating")})
				node := nodes.NewInitialized(i)
				node.Finalizers = []string{finalizer}
				terminating = s.Join(t, node, i)
				unfinalize(t, s.Bed, terminating.Name)
				s.ByHand(t, terminating)
				s.Terminate(t, terminating)
				s.Silence(t, terminating)
			},
			still: func(t *testing.T) { untouched(t, terminating) },
		},
	}
}

// unfinalize removes the finalizers of a Node at the end of the test, so that the
// API server can complete its deletion.
func unfinalize(t *testing.T, b *bed.Bed, name string) {
	t.Helper()
	expect.Cleanup(t, func(ctx context.Context) error {
		_, err := b.Admin.CoreV1().Nodes().Patch(ctx, name, types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
		return err
	})
}

// gone returns the cases of Nodes whose instances really are gone. Nothing holds
// the deletion of these Nodes.
func (s silences) gone() []silentCase {
	var cases []silentCase
	for _, row := range []struct {
		name string
		// join returns a Node. The test then terminates its instance.
		join func(*testing.T) *nodepool.Member
	}{
		{"Gone", func(*testing.T) *nodepool.Member { return s.Members[1] }},
		{"GoneBeforeItWasInitialised", func(t *testing.T) *nodepool.Member {
			i := s.Instance(t, simulator.Instance{Name: s.Name("uninitialised")})
			node := nodes.New(i.Name)
			node.Spec.ProviderID = nodes.ProviderID(i)
			return s.Join(t, node, i)
		}},
		{"GoneAndNeverReported", func(*testing.T) *nodepool.Member { return s.neverReported }},
	} {
		var m *nodepool.Member
		cases = append(cases, silentCase{
			name: row.name,
			begin: func(t *testing.T) {
				m = row.join(t)
				m.Rules = nodepool.Rules{Absences: nodepool.Absences, AbsentFor: sideAbsentFor}
				if slices.ContainsFunc(m.Spec.Taints, func(t corev1.Taint) bool { return t.Key == cloudproviderapi.TaintExternalCloudProvider }) {
					m.Rules.AbsentFor = sideYoungAbsentFor
					m.Rules.Compared = true // The attempts to initialise the Node ask about it, too.
				}
				s.Terminate(t, m)
				if len(m.Status.Conditions) > 0 {
					s.Silence(t, m)
				}
			},
			ends: func(t *testing.T) { s.AwaitGone(t, 2*time.Minute, m) },
		})
	}
	return cases
}
