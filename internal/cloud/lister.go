package cloud

import (
	"context"
	"time"

	"github.com/fairlead-k8s/fairlead/provider"
)

// Lister lists all instances of this cluster. The contents of a list are hints
// (decision 10). They can make a question about a node unnecessary, but are never
// written to a Node.
type Lister struct {
	gateway *Gateway
	lister  provider.InstanceLister
	listed  func(providerID string) // is called for each instance on a page
	pages   inflight[Page]
}

// Page is a part of the list. It shares no memory with the provider.
type Page struct {
	Instances []Metadata
	// Next is the token of the next page. It is empty on the last page.
	Next string
	// AsOf is the time at which the contents of the page were true. It is never
	// later than the beginning of the call.
	AsOf time.Time
}

// Lister returns the provider's Lister. It returns nil if the provider offers
// none.
func (i *Instances) Lister() *Lister { return i.lister }

func newLister(g *Gateway, found parts, callerTimeout time.Duration, listed func(string)) *Lister {
	if found.lister == nil {
		return nil
	}
	return &Lister{gateway: g, lister: found.lister, listed: listed, pages: inflight[Page]{callerTimeout: callerTimeout}}
}

// Page asks for one page, at the lowest priority. For the first page, the token is
// empty. For each later page, it is the field Next of the previous page. Errors are of
// type *Error.
func (l *Lister) Page(ctx context.Context, token string) (Page, error) {
	const method = "ListInstances"
	c := call{method: method, priority: refreshPriority, names: []string{method}, split: true}
	return l.pages.ask(ctx, c, token, func(ctx context.Context, c call) (Page, error) {
		var began time.Time
		theirs, err := read(ctx, l.gateway, c, func(ctx context.Context) (provider.InstancePage, error) {
			began = time.Now()
			return l.lister.ListInstances(ctx, token)
		})
		if err != nil {
			return Page{}, err
		}
		page := Page{Next: theirs.Next, AsOf: theirs.AsOf}
		if page.AsOf.IsZero() || page.AsOf.After(began) {
			page.AsOf = began
		}
		for n := range theirs.Instances {
			if m, err := fromProvider(c, &theirs.Instances[n]); err == nil && m.ProviderID != "" {
				page.Instances = append(page.Instances, m)
				l.listed(m.ProviderID)
			}
		}
		return page, nil
	})
}
