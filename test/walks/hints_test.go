package walks_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/fairlead-k8s/fairlead/internal/cloud"
	"github.com/fairlead-k8s/fairlead/internal/controller/node"
	"github.com/fairlead-k8s/fairlead/provider"
)

// hint says how the list or the watch of the provider behaves.
type hint string

const (
	isRight hint = "is right"
	fails   hint = "fails"

	// Lists.
	isEmpty    hint = "is empty"
	isPartial  hint = "leaves out half"
	isDoubled  hint = "names each twice, once as it was"
	isShuffled hint = "is out of order"
	isMixed    hint = "gives each ID the data of another"
	isShort    hint = "leaves out labels and addresses"
	isForeign  hint = "names what nobody knows"
	isEndless  hint = "has no end"
	isOld      hint = "is old"
	saysOld    hint = "is old and says so"

	// Watches.
	strays  hint = "names others"
	loses   hint = "loses changes"
	stalls  hint = "says nothing"
	repeats hint = "names all again and again"
	expires hint = "forgets its token"
	noToken hint = "gives no token"
)

var (
	listHints  = []hint{isRight, fails, isEmpty, isPartial, isDoubled, isShuffled, isMixed, isShort, isForeign, isEndless, isOld, saysOld}
	watchHints = []hint{isRight, fails, strays, loses, stalls, repeats, expires, noToken}
)

// hints describes the fast paths of the provider, and contains their state.
type hints struct {
	batches, lists, watches bool // the fast paths that are offered
	listing, watching       hint

	now     map[string]machine   // the state of the machines at the last call of look
	before  []map[string]machine // the earlier states, the oldest first
	changes []string             // the ID of the changed machine, for each change
	changed chan struct{}        // closed at the next change
}

// newHints returns some fast paths, or none.
func (w *world) newHints() hints {
	h := hints{listing: isRight, watching: isRight, now: map[string]machine{}, changed: make(chan struct{})}
	switch w.mood.IntN(5) {
	case 0: // none, as with existing providers
	case 1:
		h.lists = true
	case 2:
		h.watches = true
	case 3:
		h.lists, h.watches = true, true
	default:
		h.batches, h.lists, h.watches = true, true, true
	}
	return h
}

// moods changes the behaviour of the fast paths now and then. The caller holds mu.
func (w *world) moods() {
	h := &w.hints
	if h.lists && w.mood.IntN(4) == 0 {
		h.listing = listHints[w.mood.IntN(len(listHints))]
		w.note("    the list %s", h.listing)
	}
	if h.watches && w.mood.IntN(4) == 0 {
		h.watching = watchHints[w.mood.IntN(len(watchHints))]
		w.note("    the watch %s", h.watching)
	}
}

// calmDown makes the list right or leaves it as it is, at random. It does the same with
// the watch. A wrong list or watch may cost calls, but it must do no other harm. There is
// one exception: an old list that does not say that it is old is always made right. It
// could hide for hours that a Node differs from its machine. The caller holds mu.
func (w *world) calmDown() {
	h := &w.hints
	if h.listing == isOld || w.mood.IntN(2) == 0 {
		h.listing = isRight
	}
	if w.mood.IntN(2) == 0 {
		h.watching = isRight
	}
	if h.lists || h.watches {
		w.note("    the list %s, the watch %s", h.listing, h.watching)
	}
}

// look records the machines that have changed. The caller holds mu.
func (w *world) look() {
	h := &w.hints
	current := map[string]machine{}
	for id, m := range w.machines {
		seen := *m
		seen.reporting = false // The cloud does not know whether the kubelet reports.
		current[id] = seen
		if h.now[id] != seen {
			h.changes = append(h.changes, id)
		}
	}
	if maps.Equal(current, h.now) {
		return
	}
	h.before = append(h.before, h.now)
	h.now = current
	close(h.changed)
	h.changed = make(chan struct{})
}

// with returns inner with the fast paths added.
func (w *world) with(inner cloudprovider.InstancesV2) cloudprovider.InstancesV2 {
	b, l, x := batches{inner}, lists{w}, watches{w}
	switch h := w.hints; {
	case h.batches:
		return struct {
			cloudprovider.InstancesV2
			batches
			lists
			watches
		}{inner, b, l, x}
	case h.lists && h.watches:
		return struct {
			cloudprovider.InstancesV2
			lists
			watches
		}{inner, l, x}
	case h.lists:
		return struct {
			cloudprovider.InstancesV2
			lists
		}{inner, l}
	case h.watches:
		return struct {
			cloudprovider.InstancesV2
			watches
		}{inner, x}
	default:
		return inner
	}
}

// InstancesV2 implements cloudprovider.Interface.
func (o observer) InstancesV2() (cloudprovider.InstancesV2, bool) {
	inner, ok := o.Provider.InstancesV2()
	return o.w.with(inner), ok
}

// use returns a copy of d. If found has a list or a watch, the copy has it, too.
func use(d node.Deps, found *cloud.Instances) node.Deps {
	if list := found.Lister(); list != nil {
		d.List = list
	}
	if changes := found.Watcher(); changes != nil {
		d.Watch = changes
	}
	return d
}

// batches answers questions about many Nodes in one call. It asks the wrapped provider
// about each Node, so the answers have that provider's quirks.
type batches struct{ one cloudprovider.InstancesV2 }

// MaxInstanceMetadataBatch implements provider.InstanceMetadataBatcher.
func (batches) MaxInstanceMetadataBatch() int { return 3 }

// InstanceMetadataBatch implements provider.InstanceMetadataBatcher.
func (b batches) InstanceMetadataBatch(ctx context.Context, nodes []*corev1.Node) ([]provider.InstanceMetadataAnswer, error) {
	answers := make([]provider.InstanceMetadataAnswer, len(nodes))
	for n, of := range nodes {
		answers[n].Metadata, answers[n].Err = b.one.InstanceMetadata(ctx, of)
	}
	return answers, nil
}

type lists struct{ w *world }

// listPage is the number of instances on a page.
const listPage = 3

var errToken = errors.New("there is no such token")

// ListInstances implements provider.InstanceLister.
func (l lists) ListInstances(ctx context.Context, token string) (provider.InstancePage, error) {
	w := l.w
	now := w.call(ctx)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.look()
	from, err := strconv.Atoi(token)
	switch h := w.hints.listing; {
	case now.err != nil:
		return provider.InstancePage{}, now.err
	case h == fails:
		return provider.InstancePage{}, errLost
	case token != "" && err != nil:
		return provider.InstancePage{}, errToken
	case now.denies, h == isEmpty:
		return provider.InstancePage{}, nil
	}
	all := w.listed()
	from = min(from, len(all))
	page := provider.InstancePage{Instances: all[from:min(from+listPage, len(all))]}
	if from+listPage < len(all) {
		page.Next = strconv.Itoa(from + listPage)
	}
	switch w.hints.listing { //nolint:exhaustive // the others are in listed
	case isEndless:
		page.Next = "0"
	case saysOld:
		page.AsOf = time.Now().Add(-time.Hour)
	}
	return page, nil
}

// listed returns the current content of the whole list. The caller holds mu.
func (w *world) listed() []cloudprovider.InstanceMetadata {
	h := &w.hints
	was := h.now
	if len(h.before) > 0 {
		was = h.before[w.mood.IntN(len(h.before))]
	}
	all := w.described(h.now)
	switch h.listing { //nolint:exhaustive // the others are in ListInstances
	case isPartial:
		all = slices.DeleteFunc(all, func(cloudprovider.InstanceMetadata) bool { return w.mood.IntN(2) == 0 })
	case isDoubled:
		all = append(all, w.described(was)...)
		w.mood.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	case isShuffled:
		w.mood.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	case isMixed:
		for i := range all[:max(len(all)-1, 0)] {
			all[i].ProviderID, all[i+1].ProviderID = all[i+1].ProviderID, all[i].ProviderID
		}
	case isShort:
		for i := range all {
			all[i].AdditionalLabels, all[i].NodeAddresses, all[i].Zone = nil, nil, ""
		}
	case isForeign:
		for i := range all {
			all[i].ProviderID = []string{"", "p://", "q://1", "p://unknown", strings.ToUpper(all[i].ProviderID)}[w.mood.IntN(5)]
		}
	case isOld, saysOld:
		all = w.described(was)
	}
	return all
}

// described returns the cloud's metadata of the machines that exist, sorted by ID. The
// caller holds mu.
func (w *world) described(machines map[string]machine) (all []cloudprovider.InstanceMetadata) {
	for _, id := range slices.Sorted(maps.Keys(machines)) {
		if m := machines[id]; !m.gone {
			all = append(all, *w.metadata(nil, &m))
		}
	}
	return all
}

type watches struct{ w *world }

// WatchInstances implements provider.InstanceWatcher.
func (x watches) WatchInstances(ctx context.Context, token string) (provider.InstanceChanges, error) {
	w := x.w
	w.mu.Lock()
	w.look()
	h, now, from, changed := w.hints.watching, w.weather, len(w.hints.changes), w.hints.changed
	w.mu.Unlock()
	if token != "" {
		from, _ = strconv.Atoi(token)
	}
	switch h { //nolint:exhaustive // the others wait for a change
	case fails:
		return provider.InstanceChanges{}, errLost
	case expires:
		return provider.InstanceChanges{}, provider.ErrWatchExpired
	case noToken:
		return provider.InstanceChanges{}, nil
	case stalls:
		<-ctx.Done()
		return provider.InstanceChanges{}, ctx.Err()
	}
	if now.err != nil {
		return provider.InstanceChanges{}, now.err
	}
	w.mu.Lock()
	waits := h != repeats && from >= len(w.hints.changes)
	w.mu.Unlock()
	if waits && !await(ctx, changed) {
		return provider.InstanceChanges{}, ctx.Err()
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	ids := w.hints.changes
	answer := provider.InstanceChanges{Resume: strconv.Itoa(len(ids))}
	switch h { //nolint:exhaustive // the others are above
	case loses:
	case repeats:
		answer.Changed = w.refs(slices.Sorted(maps.Keys(w.machines)))
	case strays:
		answer.Changed = append(w.refs([]string{"unknown", ""}), provider.InstanceRef{NodeName: nodeNames[w.mood.IntN(len(nodeNames))]})
	default:
		answer.Changed = w.refs(ids[min(from, len(ids)):])
	}
	return answer, nil
}

// await waits for a change, for at most two minutes. It returns false if the
// context has ended.
func await(ctx context.Context, changed <-chan struct{}) bool {
	timer := time.NewTimer(2 * time.Minute)
	defer timer.Stop()
	select {
	case <-changed:
	case <-timer.C:
	case <-ctx.Done():
	}
	return ctx.Err() == nil
}

// refs names each machine by ID, and some of them also by name. The caller holds mu.
func (w *world) refs(ids []string) (all []provider.InstanceRef) {
	for _, id := range ids {
		ref := provider.InstanceRef{ProviderID: "p://" + id}
		if m := w.machines[id]; m != nil && w.mood.IntN(2) == 0 {
			ref.NodeName = m.name
		}
		all = append(all, ref)
	}
	return all
}
