package serving

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/component-base/metrics/testutil"

	"github.com/fairlead-k8s/fairlead/internal/daemon/settings"
)

const reviewRequest = `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"u1","name":"n"}}`

func admits(f func(*admissionv1.AdmissionRequest) (*admissionv1.AdmissionResponse, error)) []Webhook {
	return []Webhook{{Name: "a", Path: "/a", Admit: func(_ context.Context, r *admissionv1.AdmissionRequest) (*admissionv1.AdmissionResponse, error) {
		return f(r)
	}}}
}

func TestWebhook(t *testing.T) {
	allow := func(*admissionv1.AdmissionRequest) (*admissionv1.AdmissionResponse, error) {
		return &admissionv1.AdmissionResponse{Allowed: true}, nil
	}
	for _, tc := range []struct {
		name   string
		admit  func(*admissionv1.AdmissionRequest) (*admissionv1.AdmissionResponse, error)
		kind   string // "": JSON
		body   string
		status int
		want   string // part of the body
	}{
		{name: "Answers", admit: allow, body: reviewRequest, status: 200, want: `{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","response":{"uid":"u1","allowed":true}}`},
		{name: "SeesTheRequest", admit: func(r *admissionv1.AdmissionRequest) (*admissionv1.AdmissionResponse, error) {
			return &admissionv1.AdmissionResponse{Allowed: r.Name != "n"}, nil
		}, body: reviewRequest, status: 200, want: `"allowed":false`},
		{name: "OnlyJSON", admit: allow, kind: "application/yaml", body: reviewRequest, status: 400, want: `Content-Type: "application/yaml" should be "application/json"`},
		{name: "NotEmpty", admit: allow, body: "", status: 400, want: "body is empty"},
		{name: "Decodable", admit: allow, body: "{", status: 400, want: "admission review: unexpected end"},
		{name: "OnlyReviewsOfV1", admit: allow, body: strings.Replace(reviewRequest, "/v1", "/v1beta1", 1), status: 400, want: "admission.k8s.io/v1beta1"},
		{name: "ReviewHasARequest", admit: allow, body: `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview"}`, status: 400, want: "Request field is nil"},
		{name: "LargeObject", admit: allow, body: strings.Replace(reviewRequest, `"name"`, `"object":{"a":"`+strings.Repeat("a", 1<<20)+`"},"name"`, 1), status: 200, want: `"allowed":true`},
		{name: "LittleBesideTheObjects", admit: allow, body: strings.Replace(reviewRequest, `"name"`, `"userInfo":{"groups":["a"`+strings.Repeat(`,""`, 30_000)+`]},"name"`, 1), status: 400, want: "bytes beside the objects"},
		{name: "NotTooLarge", admit: allow, body: strings.Repeat(" ", reviewLimit+1), status: 400, want: "request body too large"},
		{name: "ErrorIsTheServers", admit: func(*admissionv1.AdmissionRequest) (*admissionv1.AdmissionResponse, error) {
			return nil, errors.New("the cloud is unreachable")
		}, body: reviewRequest, status: 500, want: `webhook "a": the cloud is unreachable`},
		{name: "NoAnswerIsAnError", admit: func(*admissionv1.AdmissionRequest) (*admissionv1.AdmissionResponse, error) {
			return nil, nil
		}, body: reviewRequest, status: 500, want: "neither an answer nor an error"},
		{name: "PanicIsAnError", admit: func(*admissionv1.AdmissionRequest) (*admissionv1.AdmissionResponse, error) {
			panic("broken")
		}, body: reviewRequest, status: 500, want: "it panicked: broken"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			m := newWebhookMetrics(registerAnew)
			request := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/a", strings.NewReader(tc.body))
			request.Header.Set("Content-Type", "application/json")
			if tc.kind != "" {
				request.Header.Set("Content-Type", tc.kind)
			}
			w := httptest.NewRecorder()
			webhookHandler(admits(tc.admit), m).ServeHTTP(w, request)
			if w.Code != tc.status || !strings.Contains(w.Body.String(), tc.want) {
				t.Errorf("got %d %.200s, want %d %s", w.Code, w.Body, tc.status, tc.want)
			}
			counted, err := testutil.GetCounterMetricValue(m.requests.WithLabelValues(strconv.Itoa(tc.status), "a"))
			if err != nil || counted != 1 {
				t.Errorf("counted %v times, error %v", counted, err)
			}
		})
	}
}

// webhooks returns the configuration of the webhooks' server for these flags.
func webhooks(t *testing.T, all []Webhook, args ...string) WebhookConfig {
	t.Helper()
	s := settings.New(settings.Program{Name: settings.ManagerName, Webhooks: []string{"a"}})
	parse(t, s, args...)
	return WebhookConfig{Secure: s.Webhooks.Secure, ClientCA: s.Webhooks.ClientCA, Webhooks: all}
}

func TestWebhooksAreServedOverTLS(t *testing.T) {
	c := webhooks(t, admits(func(*admissionv1.AdmissionRequest) (*admissionv1.AdmissionResponse, error) {
		return &admissionv1.AdmissionResponse{Allowed: true}, nil
	}), "--webhooks=a")
	c.Secure.Listener = listenLocally(t)
	stop, err := ServeWebhooks(t.Context(), c, newTestHealth(t), registerAnew)
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://"+c.Secure.Listener.Addr().String()+"/a", strings.NewReader(reviewRequest))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := insecureClient().Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	var review admissionv1.AdmissionReview
	if err := json.Unmarshal(body, &review); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(&admissionv1.AdmissionResponse{UID: "u1", Allowed: true}, review.Response); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestExpiredCertificateOfWebhooksIsNotReady(t *testing.T) {
	dir := t.TempDir()
	newKeyPair(t, 1, func(c *x509.Certificate) { c.NotAfter = time.Now().Add(-time.Minute) }).write(t, dir)
	c := webhooks(t, admits(func(*admissionv1.AdmissionRequest) (*admissionv1.AdmissionResponse, error) { return nil, nil }),
		"--webhooks=a", "--webhook-tls-cert-file="+dir+"/tls.crt", "--webhook-tls-private-key-file="+dir+"/tls.key")
	c.Secure.Listener = listenLocally(t)
	h := newTestHealth(t)
	stop, err := ServeWebhooks(t.Context(), c, h, registerAnew)
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	if status, body := get(h.readyz, "/readyz/webhook-certificates"); status != 500 || !strings.Contains(body, "expired at ") {
		t.Errorf("got %d %s", status, body)
	}
}

func TestNoPortIsBoundWithoutWebhooks(t *testing.T) {
	c := webhooks(t, nil)
	stop, err := ServeWebhooks(t.Context(), c, newTestHealth(t), registerAnew)
	if err != nil {
		t.Fatal(err)
	}
	stop()
	if c.Secure.Listener != nil {
		t.Error("a port is bound although nothing is served")
	}
}
