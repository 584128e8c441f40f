package node

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"

	"github.com/fairlead-k8s/fairlead/internal/cloud"
	"github.com/fairlead-k8s/fairlead/internal/kube"
)

// comparison compares all Nodes with the cloud, round after round. A round reads the
// provider's list, page by page. If there is no list, or if the list has just failed or
// proved wrong, the round asks about the Nodes in the order of their names. The round
// remembers only the last name that it has asked about. So it skips no Node if others
// join or leave. Only one goroutine uses a comparison.
type comparison struct {
	*Controller

	calls sync.WaitGroup
	free  chan struct{} // has an element for each page of questions under way

	began    time.Time // when this round began
	last     string    // name of the last Node that was asked about
	unlisted bool      // this round does not use the list, which has failed or proved wrong
	late     bool      // this round's list has more pages than expected
	token    string    // token of the next page of the list
	pages    int       // number of pages of the list that were read in this round
	size     int       // number of instances on the largest of these pages, at least 1
	named    map[string]bool
	expected int // expected number of pages of the list in this round; 0: unknown
	before   int // number of pages of the list in the round before; 0: unknown
	sampled  string
}

// usualPage is the size that a page of the list is assumed to have until the first page
// is read.
const usualPage = 100

// refresh compares all Nodes with the cloud, round after round, until the context ends.
// It returns once the last call to the cloud has returned.
func (c *Controller) refresh(ctx context.Context) {
	r := &comparison{Controller: c, free: make(chan struct{}, c.refresher.parallel)}
	r.restart()
	defer r.calls.Wait()
	stepped := r.began
	for {
		pause := c.refresher.pause(r.steps(c.index.refreshes()))
		remaining := pause - c.clock.Since(stepped)
		if !r.unlisted && !r.late {
			remaining = comparePeriod(pause, c.watched(), c.comparedAt()) - c.clock.Since(stepped)
		}
		switch {
		case remaining <= 0:
			stepped = c.clock.Now()
			r.step(ctx)
		case !c.sleep(ctx, min(remaining, max(pause, idle))): // The period can become shorter during the sleep.
			return
		}
	}
}

// steps returns the number of steps of a round through the given number of Nodes. In
// each step, one page of the list is read, or the cloud is asked about one page of
// Nodes.
func (r *comparison) steps(nodes int) int {
	switch {
	case nodes == 0:
		return 0
	case r.lister == nil || r.unlisted:
		return pagesOf(nodes, r.instances.BatchSize())
	case r.expected == 0:
		return pagesOf(nodes, usualPage)
	default:
		return r.expected
	}
}

// pagesOf returns the number of pages of the given size that the Nodes need.
func pagesOf(nodes, size int) int { return (nodes + size - 1) / size }

func (r *comparison) step(ctx context.Context) {
	if r.index.refreshes() == 0 {
		r.completed()
		return
	}
	if r.lister == nil || r.unlisted {
		r.walk(ctx)
		return
	}
	if err := r.list(ctx); err != nil && ctx.Err() == nil {
		r.doWithout(ctx, err.Error())
	}
}

// walk asks about the next page of Nodes.
func (r *comparison) walk(ctx context.Context) {
	page, more := r.index.page(r.last, r.instances.BatchSize())
	if len(page) > 0 { // All Nodes might have gone since the last count.
		r.last = page[len(page)-1]
		r.ask(ctx, page)
	}
	if !more {
		r.completed()
	}
}

// completed ends this round and begins the next one.
func (r *comparison) completed() {
	r.compared(r.began)
	r.restart()
	r.unlisted = false
}

func (r *comparison) restart() {
	r.began, r.last, r.token, r.pages, r.size, r.named = r.clock.Now(), "", "", 0, 1, map[string]bool{}
	r.expected, r.late = r.before, false
}

// doWithout begins a round that does not use the list.
func (r *comparison) doWithout(ctx context.Context, why string) {
	klog.FromContext(ctx).Info("The list of the cloud's instances is not used for one comparison of all nodes", "why", why)
	r.restart()
	r.unlisted = true
}

// errOldList and errEndlessList are reasons not to use a list.
var (
	errOldList     = errors.New("it is older than the period of the comparison")
	errEndlessList = errors.New("it does not end")
)

// list reads the next page of the list. The page confirms some of the Nodes that it
// describes (see confirms). The cloud is asked about the others. After the last page,
// it is also asked about the Nodes that no page has named, and about a sample of the
// Nodes that the last page confirms.
func (r *comparison) list(ctx context.Context) error {
	page, err := r.lister.Page(ctx, r.token)
	switch {
	case err != nil:
		return err
	case r.clock.Since(page.AsOf) > r.refresher.period:
		return errOldList
	}
	nodes := r.index.refreshes()
	confirmed, others := r.match(page.Instances)
	for _, name := range slices.Concat(confirmed, others) {
		r.named[name] = true
	}
	r.askAll(ctx, others)
	r.pages, r.size = r.pages+1, max(r.size, len(page.Instances))
	if page.Next != "" {
		if page.Next == r.token || r.pages > 2*max(r.before, pagesOf(nodes, r.size))+10 {
			r.before = min(r.pages, nodes)
			return errEndlessList
		}
		r.token, r.expected = page.Next, r.estimate(nodes)
		return nil
	}
	r.before, r.expected = r.pages, r.pages
	left := slices.DeleteFunc(r.index.all(), func(name string) bool { return r.named[name] })
	r.askAll(ctx, left)
	if wrong := r.sample(ctx, slices.Sorted(slices.Values(confirmed))); wrong != "" {
		r.doWithout(ctx, "it has confirmed node "+wrong+", which differs from the cloud")
		return nil
	}
	r.completed()
	return nil
}

// estimate returns the expected number of pages of the list. It is the number in the
// round before or, in the first round, the number of pages that all Nodes need. A list
// can turn out to have more pages, because it can also have instances without Nodes.
// The round is late in that case, and estimate returns twice the number of pages that
// were read. A late round has the short period, even if a watch works.
func (r *comparison) estimate(nodes int) int {
	expected := r.before
	if expected == 0 {
		expected = pagesOf(nodes, r.size)
	}
	if expected > r.pages {
		return expected
	}
	r.late = true
	return 2 * r.pages
}

// match returns the names of the Nodes that a page describes: first those that it
// confirms, then the others.
func (r *comparison) match(page []cloud.Metadata) (confirmed, others []string) {
	byID := map[string]cloud.Metadata{}
	twice := map[string]bool{}
	for _, m := range page {
		if other, ok := byID[m.ProviderID]; ok && !reflect.DeepEqual(other, m) {
			twice[m.ProviderID] = true
		}
		byID[m.ProviderID] = m
	}
	for id, m := range byID {
		for _, node := range kube.NodesWithProviderID(r.informer, id) {
			switch {
			case !isRefreshed(r.claim, node):
			case !twice[id] && confirms(r.observedWith(node, m)):
				confirmed = append(confirmed, node.Name)
			default:
				others = append(others, node.Name)
			}
		}
	}
	return confirmed, others
}

// sample asks about some Nodes that a page has just confirmed. It returns the name of a
// Node that differs from the cloud, or "" if there is none.
func (r *comparison) sample(ctx context.Context, confirmed []string) string {
	page := pageAfter(confirmed, r.sampled, r.instances.BatchSize())
	if len(page) == 0 {
		return ""
	}
	r.sampled = page[len(page)-1]
	if wrong := r.fetch(ctx, page); len(wrong) > 0 {
		return wrong[0]
	}
	return ""
}

// askAll asks about Nodes in pages. It can ask about several pages at the same time,
// and can return before the last answers come.
func (r *comparison) askAll(ctx context.Context, names []string) {
	for page := range slices.Chunk(names, r.instances.BatchSize()) {
		r.ask(ctx, page)
	}
}

// ask asks about one page of Nodes. It waits while too many calls are under way.
func (r *comparison) ask(ctx context.Context, page []string) {
	select {
	case r.free <- struct{}{}:
	case <-ctx.Done():
		return
	}
	r.calls.Go(func() {
		defer func() { <-r.free }()
		for _, name := range r.fetch(ctx, page) {
			r.found(ctx, name)
		}
	})
}

// observedWith returns the observation of a Node, with m as the cloud's answer.
func (c *Controller) observedWith(node *corev1.Node, m cloud.Metadata) observed {
	c.mu.Lock()
	defer c.mu.Unlock()
	return observed{
		now: c.clock.Now(), node: node, memory: c.memories[node.Name], policy: c.policy, strictIDs: c.strictIDs, always: c.always, claim: c.claim,
		answer: answerOf(m, nil), holder: c.holderOf(node, m.ProviderID),
	}
}
