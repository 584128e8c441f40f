package serving

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode"

	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/textlogger"
)

// pipes is a listener in memory. Real connections would not follow the fake time of
// testing/synctest.
type pipes chan net.Conn

func (p pipes) Accept() (net.Conn, error) {
	if c, ok := <-p; ok {
		return c, nil
	}
	return nil, net.ErrClosed
}

func (p pipes) Close() error { close(p); return nil }

func (pipes) Addr() net.Addr { return &net.TCPAddr{} }

// from is a connection from a host.
type from struct {
	net.Conn

	host string
}

// RemoteAddr implements net.Conn.
func (f from) RemoteAddr() net.Addr { return &net.UnixAddr{Name: f.host} }

// call sends the header of a request and a body. The body may be shorter than the
// length in the header. The returned channel gets the status of the answer.
func (p pipes) call(length int, body string) <-chan int { return p.callFrom("a", length, body) }

// callFrom is call from another host.
func (p pipes) callFrom(host string, length int, body string) <-chan int {
	client, server := net.Pipe()
	p <- from{server, host}
	status := make(chan int, 1)
	go func() {
		_, _ = fmt.Fprintf(client, "POST /a HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", length, body)
	}()
	go func() {
		defer func() { _ = client.Close() }()
		response, err := http.ReadResponse(bufio.NewReader(client), nil)
		if err != nil {
			status <- 0
			return
		}
		_ = response.Body.Close()
		status <- response.StatusCode
	}()
	return status
}

// serveUntilClosed serves until the returned function is called. That function
// waits for the goroutines of the connections.
func serveUntilClosed(s *http.Server, l net.Listener) (closed func()) {
	go func() { _ = s.Serve(l) }()
	return func() {
		_ = s.Close()
		time.Sleep(time.Minute)
		synctest.Wait()
	}
}

// largeReview has one of the few places for large requests.
var largeReview = `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"u","object":"` + strings.Repeat("a", smallReview) + `"}}`

// TestCallersThatStop sends requests that stop in the middle. Each could occupy
// memory of the server for ever.
func TestCallersThatStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		listener := make(pipes)
		server := &http.Server{ReadHeaderTimeout: time.Minute, Handler: webhookHandler(admits(func(*admissionv1.AdmissionRequest) (*admissionv1.AdmissionResponse, error) {
			return &admissionv1.AdmissionResponse{Allowed: true}, nil
		}), newWebhookMetrics(registerAnew))}
		defer serveUntilClosed(server, listener)()

		var stopped []<-chan int
		for range 3 * reviewsAtOnce {
			stopped = append(stopped, listener.call(reviewLimit, `{"kind":"`+strings.Repeat("a", 1000)))
		}
		synctest.Wait()
		began := time.Now()
		if got := <-listener.callFrom("b", len(largeReview), largeReview); got != http.StatusOK {
			t.Errorf("while requests that stop have all places: got %d", got)
		}
		if waited := time.Since(began); waited != hurriedTimeout {
			t.Errorf("waited for %v, want no more than the %v of those that were first", waited, hurriedTimeout)
		}
		for _, s := range stopped {
			if got := <-s; got != http.StatusTooManyRequests {
				t.Errorf("a request that stops: got %d", got)
			}
		}
		if waited := time.Since(began); waited > 2*hurriedTimeout+readTimeout {
			t.Errorf("requests that stop kept their places for %v", waited)
		}
	})
}

// TestAllPlacesAnswer checks that a request keeps its place once it has arrived, and that
// large requests take no places of small ones, nor small ones those of large ones.
func TestAllPlacesAnswer(t *testing.T) {
	for _, tt := range []struct {
		name, body, other string
		places            int
	}{
		{"Small", reviewRequest, largeReview, smallAtOnce},
		{"Large", largeReview, reviewRequest, reviewsAtOnce},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				listener := make(pipes)
				goOn := make(chan struct{})
				server := &http.Server{ReadHeaderTimeout: time.Minute, Handler: webhookHandler(admits(func(*admissionv1.AdmissionRequest) (*admissionv1.AdmissionResponse, error) {
					<-goOn
					return &admissionv1.AdmissionResponse{Allowed: true}, nil
				}), newWebhookMetrics(registerAnew))}
				defer serveUntilClosed(server, listener)()
				var answered []<-chan int
				for range tt.places {
					answered = append(answered, listener.call(len(tt.body), tt.body))
				}
				synctest.Wait()
				if got := <-listener.call(len(tt.body), tt.body); got != http.StatusTooManyRequests {
					t.Errorf("while all places are taken: got %d", got)
				}
				answered = append(answered, listener.call(len(tt.other), tt.other))
				close(goOn)
				for _, a := range answered {
					if got := <-a; got != http.StatusOK {
						t.Errorf("a request that had arrived: got %d", got)
					}
				}
				if got := <-listener.call(len(tt.body), tt.body); got != http.StatusOK {
					t.Errorf("once all are answered: got %d", got)
				}
			})
		})
	}
}

// TestHostsTakeTurns checks that a host which calls from time to time is answered next,
// however many requests of how many others wait.
func TestHostsTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		listener := make(pipes)
		server := &http.Server{ReadHeaderTimeout: time.Minute, Handler: webhookHandler(admits(func(*admissionv1.AdmissionRequest) (*admissionv1.AdmissionResponse, error) {
			time.Sleep(time.Second)
			return &admissionv1.AdmissionResponse{Allowed: true}, nil
		}), newWebhookMetrics(registerAnew))}
		defer serveUntilClosed(server, listener)()
		call := func(host string) <-chan int { return listener.callFrom(host, len(largeReview), largeReview) }
		began := time.Now()
		if got := <-call("api-server"); got != http.StatusOK { // takes a second
			t.Fatalf("got %d", got)
		}
		for range 2 {
			for n := range 3 * reviewsAtOnce {
				call(fmt.Sprint("other-", n))
			}
		}
		synctest.Wait()
		if got := <-call("api-server"); got != http.StatusOK {
			t.Errorf("got %d", got)
		}
		if waited := time.Since(began); waited != 3*time.Second {
			t.Errorf("answered after %v, want the next turn, which ends after 3s", waited)
		}
	})
}

// TestSlowWebhookKeepsItsContext checks that the time limit for the arrival of a
// request does not limit the answer.
func TestSlowWebhookKeepsItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		listener := make(pipes)
		slow := []Webhook{{Name: "a", Path: "/a", Admit: func(ctx context.Context, _ *admissionv1.AdmissionRequest) (*admissionv1.AdmissionResponse, error) {
			time.Sleep(2 * readTimeout)
			return &admissionv1.AdmissionResponse{Allowed: true}, ctx.Err()
		}}}
		server := &http.Server{ReadHeaderTimeout: time.Minute, Handler: webhookHandler(slow, newWebhookMetrics(registerAnew))}
		defer serveUntilClosed(server, listener)()
		if got := <-listener.call(len(reviewRequest), reviewRequest); got != http.StatusOK {
			t.Errorf("got %d", got)
		}
	})
}

// A caller without a certificate does not occupy a connection for ever with a body that
// never ends.
func TestRefusedCallersThatStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		listener := make(pipes)
		server := &http.Server{Handler: onlyFor(authenticator.RequestFunc(func(*http.Request) (*authenticator.Response, bool, error) { return nil, false, nil }), http.NotFoundHandler())}
		defer serveUntilClosed(server, listener)()
		answered := listener.call(len(reviewRequest), "{")
		time.Sleep(readTimeout)
		synctest.Wait()
		select {
		case got := <-answered:
			if got != http.StatusUnauthorized {
				t.Errorf("got %d", got)
			}
		default:
			t.Error("the server still waits for the body")
		}
	})
}

// TestHostileCallers sends texts that could forge lines of the log, control a
// terminal, or cause an answer as large as the request.
func TestHostileCallers(t *testing.T) {
	const forged = `\nE1122 10:00:00.000000 1 forged.go:1] \u001b[2J\u202eforged\r`
	hostile := forged + strings.Repeat("a", reviewLimit-1000)
	unescaped := strings.NewReplacer(`\n`, "\n", `\u001b`, "\x1b", `\u202e`, "\u202e", `\r`, "\r").Replace(hostile)
	for name, tc := range map[string]struct{ kind, body string }{
		"Kind":        {"application/json", `{"apiVersion":"v1","kind":"` + hostile + `"}`},
		"APIVersion":  {"application/json", `{"apiVersion":"` + hostile + `","kind":"AdmissionReview"}`},
		"Number":      {"application/json", `{"kind":` + strings.Repeat("1", reviewLimit-1000) + `}`},
		"ContentType": {unescaped, reviewRequest},
		"Error":       {"application/json", reviewRequest},
	} {
		t.Run(name, func(t *testing.T) {
			var log bytes.Buffer
			logger := textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(&log)))
			request := httptest.NewRequestWithContext(klog.NewContext(t.Context(), logger), http.MethodPost, "/a", strings.NewReader(tc.body))
			request.Header.Set("Content-Type", tc.kind)
			w := httptest.NewRecorder()
			all := admits(func(*admissionv1.AdmissionRequest) (*admissionv1.AdmissionResponse, error) {
				return nil, errors.New(unescaped)
			})
			webhookHandler(all, newWebhookMetrics(registerAnew)).ServeHTTP(w, request)
			for what, text := range map[string]string{"answer": w.Body.String(), "log": log.String()} {
				line, rest, _ := strings.Cut(text, "\n")
				if len(text) > 2000 || line == "" || rest != "" || strings.ContainsFunc(line, unicode.IsControl) || strings.ContainsRune(line, '\u202e') {
					t.Errorf("%s of %d bytes: %.300q", what, len(text), text)
				}
			}
		})
	}
}

func TestClientCertificateOfWebhooks(t *testing.T) {
	dir := t.TempDir()
	known, unknown := newKeyPair(t, 1, nil), newKeyPair(t, 2, nil)
	known.write(t, dir)
	c := webhooks(t, admits(func(*admissionv1.AdmissionRequest) (*admissionv1.AdmissionResponse, error) {
		return &admissionv1.AdmissionResponse{Allowed: true}, nil
	}), "--webhooks=a", "--webhook-client-ca-file="+filepath.Join(dir, "tls.crt"))
	c.Secure.Listener = listenLocally(t)
	stop, err := ServeWebhooks(t.Context(), c, newTestHealth(t), registerAnew)
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	for _, tc := range []struct {
		name string
		with *keyPair
		want int
	}{
		{"NoCertificate", nil, http.StatusUnauthorized},
		{"CertificateOfAnotherAuthority", &unknown, http.StatusUnauthorized},
		{"CertificateOfTheAuthority", &known, http.StatusOK},
	} {
		t.Run(tc.name, func(t *testing.T) {
			client := insecureClient()
			if tc.with != nil {
				pair, err := tls.X509KeyPair(tc.with.cert, tc.with.key)
				if err != nil {
					t.Fatal(err)
				}
				// The client presents this certificate even if the server asks for one of
				// another authority.
				client.Transport.(*http.Transport).TLSClientConfig.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &pair, nil }
			}
			request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://"+c.Secure.Listener.Addr().String()+"/a", strings.NewReader(reviewRequest))
			if err != nil {
				t.Fatal(err)
			}
			request.Header.Set("Content-Type", "application/json")
			response, err := client.Do(request)
			if err != nil {
				t.Fatal(err)
			}
			body, _ := io.ReadAll(response.Body)
			_ = response.Body.Close()
			if response.StatusCode != tc.want {
				t.Errorf("got %d %s", response.StatusCode, body)
			}
		})
	}
}

// A caller that reaches the port must not be able to fill the log. A failure of the
// webhook itself is always logged.
func TestFailuresAreRarelyLogged(t *testing.T) {
	var log bytes.Buffer
	logger := textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(&log)))
	all := admits(func(*admissionv1.AdmissionRequest) (*admissionv1.AdmissionResponse, error) {
		return nil, errors.New("down")
	})
	handler := webhookHandler(all, newWebhookMetrics(registerAnew))
	send := func(body string) {
		request := httptest.NewRequestWithContext(klog.NewContext(t.Context(), logger), http.MethodPost, "/a", strings.NewReader(body))
		request.Header.Set("Content-Type", "application/json")
		handler.ServeHTTP(httptest.NewRecorder(), request)
	}
	for _, body := range []string{"{", reviewRequest} { // The failures of callers hide none of the webhook.
		log.Reset()
		began := time.Now()
		for range 300 {
			send(body)
		}
		if n, most := bytes.Count(log.Bytes(), []byte("\n")), firstFailures+1+int(time.Since(began).Seconds()); n > most || n < firstFailures {
			t.Errorf("%d lines for 300 requests %s, want %d to %d", n, body, firstFailures, most)
		}
	}
}
