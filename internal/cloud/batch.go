package cloud

import (
	"context"
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-k8s/fairlead/provider"
)

// apart has the nodes that are not asked about together with others, because a call about
// a node and others has failed because of the node. The zero value is ready to use.
type apart struct {
	mu    sync.Mutex
	nodes map[types.UID]time.Time // when each was found; it stays apart for an hour; guarded by mu
	all   time.Time               // until then, no nodes are asked about together; guarded by mu
}

func (a *apart) has(node types.UID) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	since, found := a.nodes[node]
	return found && time.Since(since) < anHour || time.Now().Before(a.all)
}

// split returns the nodes that can be asked about together, and the others.
func (a *apart) split(nodes []*corev1.Node) (joint, alone []*corev1.Node) {
	for _, node := range nodes {
		if a.has(node.UID) {
			alone = append(alone, node)
		} else {
			joint = append(joint, node)
		}
	}
	return joint, alone
}

func (a *apart) add(found []*corev1.Node) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, node := range found {
		if a.nodes == nil || len(a.nodes) >= maxObjects {
			a.nodes = map[types.UID]time.Time{}
		}
		a.nodes[node.UID] = time.Now()
	}
}

// pause has all nodes asked about alone for the time aloneFor.
func (a *apart) pause() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.all = time.Now().Add(aloneFor)
}

// batchesOf asks about all these nodes, in as few calls as the quota allows.
func (i *Instances) batchesOf(ctx context.Context, c call, nodes []*corev1.Node) (all []Answer) {
	for len(all) < len(nodes) {
		var taken []*corev1.Node
		answers, err := i.batch(ctx, c, func(most int) []*corev1.Node {
			if taken == nil {
				taken = nodes[len(all):min(len(all)+most, len(nodes))]
			}
			return taken
		})
		if err != nil { // It is the answer about each of the other nodes.
			answers = slices.Repeat([]Answer{{Err: err}}, len(nodes)-len(all))
		}
		all = append(all, answers...)
	}
	return all
}

// batch asks about several nodes in one call. If one of the nodes may be why the call has
// failed, batch asks about each half of them, and so on, until it has found the node. The
// error is ErrAlone if each node has to be asked about alone.
func (i *Instances) batch(ctx context.Context, c call, take taker) ([]Answer, error) {
	var nodes []*corev1.Node
	answers, err := i.oneCall(ctx, c, func(most int) []*corev1.Node {
		nodes = take(most)
		return nodes
	})
	switch {
	case err == nil:
		return answers, nil
	case !isOfOneNode(err):
		return nil, orAlone(err)
	}
	h := halving{Instances: i, call: c, left: bits.Len(uint(len(nodes))) + 1}
	answers = h.halve(ctx, nodes)
	if h.succeeded || len(nodes) == 1 {
		i.apart.add(h.found)
	} else {
		i.apart.pause()
	}
	return answers, nil
}

// halving looks for the nodes that make a call about several nodes fail.
type halving struct {
	*Instances
	call

	left      int  // calls that may fail before one succeeds; after that, the reason is none of the nodes
	succeeded bool // whether a call has succeeded
	found     []*corev1.Node
}

func (h *halving) halve(ctx context.Context, nodes []*corev1.Node) []Answer {
	if len(nodes) == 1 {
		h.found = append(h.found, nodes[0])
		return []Answer{{Err: ErrAlone}}
	}
	var all []Answer
	for half := range slices.Chunk(nodes, (len(nodes)+1)/2) {
		if h.left == 0 && !h.succeeded {
			all = append(all, slices.Repeat([]Answer{{Err: ErrAlone}}, len(half))...)
			continue
		}
		answers, err := h.oneCall(ctx, h.call, func(int) []*corev1.Node { return half })
		switch {
		case err == nil:
			h.succeeded = true
		case isOfOneNode(err):
			h.left--
			answers = h.halve(ctx, half)
		default:
			answers = slices.Repeat([]Answer{{Err: orAlone(err)}}, len(half))
		}
		all = append(all, answers...)
	}
	return all
}

// isOfOneNode reports whether the error of a call about several nodes may be the fault of
// one of them, and a call about fewer nodes does no harm.
func isOfOneNode(err error) bool {
	return mayBeOfOne(err) && HeldFor(err) == 0 && !slices.Contains([]Kind{TimedOut, Panicked, NoAnswer}, KindOf(err))
}

// orAlone returns the error of a call about several nodes that has ended before the cloud
// looked at the nodes. For any other error, it returns ErrAlone.
func orAlone(err error) error {
	if kind := KindOf(err); kind == Throttled || kind == Slow || kind == Canceled || HeldFor(err) > 0 {
		return err
	}
	return ErrAlone
}

// oneCall makes one call. It gets the nodes from the function take, but not before the
// call may be made.
func (i *Instances) oneCall(ctx context.Context, c call, take taker) ([]Answer, error) {
	var nodes []*corev1.Node
	var theirs []provider.InstanceMetadataAnswer
	var began time.Time
	_, err := read(ctx, i.gateway, c, func(ctx context.Context) (struct{}, error) {
		nodes = take(i.gateway.limiter.batch(c, i.size))
		i.gateway.limiter.counts(c, len(nodes))
		began = time.Now()
		answers, err := i.batcher.InstanceMetadataBatch(ctx, copies(nodes))
		if err == nil && len(answers) != len(nodes) {
			err = c.failed(NoAnswer, fmt.Errorf("%d answers for %d nodes", len(answers), len(nodes)))
		}
		theirs = slices.Clone(answers)
		if err == nil {
			err = i.errorOfAll(ctx, c, theirs)
		}
		return struct{}{}, err
	})
	if err != nil && !isOfEach(err) {
		return nil, err
	}
	return i.answersOf(ctx, c, joined{nodes, theirs, began}), nil
}

// joined is what a call about several nodes has returned.
type joined struct {
	nodes  []*corev1.Node
	theirs []provider.InstanceMetadataAnswer
	began  time.Time
}

// errorOfAll returns an error if the cloud has answered about none of the nodes. A call
// that returns such answers is no answer of the cloud, although it has no error itself.
func (i *Instances) errorOfAll(ctx context.Context, c call, theirs []provider.InstanceMetadataAnswer) error {
	var first *Error
	for _, answer := range theirs {
		err, failed := errors.AsType[*Error](i.gateway.wrap(ctx, c, answer.Err))
		if !failed || !slices.Contains([]meaning{refused, hasFailed, unreadable}, meaningFor(c, err)) {
			return nil
		}
		if first == nil {
			first = err
		}
	}
	if first == nil {
		return nil
	}
	return &Error{Call: c.method, Kind: first.Kind, Evidence: first.Evidence, RetryAfter: first.RetryAfter, Err: first.Err, each: true}
}

// answersOf returns the answers about the nodes. If some of them are errors, or if the
// cloud counts each question, the limiter learns how each of them has ended.
func (i *Instances) answersOf(ctx context.Context, c call, j joined) []Answer {
	answers := make([]Answer, len(j.nodes))
	each := i.gateway.limiter.isSingle(c) || slices.ContainsFunc(j.theirs, func(a provider.InstanceMetadataAnswer) bool { return a.Err != nil })
	for n, node := range j.nodes {
		one := c.about(namesOfNode(node))
		one.split, one.priority = false, highPriority
		err := i.gateway.wrap(ctx, one, j.theirs[n].Err)
		if each {
			i.gateway.adapt(ctx, one, j.began, err)
		}
		if KindOf(err) == Throttled || EvidenceOf(err) == Unread && err != nil && i.gateway.limiter.covers(one) {
			i.gateway.limiter.countsEach(c)
		}
		if answers[n].Err = err; err == nil {
			answers[n].Metadata, answers[n].Err = fromProvider(c, j.theirs[n].Metadata)
		}
	}
	return answers
}

// batch returns how many objects a call may be about, at most so many. The cloud may count
// each of them. So the first calls are smaller, and if the cloud does, a call is about as
// many objects as the quota allows in a short time. A probe is about one object.
func (l *limiter) batch(c call, most int) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	of := l.classOf(c, time.Now())
	switch {
	case of.hold.isOpen():
		return 1
	case of.single && of.rate.perSecond > 0:
		return min(max(int(of.rate.perSecond*tick.Seconds()/2)/max(of.running(), 1), 1), most)
	}
	of.batch = min(max(2*of.batch, 2*usualCalls), most)
	return of.batch
}

// counts records how many objects a call is about that has just begun.
func (l *limiter) counts(c call, objects int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	if of := l.classOf(c, now); of.single {
		of.rate.begin(now, objects-1)
	}
}

// isSingle reports whether the cloud counts each object of a call about many.
func (l *limiter) isSingle(c call) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.classOf(c, time.Now()).single
}

// countsEach records that the cloud counts each object of a call about many.
func (l *limiter) countsEach(c call) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.classOf(c, time.Now()).single = true
}
