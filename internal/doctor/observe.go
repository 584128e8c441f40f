package doctor

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

const (
	pageSize = 500
	// mostPages bounds the pages of one kind, so that at most 5,000 objects are read.
	mostPages = 10
	// mostPagesOfEvents bounds the pages of events, Pods and certificate requests.
	// There can be any number of these objects.
	mostPagesOfEvents = 4
	// mostReviewed is the maximum number of managers whose accounts are reviewed.
	// mostSlices is the maximum number of Services whose endpoints are read.
	mostReviewed = 3
	mostSlices   = 20
)

// Observe reads the data for the checks. It returns an error if the request for the
// server's version fails, or if ctx ends before the managers are known. A missing right
// is not an error: Observe records it in the View. The last argument is the time for
// which an object may wait before a check reports it.
func Observe(ctx context.Context, client kubernetes.Interface, clock *Clock, waiting time.Duration) (*View, error) {
	version, err := client.Discovery().ServerVersion()
	if err != nil && !apierrors.IsForbidden(err) {
		return nil, fmt.Errorf("the API server: %w", err)
	}
	o := newObserver(client, metav1.NamespaceAll, mostPages)
	o.view.Waiting = waiting
	if version != nil {
		o.view.Version = version.GitVersion
	}
	o.view.Now, o.view.Offset = clock.server()
	o.together(ctx, o.nodes, o.services, o.leases, o.deployments, o.daemonSets, o.statefulSets, o.componentPods, o.events, o.requests)
	if len(o.view.Missing) > 0 && ctx.Err() != nil {
		return nil, fmt.Errorf("the API server: %w", context.Cause(ctx))
	}
	// The managers are known now, so their details can be read.
	o.together(ctx, o.managerPods, o.reviews, o.slices)
	return o.view, nil
}

// Blind reports whether none of the main sources could be read.
func (v *View) Blind() bool {
	for _, s := range []Source{Nodes, Services, Leases, Deployments, DaemonSets, Pods, Events} {
		if _, missing := v.Missing[s]; !missing {
			return false
		}
	}
	return true
}

// observer reads data into a View.
type observer struct {
	client    kubernetes.Interface
	namespace string // the namespace of Leases and workloads; empty means all
	pages     int    // the maximum number of pages of one kind

	mu   sync.Mutex
	view *View // guarded by mu
}

func newObserver(client kubernetes.Interface, namespace string, pages int) *observer {
	return &observer{client: client, namespace: namespace, pages: pages, view: &View{Missing: map[Source]string{}, Partly: map[Source]bool{}}}
}

func (o *observer) together(ctx context.Context, reads ...func(context.Context)) {
	var all sync.WaitGroup
	for _, read := range reads {
		all.Go(func() { read(ctx) })
	}
	all.Wait()
}

// with lets a function change the View while mu is locked.
func (o *observer) with(change func(*View)) {
	o.mu.Lock()
	defer o.mu.Unlock()
	change(o.view)
}

// missed records that a source could not be read, and which right is needed.
func (o *observer) missed(s Source, err error) {
	why := string(s)
	if !apierrors.IsForbidden(err) {
		why += " (" + shown(err.Error()) + ")"
	}
	o.with(func(v *View) { v.Missing[s] = why })
}

// isMissing reports whether a source could not be read.
func (o *observer) isMissing(s Source) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	_, missing := o.view.Missing[s]
	return missing
}

// read reads the objects of a kind, but not more than the given number of pages.
func read[T any](ctx context.Context, o *observer, s Source, most int, options metav1.ListOptions, list func(context.Context, metav1.ListOptions) (items []T, more string, err error)) []T {
	var all []T
	options.Limit = pageSize
	for range most {
		items, more, err := list(ctx, options)
		if err != nil {
			o.missed(s, err)
			return nil
		}
		all = append(all, items...)
		if more == "" {
			return all
		}
		options.Continue = more
	}
	o.with(func(v *View) { v.Partly[s] = true })
	return all
}

// reviews asks the API server which rights the managers' accounts have.
func (o *observer) reviews(ctx context.Context) {
	var questions []Review
	reviewed := 0
	for _, m := range o.view.Managers() {
		if m.Workload != nil && m.Workload.Template.ServiceAccount != "" && reviewed < mostReviewed {
			reviewed++
			questions = append(questions, m.reviews()...)
		}
	}
	var wait sync.WaitGroup
	turns := make(chan struct{}, 8)
	answered := make([]bool, len(questions))
	for i := range questions {
		wait.Go(func() {
			turns <- struct{}{}
			defer func() { <-turns }()
			var err error
			if questions[i].Allowed, err = o.allowed(ctx, questions[i]); err != nil {
				o.missed(Reviews, err)
				return
			}
			answered[i] = true
		})
	}
	wait.Wait()
	o.with(func(v *View) {
		for i, q := range questions {
			if answered[i] {
				v.Reviews = append(v.Reviews, q)
			}
		}
	})
}

func (o *observer) allowed(ctx context.Context, r Review) (bool, error) {
	resource, sub := r.Right.split()
	answer, err := o.client.AuthorizationV1().SubjectAccessReviews().Create(ctx, &authorizationv1.SubjectAccessReview{
		Spec: authorizationv1.SubjectAccessReviewSpec{
			User: r.Account, Groups: groupsOf(r.Account),
			ResourceAttributes: &authorizationv1.ResourceAttributes{
				Namespace: r.Right.Namespace, Verb: r.Right.Verb, Group: r.Right.Group, Resource: resource, Subresource: sub, Name: r.Right.Name,
			},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		return false, err
	}
	return answer.Status.Allowed, nil
}

// slices reads the endpoints of Services with a local traffic policy.
func (o *observer) slices(ctx context.Context) {
	var local []*corev1.Service
	for i := range o.view.Services {
		if keepsTrafficLocal(&o.view.Services[i]) {
			local = append(local, &o.view.Services[i])
		}
	}
	if len(local) > mostSlices {
		o.with(func(v *View) { v.Partly[Slices] = true })
		local = local[:mostSlices]
	}
	for chunk := range slices.Chunk(local, 5) {
		var reads []func(context.Context)
		for _, s := range chunk {
			reads = append(reads, func(ctx context.Context) { o.slicesOf(ctx, s) })
		}
		o.together(ctx, reads...)
	}
}
