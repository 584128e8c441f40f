package app

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
	"k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/testutil"
	"k8s.io/utils/clock"
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
		{name: "NotWithoutEnd", admit: allow, body: strings.Repeat(" ", reviewLimit+1), status: 400, want: "request body too large"},
		{name: "ErrorIsTheServers", admit: func(*admissionv1.AdmissionRequest) (*admissionv1.AdmissionResponse, error) {
			return nil, errors.New("the cloud is away")
		}, body: reviewRequest, status: 500, want: `webhook "a": the cloud is away`},
		{name: "NoAnswerIsAnError", admit: func(*admissionv1.AdmissionRequest) (*admissionv1.AdmissionResponse, error) {
			return nil, nil
		}, body: reviewRequest, status: 500, want: "neither an answer nor an error"},
		{name: "PanicIsAnError", admit: func(*admissionv1.AdmissionRequest) (*admissionv1.AdmissionResponse, error) {
			panic("broken")
		}, body: reviewRequest, status: 500, want: "it panicked: broken"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			program := ours
			program.Webhooks = admits(tc.admit)
			o := newOptions(program, nil)
			if err := flagSet(o).Parse([]string{"--webhooks=*"}); err != nil {
				t.Fatal(err)
			}
			m := newWebhookMetrics(func(all ...metrics.Registerable) {
				for _, one := range all {
					metrics.NewKubeRegistry().MustRegister(one)
				}
			})
			request := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/a", strings.NewReader(tc.body))
			request.Header.Set("Content-Type", "application/json")
			if tc.kind != "" {
				request.Header.Set("Content-Type", tc.kind)
			}
			w := httptest.NewRecorder()
			webhookHandler(o, m, clock.RealClock{}).ServeHTTP(w, request)
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

func TestWebhooksNeedTheirPort(t *testing.T) {
	program := ours
	program.Webhooks = admits(func(*admissionv1.AdmissionRequest) (*admissionv1.AdmissionResponse, error) { return nil, nil })
	for args, want := range map[string]string{
		"--webhooks=* --webhook-secure-port=0":    "--webhooks: a cannot be served with --webhook-secure-port=0",
		"--webhooks=*,-a --webhook-secure-port=0": "",
		"--webhooks=a": "",
	} {
		o := newOptions(program, nil)
		if err := flagSet(o).Parse(strings.Fields("--cloud-provider=test " + args)); err != nil {
			t.Fatal(err)
		}
		var got string
		if err := o.validate(); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s: got %q, want %q", args, got, want)
		}
	}
}

func TestOnlyChosenWebhooksAreServed(t *testing.T) {
	program := ours
	for _, name := range []string{"a", "b"} {
		program.Webhooks = append(program.Webhooks, Webhook{Name: name, Path: "/" + name, Admit: func(context.Context, *admissionv1.AdmissionRequest) (*admissionv1.AdmissionResponse, error) {
			return &admissionv1.AdmissionResponse{}, nil
		}})
	}
	for args, want := range map[string]map[string]int{
		"":                {"/a": 404, "/b": 404},
		"--webhooks=*":    {"/a": 200, "/b": 200},
		"--webhooks=b":    {"/a": 404, "/b": 200},
		"--webhooks=*,-a": {"/a": 404, "/b": 200},
		"--webhooks=-a,a": {"/a": 404, "/b": 404},
	} {
		t.Run(args, func(t *testing.T) {
			o := newOptions(program, nil)
			if err := flagSet(o).Parse(strings.Fields(args)); err != nil {
				t.Fatal(err)
			}
			handler := webhookHandler(o, newWebhookMetrics(func(...metrics.Registerable) {}), clock.RealClock{})
			for path, status := range want {
				request := httptest.NewRequestWithContext(t.Context(), http.MethodPost, path, strings.NewReader(reviewRequest))
				request.Header.Set("Content-Type", "application/json")
				w := httptest.NewRecorder()
				handler.ServeHTTP(w, request)
				if w.Code != status {
					t.Errorf("%s: got %d, want %d", path, w.Code, status)
				}
			}
		})
	}
}

func TestWebhooksAreServedOverTLS(t *testing.T) {
	p, ctx := newTestProcess(t, &fakeCloud{}, nil)
	program := ours
	program.Webhooks = admits(func(*admissionv1.AdmissionRequest) (*admissionv1.AdmissionResponse, error) {
		return &admissionv1.AdmissionResponse{Allowed: true}, nil
	})
	p.options = newOptions(program, nil)
	if err := flagSet(p.options).Parse([]string{"--webhooks=a"}); err != nil {
		t.Fatal(err)
	}
	p.options.webhooks.secure.Listener = listenLocally(t)
	stop, err := p.serveWebhooks(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://"+p.options.webhooks.secure.Listener.Addr().String()+"/a", strings.NewReader(reviewRequest))
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
	p, ctx := newTestProcess(t, &fakeCloud{}, nil)
	program := ours
	program.Webhooks = admits(func(*admissionv1.AdmissionRequest) (*admissionv1.AdmissionResponse, error) { return nil, nil })
	p.options = newOptions(program, nil)
	if err := flagSet(p.options).Parse([]string{"--webhooks=a", "--webhook-tls-cert-file=" + dir + "/tls.crt", "--webhook-tls-private-key-file=" + dir + "/tls.key"}); err != nil {
		t.Fatal(err)
	}
	p.options.webhooks.secure.Listener = listenLocally(t)
	stop, err := p.serveWebhooks(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	if status, body := get(p.health.readyz, "/readyz/webhook-certificates"); status != 500 || !strings.Contains(body, "expired at ") {
		t.Errorf("got %d %s", status, body)
	}
}

func TestNoPortIsBoundWithoutWebhooks(t *testing.T) {
	p, ctx := newTestProcess(t, &fakeCloud{}, nil)
	stop, err := p.serveWebhooks(ctx)
	if err != nil {
		t.Fatal(err)
	}
	stop()
	if p.options.webhooks.secure.Listener != nil {
		t.Error("a port is bound although nothing is served")
	}
}
