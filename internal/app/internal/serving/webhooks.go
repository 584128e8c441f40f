package serving

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime/debug"
	"strconv"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	apiserveroptions "k8s.io/apiserver/pkg/server/options"
	"k8s.io/component-base/metrics"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
)

const (
	// reviewLimit is the size of the largest request in bytes: an object and its
	// former version, each as large as the API server stores.
	reviewLimit = 16 << 20
	// reviewTimeout is the longest time that the API server waits for a webhook.
	reviewTimeout = 30 * time.Second
)

// webhookMetrics have the names and labels of upstream's.
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

// RegisterWebhookMetrics registers the metrics that ServeWebhooks measures.
func RegisterWebhookMetrics(register func(...metrics.Registerable)) { newWebhookMetrics(register) }

// Webhook is a webhook that the program adds. Package ccm documents the fields.
type Webhook struct {
	Name  string
	Path  string
	Admit func(context.Context, *admissionv1.AdmissionRequest) (*admissionv1.AdmissionResponse, error)
}

// WebhookConfig is what the flags say about the server of the webhooks.
type WebhookConfig struct {
	Secure   *apiserveroptions.SecureServingOptions
	Webhooks []Webhook // the chosen webhooks
}

// ServeWebhooks serves the program's webhooks until stop is called. If none is
// chosen, it does nothing.
func ServeWebhooks(ctx context.Context, c WebhookConfig, h *Health, register func(...metrics.Registerable)) (stop func(), err error) {
	if len(c.Webhooks) == 0 {
		return func() {}, nil
	}
	info, err := listen(c.Secure)
	if err != nil {
		return nil, fmt.Errorf("serving webhooks: %w", err)
	}
	if info == nil {
		return func() {}, nil
	}
	h.certificates("webhook-certificates", c.Secure, info)
	stop, err = serve(ctx, info, webhookHandler(c.Webhooks, newWebhookMetrics(register), clock.RealClock{}))
	if err != nil {
		return nil, fmt.Errorf("serving webhooks: %w", err)
	}
	return stop, nil
}

// webhookHandler serves the webhooks, each on its path.
func webhookHandler(all []Webhook, m *webhookMetrics, c clock.PassiveClock) http.Handler {
	mux := http.NewServeMux()
	for _, w := range all {
		mux.Handle(w.Path, &reviewer{Webhook: w, metrics: m, clock: c})
	}
	return mux
}

// reviewer serves one webhook.
type reviewer struct {
	Webhook

	metrics *webhookMetrics
	clock   clock.PassiveClock
}

// failure is an error with the HTTP status of its answer.
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
	answer, wrong := v.review(r)
	status := http.StatusOK
	if wrong != nil {
		status = wrong.status
		logger.Error(wrong, "Webhook failed", "status", status)
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

// review returns the encoded answer to a request.
func (v *reviewer) review(r *http.Request) ([]byte, *failure) {
	request, wrong := readReview(r)
	if wrong != nil {
		return nil, wrong
	}
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
			klog.FromContext(ctx).Error(err, "Webhook panicked", "webhook", v.Name, "stack", string(debug.Stack()))
		}
	}()
	return v.Admit(ctx, r)
}

const reviewKind = "AdmissionReview"

func readReview(r *http.Request) (*admissionv1.AdmissionRequest, *failure) {
	if got := r.Header.Get("Content-Type"); got != "application/json" {
		return nil, badRequest("Content-Type: %q should be %q", got, "application/json")
	}
	body, err := io.ReadAll(http.MaxBytesReader(nil, r.Body, reviewLimit))
	switch {
	case err != nil:
		return nil, badRequest("admission request: %w", err)
	case len(body) == 0:
		return nil, badRequest("admission request HTTP body is empty")
	}
	var review admissionv1.AdmissionReview
	if err := json.Unmarshal(body, &review); err != nil {
		return nil, badRequest("admission review: %w", err)
	}
	want := admissionv1.SchemeGroupVersion.WithKind(reviewKind)
	if got := review.GroupVersionKind(); got != want {
		return nil, badRequest("admission review: got %v, want %v", got, want)
	}
	if review.Request == nil {
		return nil, badRequest("admission review can't be used: Request field is nil")
	}
	return review.Request, nil
}
