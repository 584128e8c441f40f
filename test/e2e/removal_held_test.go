package e2e

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-k8s/fairlead/simulator"
	"github.com/fairlead-k8s/fairlead/test/internal/daemon"
	"github.com/fairlead-k8s/fairlead/test/internal/expect"
	"github.com/fairlead-k8s/fairlead/test/internal/nodepool"
	"github.com/fairlead-k8s/fairlead/test/internal/nodes"
)

const (
	// The limits of the daemon in TestSilentNodes. A provider with a cache returns
	// "absent" from its cache for 12 s, so sideYoungAbsentFor is longer. sideYoungAge is
	// so long that a Node is still young when its case begins, even on a busy machine.
	sideAbsentFor      = 8 * time.Second
	sideYoungAge       = 40 * time.Second
	sideYoungAbsentFor = 20 * time.Second
	sideSilentAfter    = 15 * time.Second
	sideLongestPeriod  = 6 * time.Second
	// invisibleFor is long enough for the deletion of a Node that is not young.
	invisibleFor = sideAbsentFor + time.Second
)

// silences is a pool with one daemon. It has thirty healthy Nodes and some silent
// ones. Each case has silent Nodes of its own.
type silences struct {
	*nodepool.Pool

	daemon *daemon.Daemon
	// neverReported is a Node whose kubelet has never reported.
	neverReported *nodepool.Member
}

// TestSilentNodes runs all cases of a single silent Node. The cloud's answers about
// the other Nodes are correct.
func TestSilentNodes(t *testing.T) {
	b := onOwn(t)
	s := silences{Pool: nodepool.New(t, b, 30)}
	for _, m := range s.Members {
		m.Rules.AbsentFor = sideAbsentFor
	}
	i := s.Instance(t, simulator.Instance{Name: s.Name("never-reported")})
	node := nodes.NewInitialized(i)
	node.Status.Conditions = nil
	s.neverReported = s.Join(t, node, i)
	s.daemon = s.Runs(t, daemon.Setup{Provider: "modern", Flags: []string{
		"--node-monitor-period=1s", "--node-monitor-longest-period=" + sideLongestPeriod.String(),
		"--node-deletion-absent-for=" + sideAbsentFor.String(), "--node-deletion-silent-after=" + sideSilentAfter.String(),
		"--node-deletion-young-age=" + sideYoungAge.String(), "--node-deletion-young-absent-for=" + sideYoungAbsentFor.String(),
		"--node-status-update-frequency=1h", // This provider has no batches, so the comparison asks about single Nodes.
		"--node-deletion-budget-nodes=20",   // Enough for all Nodes of these tests: each test is about one Node alone.
	}})
	expect.Within(t, time.Minute, func(context.Context) error {
		if age := time.Since(s.neverReported.CreationTimestamp.Time); age < sideYoungAge {
			return fmt.Errorf("the Nodes are %v old, and young for %v", age, sideYoungAge)
		}
		return nil
	})
	// The cases run at the same time. Each subtest waits for one of them. The fault of
	// the case "invisible" ends at a certain time. So this case begins last, and its
	// subtest comes first.
	invisible := s.invisible()
	cases := slices.Concat(s.unanswered(), s.calledAbsent(), s.odd(), s.gone(), s.shutDown())
	for _, c := range append(cases, invisible) {
		c.begin(t)
	}
	cases = slices.Concat([]silentCase{invisible}, cases)
	for _, c := range cases {
		if c.ends != nil {
			t.Run(c.name, c.ends)
		}
	}
	for _, c := range cases {
		if c.still != nil {
			t.Run(c.name+"Still", c.still)
		}
	}
}

// silentCase is one problem that a silent Node can have.
type silentCase struct {
	name  string
	begin func(*testing.T)
	// ends waits for the result of the case and checks it. Then it ends the fault.
	ends func(*testing.T)
	// still repeats the check after all other cases.
	still func(*testing.T)
}

// joins adds a Node. The test judges its deletion by the limits for Nodes that are not
// young.
func (s silences) joins(t *testing.T, base string) *nodepool.Member {
	t.Helper()
	m := s.Newcomer(t, base)
	m.Rules.AbsentFor = sideAbsentFor
	return m
}

// unanswered returns the cases in which the cloud gives no answer about an instance.
// An event says why the deletion is held. After a minute, a condition with the
// status Unknown says it, too.
func (s silences) unanswered() []silentCase {
	var cases []silentCase
	for _, row := range []struct {
		name    string
		fault   simulator.Fault
		reasons []string
	}{
		{"Unauthenticated", simulator.Fault{Kind: simulator.FaultDenied, Status: http.StatusUnauthorized}, []string{"CloudDenied"}},
		{"Forbidden", simulator.Fault{Kind: simulator.FaultDenied, Status: http.StatusForbidden}, []string{"CloudDenied"}},
		{"CloudIsDown", simulator.Fault{Kind: simulator.FaultOutage}, []string{"CloudUnavailable"}},
		{"CloudFails", simulator.Fault{Kind: simulator.FaultError}, []string{"CloudUnavailable", "CloudFailed"}},
		{"CloudResets", simulator.Fault{Kind: simulator.FaultReset}, []string{"CloudUnavailable", "CloudFailed"}},
		{"CloudHangs", simulator.Fault{Kind: simulator.FaultHang}, []string{"CloudSlow", "CloudTimedOut"}},
	} {
		var m *nodepool.Member
		cases = append(cases, silentCase{
			name: row.name,
			begin: func(t *testing.T) {
				m = s.joins(t, "unanswered")
				row.fault.Name, row.fault.Match = m.Name, m.Name
				s.Cloud.Fail(t, row.fault)
				s.Silence(t, m)
			},
			ends: func(t *testing.T) {
				s.AwaitHeld(t, []*nodepool.Member{m}, row.reasons...)
				s.AwaitShown(t, []*nodepool.Member{m}, corev1.ConditionUnknown, row.reasons...)
				describe(t, s.Bed, row.name, m.Name)
				noStream(t, s.Pool, []*nodepool.Member{m})
				s.Stay(t, m)
				if err := s.Cloud.ClearFault(t.Context(), m.Name); err != nil {
					t.Fatal(err)
				}
				s.AwaitShown(t, []*nodepool.Member{m}, corev1.ConditionFalse)
			},
			still: func(t *testing.T) { s.Stay(t, m) },
		})
	}
	return cases
}

// calledAbsent returns the cases in which the cloud or the provider calls an existing
// instance absent for a while.
func (s silences) calledAbsent() []silentCase {
	return []silentCase{s.flapping(), s.cached()}
}

func (s silences) flapping() silentCase {
	var m *nodepool.Member
	return silentCase{
		name: "FlappingBetweenNotFoundAndFound",
		begin: func(t *testing.T) {
			m = s.joins(t, "flapping")
			s.misbehave(t, m, "flapping")
			s.Silence(t, m)
		},
		ends: func(t *testing.T) {
			expect.Within(t, 2*time.Minute, func(context.Context) error {
				if n := s.daemon.CountLogged(`"Absent, wrongly"`, m.Name); n < 4*nodepool.Absences {
					return fmt.Errorf("the provider has said absent %d times", n)
				}
				return nil
			})
			describe(t, s.Bed, "flapping", m.Name)
			noStream(t, s.Pool, []*nodepool.Member{m})
		},
		still: func(t *testing.T) { s.Stay(t, m) },
	}
}

func (s silences) cached() silentCase {
	var m *nodepool.Member
	return silentCase{
		name: "ProviderCachesAbsent",
		begin: func(t *testing.T) {
			m = s.joins(t, "cached")
			s.misbehave(t, m, "caches-absent")
			s.Cloud.Fail(t, simulator.Fault{Name: m.Name, Kind: simulator.FaultNotFound, Match: m.Name, Count: 1})
			s.Silence(t, m)
		},
		ends: func(t *testing.T) {
			expect.Within(t, time.Minute, func(context.Context) error {
				if s.daemon.CountLogged(`"Absent, from the cache"`, m.Name) == 0 {
					return errors.New("the provider has not answered from its cache")
				}
				return nil
			})
			describe(t, s.Bed, "absent from the cache", m.Name)
		},
		still: func(t *testing.T) { s.Stay(t, m) },
	}
}

func (s silences) invisible() silentCase {
	var m *nodepool.Member
	// absences returns the answers that the cloud gave before it showed the instance.
	absences := func(t *testing.T) []nodepool.Answer {
		all := m.About(nodepool.AnswersOf(t, s.Cloud))
		if found := slices.IndexFunc(all, func(a nodepool.Answer) bool { return a.Status == http.StatusOK }); found >= 0 {
			return all[:found]
		}
		return all
	}
	return silentCase{
		name: "InvisibleAtFirst",
		begin: func(t *testing.T) {
			s.Cloud.Fail(t, simulator.Fault{Name: "invisible", Kind: simulator.FaultInvisible, Match: "invisible-*", Age: simulator.Duration(time.Hour)})
			m = s.joins(t, "invisible")
			s.Silence(t, m)
		},
		ends: func(t *testing.T) {
			// The cloud is asked about a young Node at 0, 10 and 20 s, and about a Node
			// that is not young at 0, 4 and 8 s.
			expect.Within(t, time.Minute, func(context.Context) error {
				said := absences(t)
				if len(said) < 2 || time.Since(said[0].Began) < invisibleFor {
					return fmt.Errorf("the cloud has said absent so seldom, or for so short a time, that nothing is shown: %v", said)
				}
				return nil
			})
			if err := s.Cloud.ClearFault(t.Context(), "invisible"); err != nil {
				t.Fatal(err)
			}
			said := absences(t)
			if long := said[len(said)-1].Began.Sub(said[0].Began); long >= sideYoungAbsentFor {
				m.Handled = true // The daemon may delete the Node, because the fault has ended too late.
				t.Skipf("this machine is too busy: the cloud has said absent for %v", long)
			}
			s.AwaitTold(t, time.Minute, []*nodepool.Member{m}, "Normal NodeDeletionCanceled")
			describe(t, s.Bed, "invisible at first", m.Name)
		},
		still: func(t *testing.T) {
			if !m.Handled {
				s.Stay(t, m)
			}
		},
	}
}

// misbehave makes the provider fail for one instance. The argument how is the kind of
// failure.
func (s silences) misbehave(t *testing.T, m *nodepool.Member, how string) {
	t.Helper()
	s.Cloud.Change(t, m.Instance, simulator.InstancePatch{Labels: map[string]*string{"provider-fault": &how}})
}
