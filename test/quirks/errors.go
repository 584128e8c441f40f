package quirks

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/cloud-provider/api"
)

// StatusError is an error with an HTTP status, like those of many SDKs.
type StatusError struct {
	Status int
	Text   string
}

func (e *StatusError) Error() string { return fmt.Sprintf("%s (status %d)", e.Text, e.Status) }

// HTTPStatusCode returns the status of the response.
func (e *StatusError) HTTPStatusCode() int { return e.Status }

// AnswersBadRequest answers each question about an instance and each change of a
// load balancer with the status 400.
var AnswersBadRequest = failing("AnswersBadRequest", func(string) error {
	return &StatusError{Status: http.StatusBadRequest, Text: "bad request"}
})

// RetryAfterADay fails each question about an instance and each change of a load
// balancer. The error asks for a pause of a day.
var RetryAfterADay = failing("RetryAfterADay", func(string) error {
	return api.NewRetryError("maintenance", 24*time.Hour)
})

// failing returns a quirk that fails each question about an instance and each change of a
// load balancer.
func failing(name string, err func(object string) error) Quirk {
	return Quirk{Name: name, apply: func(p *Provider) {
		if p.instances != nil {
			p.instances = before(p.instances, func(_ context.Context, node *corev1.Node) error { return err(node.Name) })
		}
		if p.balancers != nil {
			p.balancers = beforeChange(p.balancers, func(_ context.Context, service *corev1.Service) error { return err(service.Name) })
		}
	}}
}

// OffersNothingOnce answers the first call of each accessor with "not supported",
// as OpenStack's provider does when one of its own requests fails.
var OffersNothingOnce = Quirk{Name: "OffersNothingOnce", apply: func(p *Provider) {
	var mu sync.Mutex
	asked := map[string]bool{} // guarded by mu
	p.offers = func(accessor string) bool {
		mu.Lock()
		defer mu.Unlock()
		again := asked[accessor]
		asked[accessor] = true
		return again
	}
}}
