package serving

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"runtime/debug"
	"strconv"
	"time"

	"golang.org/x/time/rate"
	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	x509request "k8s.io/apiserver/pkg/authentication/request/x509"
	"k8s.io/apiserver/pkg/server/dynamiccertificates"
	apiserveroptions "k8s.io/apiserver/pkg/server/options"
	"k8s.io/component-base/metrics"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/fairlead-k8s/fairlead/internal/printable"
)

const (
	// reviewLimit is the maximum size of a request in bytes. A request has an object
	// and its former version. Each can be as large as the largest object that the
	// API server stores.
	reviewLimit = 3 << 20
	// reviewsAtOnce bounds the memory of requests. Any caller that reaches the port
	// can send requests.
	reviewsAtOnce = 4
	// smallReview is the size up to which a request has one of the other places, of which
	// there are smallAtOnce. Usual requests are that small. A larger one takes a tenth of
	// a second to decode, and so a few callers could occupy all of its places.
	smallReview, smallAtOnce = 64 << 10, 64
	// otherLimit is the maximum size of a request without its objects in bytes. In
	// memory, a list of empty names takes many times as much.
	otherLimit = 64 << 10
	// rememberRefusal is the time for which a refused certificate is not verified again.
	rememberRefusal = 10 * time.Second
	// readTimeout is the longest time that a request may wait for a place, and then the
	// longest that it may take to arrive. The API server sends a request without pauses.
	readTimeout = 5 * time.Second
	// hurriedTimeout takes the place of the latter while other requests wait.
	hurriedTimeout = 250 * time.Millisecond
	// reviewTimeout is the longest time that the API server waits for a webhook.
	reviewTimeout = 30 * time.Second
)

// webhookMetrics have the same names and labels as upstream's metrics.
type webhookMetrics struct {
	requests *metrics.CounterVec
	duration *metrics.HistogramVec
}

func newWebhookMetrics(register func(...metrics.Registerable)) *webhookMetrics {
	labels := []string{"code", "webhook"}
	m := &webhookMetrics{
		requests: metrics.NewCounterVec(&metrics.CounterOpts{
			Name:           "cloud_provider_webhook_request_total",
			Help:           "Requests to webhooks by HTTP status and webhook",
			StabilityLevel: metrics.ALPHA,
		}, labels),
		duration: metrics.NewHistogramVec(&metrics.HistogramOpts{
			Name:           "cloud_provider_webhook_request_duration_seconds",
			Help:           "Time that requests to webhooks took, by HTTP status and webhook",
			Buckets:        []float64{0.25, 0.5, 0.7, 1, 1.5, 3, 5, 10},
			StabilityLevel: metrics.ALPHA,
		}, labels),
	}
	register(m.requests, m.duration)
	return m
}

// RegisterWebhookMetrics registers the metrics of ServeWebhooks.
func RegisterWebhookMetrics(register func(...metrics.Registerable)) { newWebhookMetrics(register) }

// Webhook is a webhook that the program adds. Package ccm documents the fields.
type Webhook struct {
	Name  string
	Path  string
	Admit func(context.Context, *admissionv1.AdmissionRequest) (*admissionv1.AdmissionResponse, error)
}

// WebhookConfig is the configuration of the server of the webhooks.
type WebhookConfig struct {
	Secure   *apiserveroptions.SecureServingOptions
	ClientCA string    // the file with the CAs of the callers' certificates; "": callers are not authenticated
	Webhooks []Webhook // the chosen webhooks
}

// ServeWebhooks starts to serve the program's webhooks. The server runs until stop
// is called. If no webhook is chosen, ServeWebhooks does nothing.
func ServeWebhooks(ctx context.Context, c WebhookConfig, h *Health, register func(...metrics.Registerable)) (stop func(), err error) {
	if len(c.Webhooks) == 0 {
		return func() {}, nil
	}
	info, err := listen(c.Secure)
	if err != nil {
		return nil, fmt.Errorf("serving webhooks: %w", portInUse("--webhook-secure-port", err))
	}
	if info == nil {
		return func() {}, nil
	}
	h.certificates("webhook-certificates", c.Secure, info)
	handler := webhookHandler(c.Webhooks, newWebhookMetrics(register))
	if c.ClientCA != "" {
		callers, err := dynamiccertificates.NewDynamicCAContentFromFile("webhook-client-ca", c.ClientCA)
		if err != nil {
			return nil, fmt.Errorf("serving webhooks: %w", err)
		}
		info.ClientCA = callers // The server requests a certificate, and reads the CA file again when it changes.
		handler = onlyFor(newReviewed(x509request.NewDynamic(callers.VerifyOptions, x509request.CommonNameUserConversion), rememberRefusal, clock.RealClock{}), handler)
	}
	return serve(ctx, info, handler), nil
}

// onlyFor refuses callers without a valid certificate. It does so before it reads
// the body of the request.
func onlyFor(callers authenticator.Request, h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, ok, err := callers.AuthenticateRequest(r); err != nil || !ok {
			limitRead(w, readTimeout)
			http.Error(w, "a client certificate of the authority in --webhook-client-ca-file is needed", http.StatusUnauthorized)
			return
		}
		h.ServeHTTP(w, r)
	})
}

// limitRead makes the reading of the request fail after some time. Without this limit,
// the server would wait for ever for the rest of a request that it has refused.
// In tests, a response writer may have no connection. Then no limit can be set, and
// none is needed.
func limitRead(w http.ResponseWriter, within time.Duration) {
	_ = http.NewResponseController(w).SetReadDeadline(clock.RealClock{}.Now().Add(within))
}

// webhookHandler serves the webhooks, each on its path.
func webhookHandler(all []Webhook, m *webhookMetrics) http.Handler {
	mux := http.NewServeMux()
	small, large, few := newPlaces(smallAtOnce), newPlaces(reviewsAtOnce), newFew()
	for _, w := range all {
		mux.Handle(w.Path, &reviewer{Webhook: w, small: small, large: large, few: few, own: newFew(), metrics: m, clock: clock.RealClock{}})
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		limitRead(w, readTimeout)
		mux.ServeHTTP(w, r)
	})
}

// reviewer serves one webhook.
type reviewer struct {
	Webhook

	small, large *places         // for small and for large requests to all webhooks together
	few          *rate.Sometimes // bounds the log of failures caused by callers, for all webhooks together
	own          *rate.Sometimes // bounds the log of failures of this webhook, which callers may be able to cause
	metrics      *webhookMetrics
	clock        clock.PassiveClock
}

// failure is an error, together with the HTTP status of the answer.
type failure struct {
	status int
	err    error
}

func (f *failure) Error() string { return f.err.Error() }

func badRequest(format string, args ...any) *failure {
	return &failure{http.StatusBadRequest, fmt.Errorf(format, args...)}
}

func (v *reviewer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	began := v.clock.Now()
	logger := klog.FromContext(r.Context()).WithValues("webhook", v.Name)
	answer, wrong := v.answer(w, r)
	status := http.StatusOK
	if wrong != nil {
		status = wrong.status
		wrong := cut(wrong)
		few := v.few
		if status >= http.StatusInternalServerError {
			few = v.own
		}
		few.Do(func() { logger.Error(wrong, "Webhook failed", "status", status) })
		if status == http.StatusTooManyRequests {
			w.Header().Set("Retry-After", "1") // the API server calls again
		}
		http.Error(w, wrong.Error(), status)
	} else {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(answer) // writing fails only if the client has closed the connection
	}
	took := v.clock.Since(began)
	logger.V(4).Info("Webhook answered", "status", status, "took", took)
	code := strconv.Itoa(status)
	v.metrics.requests.WithLabelValues(code, v.Name).Inc()
	v.metrics.duration.WithLabelValues(code, v.Name).Observe(took.Seconds())
}

// answer returns the encoded answer to a request. It fails if too many requests are
// being answered.
func (v *reviewer) answer(w http.ResponseWriter, r *http.Request) ([]byte, *failure) {
	places := v.large
	if r.ContentLength >= 0 && r.ContentLength <= smallReview { // The library reads no more than that.
		places = v.small
	}
	place := places.take(r.Context(), w, hostOf(r.RemoteAddr))
	if place == nil {
		return nil, &failure{http.StatusTooManyRequests, fmt.Errorf("%d requests to webhooks are being answered", places.limit)}
	}
	defer place.leave()
	body, wrong := readBody(r)
	if wrong != nil {
		return nil, wrong
	}
	place.arrived()
	places.decoding.Lock()
	request, wrong := decode(body)
	places.decoding.Unlock()
	if wrong != nil {
		return nil, wrong
	}
	return v.review(r, request)
}

// review calls the webhook, and returns the encoded answer to the request.
func (v *reviewer) review(r *http.Request, request *admissionv1.AdmissionRequest) ([]byte, *failure) {
	ctx, cancel := context.WithTimeout(r.Context(), reviewTimeout)
	defer cancel()
	response, err := v.admit(ctx, request)
	if err == nil && response == nil {
		err = errors.New("the webhook returned neither an answer nor an error")
	}
	if err != nil {
		return nil, &failure{http.StatusInternalServerError, fmt.Errorf("webhook %q: %w", v.Name, err)}
	}
	review := admissionv1.AdmissionReview{Response: response.DeepCopy()}
	review.SetGroupVersionKind(admissionv1.SchemeGroupVersion.WithKind(reviewKind))
	review.Response.UID = request.UID
	answer, err := json.Marshal(review)
	if err != nil {
		return nil, &failure{http.StatusInternalServerError, fmt.Errorf("webhook %q: %w", v.Name, err)}
	}
	return answer, nil
}

// admit calls the webhook. A panic becomes an error.
func (v *reviewer) admit(ctx context.Context, r *admissionv1.AdmissionRequest) (answer *admissionv1.AdmissionResponse, err error) {
	defer func() {
		if value := recover(); value != nil {
			err = fmt.Errorf("it panicked: %v", value)
			stack := string(debug.Stack())
			v.own.Do(func() { klog.FromContext(ctx).Error(err, "Webhook panicked", "webhook", v.Name, "stack", stack) })
		}
	}()
	return v.Admit(ctx, r)
}

const reviewKind = "AdmissionReview"

func readBody(r *http.Request) ([]byte, *failure) {
	if got := r.Header.Get("Content-Type"); got != "application/json" {
		return nil, badRequest("Content-Type: %q should be %q", printable.Cut(got, quoteLimit), "application/json")
	}
	body, err := io.ReadAll(http.MaxBytesReader(nil, r.Body, reviewLimit))
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return nil, &failure{http.StatusTooManyRequests, errors.New("this request arrived too slowly")}
	case err != nil:
		return nil, badRequest("admission request: %w", err)
	case len(body) == 0:
		return nil, badRequest("admission request HTTP body is empty")
	}
	return body, nil
}

// objects are the large parts of a request.
type objects struct {
	Request *struct{ Object, OldObject, Options json.RawMessage }
}

// decode returns the request in a body.
func decode(body []byte) (*admissionv1.AdmissionRequest, *failure) {
	var large objects
	if err := json.Unmarshal(body, &large); err != nil {
		return nil, badRequest("admission review: %w", err)
	}
	others := len(body)
	if l := large.Request; l != nil {
		others -= len(l.Object) + len(l.OldObject) + len(l.Options)
	}
	if others > otherLimit {
		return nil, badRequest("admission review: %d bytes beside the objects, want %d at most", others, otherLimit)
	}
	var review admissionv1.AdmissionReview
	if err := json.Unmarshal(body, &review); err != nil {
		return nil, badRequest("admission review: %w", err)
	}
	want := admissionv1.SchemeGroupVersion.WithKind(reviewKind)
	if got := review.GroupVersionKind(); got != want {
		return nil, badRequest("admission review: got %q, want %q", printable.Cut(got.String(), quoteLimit), want)
	}
	if review.Request == nil {
		return nil, badRequest("admission review can't be used: Request field is nil")
	}
	return review.Request, nil
}
