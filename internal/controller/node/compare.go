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

	calls  sync.WaitGroup
	free   chan struct{} // has an element for each page of questions under way
	cached chan struct{} // has an element if answers to a page of questions have cost nothing

	began    time.Time // when this round began
	over     bool      // this round is over, and the next one has not begun
	stepped  time.Time // when the last step of this round began
	done     share     // what that step has done
	last     string    // name of the last Node that was asked about
	unlisted bool      // this round does not use the list, which has failed or proved wrong
	token    string    // token of the next page of the list
	pages    int       // number of pages of the list that were read in this round
	named    map[string]bool
	sampled  string
}

// refresh compares all Nodes with the cloud, round after round, until the context ends.
// It returns once the last call to the cloud has returned.
func (c *Controller) refresh(ctx context.Context) {
	r := &comparison{Controller: c, free: make(chan struct{}, c.refresher.parallel), cached: make(chan struct{}, 1)}
	defer r.calls.Wait()
	r.begin()
	r.done = share{}
	for ctx.Err() == nil {
		if remaining := r.due().Sub(c.clock.Now()); remaining > 0 {
			r.await(ctx, min(remaining, idle)) // The period can become shorter in the meantime.
			continue
		}
		if r.over {
			r.begin()
		}
		r.step(ctx)
	}
}

// begin begins a round, whose first step is due now.
func (r *comparison) begin() {
	r.began, r.over, r.unlisted = r.clock.Now(), false, false
	r.stepped, r.done = r.began, share{cached: true}
	r.last, r.token, r.pages, r.named = "", "", 0, map[string]bool{}
}

// due returns the time of the next step. Rounds begin at most once in each period.
func (r *comparison) due() time.Time {
	if r.over {
		return r.began.Add(comparePeriod(r.refresher.period, r.watched(), r.comparedAt()))
	}
	return r.stepped.Add(r.done.pause(r.refresher.period))
}

// await waits for d, or until answers about Nodes turn out to have cost nothing. The
// next page of questions is then due at once.
func (r *comparison) await(ctx context.Context, d time.Duration) {
	timer := r.clock.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C():
	case <-r.cached:
		r.done.cached = r.done.cached || r.walks()
	case <-ctx.Done():
	}
}

// walks reports whether this round asks about all Nodes, because it uses no list.
func (r *comparison) walks() bool { return r.lister == nil || r.unlisted }

func (r *comparison) step(ctx context.Context) {
	before := r.done
	r.stepped, r.done = r.clock.Now(), share{all: r.index.refreshes()}
	switch {
	case r.done.all == 0:
		r.compared(r.began)
		r.begin()
		r.done = share{}
	case before == share{}: // Until now there were no Nodes, so the first ones have just been asked about.
		r.began, r.done.nodes = r.stepped, min(r.instances.BatchSize(), r.done.all)
	case r.walks():
		r.walk(ctx)
	default:
		if err := r.list(ctx); err != nil && ctx.Err() == nil {
			r.doWithout(ctx, err.Error())
		}
	}
}

// walk asks about the next page of Nodes.
func (r *comparison) walk(ctx context.Context) {
	page, more := r.index.page(r.last, r.instances.BatchSize())
	if len(page) > 0 { // All Nodes might have gone since the last count.
		r.last, r.done.nodes = page[len(page)-1], len(page)
		r.ask(ctx, page)
	}
	if !more {
		r.completed()
	}
}

// completed ends this round.
func (r *comparison) completed() {
	r.compared(r.began)
	r.over = true
}

// doWithout begins a round that does not use the list.
func (r *comparison) doWithout(ctx context.Context, why string) {
	klog.FromContext(ctx).Info("The list of the cloud's instances is not used for one comparison of all nodes", "why", why)
	r.begin()
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
	if err := r.instances.AwaitRefresh(ctx); err != nil {
		return err
	}
	asked := r.clock.Now()
	page, err := r.lister.Page(ctx, r.token)
	switch {
	case err != nil:
		return err
	case r.clock.Since(page.AsOf) > r.refresher.period:
		return errOldList
	}
	r.done.cached = costNothing(r.clock.Since(asked), 0)
	confirmed, others := r.match(page.Instances)
	before := len(r.named)
	for _, name := range slices.Concat(confirmed, others) {
		r.named[name] = true
	}
	r.pages, r.done.nodes = r.pages+1, len(r.named)-before
	r.askAll(ctx, others)
	if page.Next != "" {
		if page.Next == r.token || r.pages >= mostPages(r.done.all) {
			return errEndlessList
		}
		r.token = page.Next
		return nil
	}
	left := slices.DeleteFunc(r.index.all(), func(name string) bool { return r.named[name] })
	r.askAll(ctx, left)
	if wrong := r.sample(ctx, slices.Sorted(slices.Values(confirmed))); wrong != "" {
		r.doWithout(ctx, "it has confirmed node "+wrong+", which differs from the cloud")
		return nil
	}
	r.completed()
	return nil
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
		for _, node := range kube.NodesWithProviderID(r.Informer, id) {
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
	if r.instances.AwaitRefresh(ctx) != nil {
		return ""
	}
	if wrong, _ := r.fetch(ctx, page); len(wrong) > 0 {
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
	if r.instances.AwaitRefresh(ctx) != nil {
		<-r.free
		return
	}
	r.calls.Go(func() {
		defer func() { <-r.free }()
		differ, cached := r.fetch(ctx, page)
		for _, name := range differ {
			r.found(ctx, name)
		}
		if cached {
			select {
			case r.cached <- struct{}{}:
			default:
			}
		}
	})
}

// observedWith returns the observation of a Node, with m as the cloud's answer.
func (c *Controller) observedWith(node *corev1.Node, m cloud.Metadata) observed {
	c.mu.Lock()
	defer c.mu.Unlock()
	o := observed{now: c.clock.Now(), node: node, memory: c.memories[node.Name], policy: c.policy, strictIDs: c.strictIDs, always: c.always, claim: c.claim}
	return c.identified(o, answerOf(m, nil))
}
