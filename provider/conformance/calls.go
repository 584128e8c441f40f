package conformance

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/cloud-provider/api"

	"github.com/fairlead-k8s/fairlead/provider"
)

// exists calls InstanceExists.
func (t *trial) exists(ctx context.Context, n *corev1.Node) (bool, error) {
	return t.instances().InstanceExists(ctx, n)
}

// existing returns an error unless the provider gives the wanted answer about the instance
// of a Node.
func (t *trial) existing(n *corev1.Node, want bool) error { //nolint:revive // the wanted answer
	if exists, err := t.exists(t.ctx, n); exists != want || err != nil {
		return fmt.Errorf("InstanceExists(%s) = %v, %w; want %v, nil", show(n), exists, shown(err), want)
	}
	return nil
}

func (t *trial) present(n *corev1.Node) error { return t.existing(n, true) }

func (t *trial) absent(n *corev1.Node) error { return t.existing(n, false) }

// awaitPresent waits until the provider finds the instance of each Node.
func (t *trial) awaitPresent(nodes ...*corev1.Node) {
	for _, n := range nodes {
		t.eventually(func() error { return t.present(n) })
	}
}

// down returns an error unless InstanceShutdown returns the wanted answer.
func (t *trial) down(n *corev1.Node, want bool) error { //nolint:revive // the wanted answer
	if down, err := t.instances().InstanceShutdown(t.ctx, n); down != want || err != nil {
		return fmt.Errorf("InstanceShutdown(%s) = %v, %w; want %v, nil", show(n), down, shown(err), want)
	}
	return nil
}

// notAbsent fails the check if the provider says that an instance does not exist. It is
// for situations in which the provider cannot know whether the instance exists.
func (t *trial) notAbsent(ctx context.Context, n *corev1.Node, when string) {
	switch exists, err := t.exists(ctx, n); {
	case !exists && err == nil:
		t.errorf("%s: InstanceExists(%s) = false, nil; want an error, because nobody has said that the instance does not exist", when, show(n))
	case errors.Is(err, cloudprovider.InstanceNotFound):
		t.errorf("%s: InstanceExists(%s) = %v, %v; want an error that is not InstanceNotFound", when, show(n), exists, err)
	}
}

// described calls InstanceMetadata, and returns an error unless there is metadata.
func (t *trial) described(n *corev1.Node) (*cloudprovider.InstanceMetadata, error) {
	got, err := t.instances().InstanceMetadata(t.ctx, n)
	if got == nil || err != nil {
		return nil, fmt.Errorf("InstanceMetadata(%s) = %+v, %w; want metadata and nil", show(n), got, shown(err))
	}
	return got, nil
}

// undescribed returns an error unless InstanceMetadata returns nil metadata and an error.
func (t *trial) undescribed(n *corev1.Node) error {
	if got, err := t.instances().InstanceMetadata(t.ctx, n); got != nil || err == nil {
		return fmt.Errorf("InstanceMetadata(%s) = %+v, %w; want nil and an error", show(n), got, shown(err))
	}
	return nil
}

// metadata returns the metadata of a Node's instance.
func (t *trial) metadata(n *corev1.Node) *cloudprovider.InstanceMetadata {
	got, err := t.described(n)
	if err != nil {
		t.failf("%v", err)
	}
	return got
}

// awaitMetadata waits until the provider describes the Node's instance.
func (t *trial) awaitMetadata(n *corev1.Node) (got *cloudprovider.InstanceMetadata) {
	t.eventually(func() (err error) { got, err = t.described(n); return err })
	return got
}

// is returns an error unless the metadata of a Node has the provider ID of the machine.
func (t *trial) is(n *corev1.Node, m Machine) error {
	got, err := t.described(n)
	if err == nil && got.ProviderID != m.ProviderID {
		err = fmt.Errorf("InstanceMetadata(%s) has the provider ID %q; want %q", show(n), got.ProviderID, m.ProviderID)
	}
	return err
}

// callTime is the time limit of t.brief. It is short, because the cloud answers the
// calls in t.brief at once, or not at all.
const callTime = 2 * time.Second

// brief calls f with a context that ends soon.
func (t *trial) brief(f func(context.Context)) {
	ctx, cancel := context.WithTimeout(t.ctx, callTime)
	defer cancel()
	f(ctx)
}

// soon is the time after which the context of a call ends that the cloud does not answer.
const soon = 100 * time.Millisecond

// inTime calls f. If f does not return soon, inTime fails the check and ends the
// context of f. The limit is generous, because the machine may be busy.
func (t *trial) inTime(call, when string, f func(ctx context.Context)) {
	limit := max(5*time.Second, min(t.target.EventuallyWithin, 10*time.Second))
	ctx, cancel := context.WithCancel(t.ctx)
	defer cancel()
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer t.recovered(call)
		f(ctx)
	}()
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
		t.failf("%s had not returned after %v, %s", call, limit, when)
	}
}

// together calls f for each number from 0 to n-1, with at most the given number of
// calls at a time. It repeats a call while the error asks for that. It returns the
// errors.
func (t *trial) together(n, most int, what string, f func(int) error) []error {
	failed := make([]error, n)
	limit := make(chan struct{}, most)
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			limit <- struct{}{}
			defer func() { <-limit }()
			defer t.recovered(what)
			failed[i] = t.repeated(func() error { return f(i) })
		})
	}
	all.Wait()
	return failed
}

// repeated calls f, and repeats the call while the error asks for that, but not for
// longer than the target allows.
func (t *trial) repeated(f func() error) error { return t.retry(time.Millisecond, f, t.asksAgain) }

// asksAgain reports whether an error means, for the daemon, that the same call may succeed
// later. The daemon also looks into the Aggregates of apimachinery.
func (t *trial) asksAgain(err error) bool {
	var all utilerrors.Aggregate
	return t.saysWhen(err) || errors.As(err, &all) && slices.ContainsFunc(all.Errors(), t.asksAgain)
}

// saysWhen reports the same, but for any caller.
func (t *trial) saysWhen(err error) bool {
	var retry *api.RetryError
	kind := t.kind(err)
	return errors.As(err, &retry) || kind == provider.Throttled || kind == provider.Conflict
}

// kind returns the kind of an error, as the daemon reads it.
func (t *trial) kind(err error) provider.ErrorKind { return t.classify(err).Kind }

// classify reads an error as the daemon does.
func (t *trial) classify(err error) provider.Classification {
	if err == nil {
		return provider.Classification{}
	}
	if classifier, ok := t.provider.(provider.ErrorClassifier); ok {
		if got := classifier.ClassifyError(err); got.Kind != provider.Unclassified || got.Known {
			return got
		}
	}
	return provider.Classify(err)
}

// errNone stands for nil in a text.
var errNone = errors.New("nil")

// shown returns the error, or errNone if the error is nil.
func shown(err error) error {
	if err == nil {
		return errNone
	}
	return err
}

// show returns a Node's name and provider ID for the text of a failure.
func show(n *corev1.Node) string {
	if n.Spec.ProviderID == "" {
		return fmt.Sprintf("node %q without provider ID", n.Name)
	}
	return fmt.Sprintf("node %q with provider ID %q", n.Name, n.Spec.ProviderID)
}

func showNodes(nodes []*corev1.Node) string {
	if len(nodes) > 4 {
		return fmt.Sprintf("%d nodes", len(nodes))
	}
	return "[" + joinedTexts(nodes, show) + "]"
}

// joinedTexts returns the texts of all elements, with commas.
func joinedTexts[T any](all []T, text func(T) string) string {
	texts := make([]string, len(all))
	for n, one := range all {
		texts[n] = text(one)
	}
	return strings.Join(texts, ", ")
}
