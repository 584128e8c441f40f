package cloud

import (
	"context"
	"errors"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/fairlead-k8s/fairlead/provider"
)

// itemised is a provider whose cloud has no question about several instances. A batch is a
// question about each of them, and the errors are in the answers.
type itemised struct {
	outageInstances

	questions atomic.Int64 // in batches
}

func (*itemised) MaxInstanceMetadataBatch() int { return 100 }

func (i *itemised) InstanceMetadataBatch(_ context.Context, nodes []*corev1.Node) ([]provider.InstanceMetadataAnswer, error) {
	m := made{time.Since(i.start), "InstanceMetadataBatch", ""}
	i.mu.Lock()
	i.calls = append(i.calls, m)
	i.mu.Unlock()
	i.questions.Add(int64(len(nodes)))
	time.Sleep(i.took)
	answers := make([]provider.InstanceMetadataAnswer, len(nodes))
	for n, asked := range nodes {
		m.object = asked.Name
		if answers[n].Err = i.fails(m); answers[n].Err == nil {
			answers[n].Metadata = &cloudprovider.InstanceMetadata{}
		}
	}
	return answers, nil
}

// If the quota is used up in the middle of a batch, the errors are in its answers. They
// count as the errors of calls do.
func TestRefusedAnswersOfABatchSlowCallsDown(t *testing.T) {
	for _, shape := range shapes {
		t.Run(shape.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				q := bucket(100, 200, 200)
				o := limited(q, q, shape.err)
				i := &itemised{outageInstances: outageInstances{o}}
				g := gateway(t, vendor{v2: i}, Config{})
				took, events := storm{1000, 200, givesUp(func(n int) error { return askAbout(t.Context(), g, n) })}.run()
				t.Logf("1,000 Nodes took %v, refused %.1f %% (%d), %d Nodes showed a failure; %d calls, %d questions in batches", took, refusedPercent(q), q.throttled, events, len(o.calls), i.questions.Load())
				if refusedPercent(q) > 5 || events > 0 {
					t.Errorf("%.1f %% of the questions were refused and %d Nodes showed a failure, want at most 5 %% and none", refusedPercent(q), events)
				}
				if took > time.Minute {
					t.Errorf("1,000 Nodes took %v, want at most a minute (the quota needs 8 s)", took)
				}
			})
		})
	}
}

// A cloud that is down gets few calls, even if its errors are in the answers of batches.
func TestOutageInTheAnswersOfBatches(t *testing.T) {
	const begins, length = 10 * time.Second, 2 * time.Minute
	says := regexp.MustCompile(`last answered 1m.*(not answer|held back|fail)`)
	for _, tt := range []struct {
		name string
		err  error
	}{
		{"Typed", httpError(503)},
		{"AsText", errors.New("503 service unavailable")},
		{"Unreadable", errors.New("E1234")},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o := newOutage(func(m made) error {
					if m.at >= begins && m.at < begins+length {
						return tt.err
					}
					return nil
				})
				i := &itemised{outageInstances: outageInstances{o}}
				g := gateway(t, vendor{v2: i}, Config{})
				if err := askAbout(t.Context(), g, 0); err != nil {
					t.Fatal(err)
				}
				time.Sleep(begins - time.Since(o.start))
				state := make(chan string, 1)
				time.AfterFunc(time.Minute, func() { state <- g.State() })
				questions := make(chan int64, 1)
				time.AfterFunc(length, func() { questions <- i.questions.Load() })
				nodes := newNodes(t.Context(), g, 500)
				nodes.workers, nodes.call = 200, givesUp(nodes.call)
				done := do(nodes)["InstanceMetadata"] - length
				said, calls := <-state, o.before(begins+length)-1
				t.Logf("%d calls in the outage, with %d questions in batches; 500 Nodes were done %v after its end; in it: %q", calls, <-questions-1, done, said)
				if calls > 30 {
					t.Errorf("%d calls in the outage, want at most 30", calls)
				}
				if !says.MatchString(said) {
					t.Errorf("a minute after the beginning of the outage the state is %q, want it to say that calls are not answered", said)
				}
				if done > 15*time.Second {
					t.Errorf("500 Nodes were done %v after the end of the outage, want at most 15 s", done)
				}
			})
		})
	}
}

// malformed is how a cloud refuses a question about several instances because of one of
// them.
func malformed(nodes []*corev1.Node) error {
	for _, n := range nodes {
		if strings.HasPrefix(n.Name, "bad") {
			return errors.New("InvalidInstanceID.Malformed: Invalid id")
		}
	}
	return nil
}

// poisoned is a provider whose calls fail, alone and together with others, if they are
// about the bad Node.
type poisoned struct{ *tallying }

func (p poisoned) InstanceMetadata(ctx context.Context, n *corev1.Node) (*cloudprovider.InstanceMetadata, error) {
	found, err := p.tallying.InstanceMetadata(ctx, n)
	if bad := malformed([]*corev1.Node{n}); bad != nil {
		return nil, bad
	}
	return found, err
}

// A Node because of which batches fail is soon asked about alone, and the others
// together.
func TestRefreshWithOneBadNodeIsFewCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &tallying{most: 100, before: malformed}
		g := gateway(t, vendor{v2: poisoned{c}}, Config{})
		nodes := []*corev1.Node{node("bad")}
		for n := range 99 {
			nodes = append(nodes, node("n"+strconv.Itoa(n)))
		}
		good, bad := 0, 0 // the number of errors
		for range 10 {
			for n, answer := range g.Instances().Refresh(t.Context(), nodes) {
				switch {
				case answer.Err == nil:
				case n == 0:
					bad++
				default:
					good++
				}
			}
			time.Sleep(5 * time.Minute)
		}
		t.Logf("10 refreshes of 100 Nodes, one of them bad: %d batches and %d questions about one Node; %d errors about the bad one, %d about others", c.batches, c.alone, bad, good)
		if calls := c.batches + c.alone; calls > 10*3+20 {
			t.Errorf("%d calls in 10 refreshes of 100 Nodes, want at most 50", calls)
		}
		if bad != 10 || good > 0 {
			t.Errorf("%d of 10 refreshes failed for the bad Node and %d for others, want all and none", bad, good)
		}
	})
}

// Nodes that join at the same time as a bad one are asked about together, and get their
// answers.
func TestNodesJoinInBatchesBesideABadOne(t *testing.T) {
	const nodes = 2000
	synctest.Test(t, func(t *testing.T) {
		c := &tallying{most: 100, before: malformed}
		g := gateway(t, vendor{v2: poisoned{c}}, Config{})
		var mu sync.Mutex
		failed, answered := 0, 0
		end := beside(t, func(ctx context.Context) {
			insist(ctx, time.Minute, func() error {
				_, err := g.Instances().Metadata(ctx, node("bad"))
				mu.Lock()
				defer mu.Unlock()
				switch {
				case err == nil:
					answered++
				case !IsUnderWay(err) && ctx.Err() == nil:
					failed++
				}
				return err
			})
		})
		began := time.Now()
		own := initialise(t, g.Instances(), nodes, 5*time.Millisecond)
		took := time.Since(began)
		c.mu.Lock()
		batches, alone := c.batches, c.alone
		c.mu.Unlock()
		end()
		t.Logf("%d of %d Nodes in %v beside a bad one: %d batches and %d questions about one Node; the bad one failed %d times", own, nodes, took, batches, alone, failed)
		if own != nodes {
			t.Errorf("%d of %d Nodes have their answer, want all", own, nodes)
		}
		if batches+alone > 24+30 {
			t.Errorf("%d batches and %d questions about one Node, want at most 54 calls", batches, alone)
		}
		if failed == 0 || answered > 0 {
			t.Errorf("the bad Node failed %d times and got %d answers, want failures only", failed, answered)
		}
	})
}
