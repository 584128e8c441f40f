package proxy_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fairlead-k8s/fairlead/test/internal/proxy"
)

// server counts the requests that it carries out. It answers each request with the
// request's own path and body.
type server struct {
	*httptest.Server
	carriedOut atomic.Int64
}

func newServer(t *testing.T, start func(http.Handler) *httptest.Server) *server {
	s := &server{}
	s.Server = start(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		s.carriedOut.Add(1)
		_, _ = fmt.Fprintf(w, "%s %s", r.URL.Path, body)
	}))
	t.Cleanup(s.Close)
	return s
}

func start(t *testing.T, url string, ca []byte) *proxy.Proxy {
	t.Helper()
	p, err := proxy.Start(t.Context(), url, ca)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() })
	return p
}

// client makes a new connection for each request, because net/http silently
// repeats a request when a reused connection breaks.
func client(p *proxy.Proxy) *http.Client {
	transport := &http.Transport{DisableKeepAlives: true, ForceAttemptHTTP2: true}
	if p.CA() != nil {
		pool := x509.NewCertPool()
		pool.AppendCertsFromPEM(p.CA())
		transport.TLSClientConfig = &tls.Config{RootCAs: pool}
	}
	return &http.Client{Transport: transport}
}

// send sends "body" to /x and returns the answer.
func send(t *testing.T, p *proxy.Proxy, method string) (string, error) {
	return sendWith(t.Context(), p, method)
}

func sendWith(ctx context.Context, p *proxy.Proxy, method string) (string, error) {
	req, err := http.NewRequestWithContext(ctx, method, p.URL()+"/x", strings.NewReader("body"))
	if err != nil {
		return "", err
	}
	resp, err := client(p).Do(req)
	if err != nil {
		return "", err
	}
	defer func() { _ = resp.Body.Close() }()
	answer, err := io.ReadAll(resp.Body)
	return string(answer), err
}

func posts(r proxy.Request) bool { return r.Method == http.MethodPost }

func TestOnlyTheNthRequestIsTrapped(t *testing.T) {
	for _, tt := range []struct {
		name       string
		at         proxy.Point
		decide     func(*proxy.Trap)
		fails      bool
		carriedOut int64
	}{
		{"CutBeforeItNeverReachesTheServer", proxy.Before, (*proxy.Trap).Cut, true, 2},
		{"CutAfterItIsCarriedOutAndItsReplyIsLost", proxy.After, (*proxy.Trap).Cut, true, 3},
		{"ReleasedBeforeItIsAsIfNothingHadBeen", proxy.Before, (*proxy.Trap).Release, false, 3},
		{"ReleasedAfterItIsAsIfNothingHadBeen", proxy.After, (*proxy.Trap).Release, false, 3},
	} {
		for _, kind := range []struct {
			name  string
			start func(http.Handler) *httptest.Server
		}{{"HTTP", httptest.NewServer}, {"TLS", newTLS}} {
			t.Run(tt.name+"/"+kind.name, func(t *testing.T) {
				s := newServer(t, kind.start)
				p := start(t, s.URL, caOf(s))
				tt.decide(p.Trap(posts, 2, tt.at))
				if _, err := send(t, p, http.MethodGet); err != nil {
					t.Fatal(err)
				}
				s.carriedOut.Store(0)
				for n := 1; n <= 3; n++ {
					answer, err := send(t, p, http.MethodPost)
					if fails := tt.fails && n == 2; fails != (err != nil) {
						t.Errorf("request %d: answer %q, error %v, want failed = %v", n, answer, err, fails)
					} else if !fails && answer != "/x body" {
						t.Errorf("request %d: answer %q", n, answer)
					}
				}
				if got := s.carriedOut.Load(); got != tt.carriedOut {
					t.Errorf("the server has carried out %d, want %d", got, tt.carriedOut)
				}
				if got := len(p.Requests(posts)); got != 3 {
					t.Errorf("the proxy has seen %d, want 3", got)
				}
			})
		}
	}
}

func newTLS(h http.Handler) *httptest.Server {
	s := httptest.NewUnstartedServer(h)
	s.EnableHTTP2 = true
	s.StartTLS()
	return s
}

func caOf(s *server) []byte {
	if s.Certificate() == nil {
		return nil
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
}

func TestHeldRequestGoesOnWithoutItsSender(t *testing.T) {
	for _, tt := range []struct {
		name  string
		start func(http.Handler) *httptest.Server
	}{{"HTTP", httptest.NewServer}, {"TLS", newTLS}} {
		t.Run(tt.name, func(t *testing.T) {
			s := newServer(t, tt.start)
			p := start(t, s.URL, caOf(s))
			trap := p.Trap(posts, 1, proxy.Before)
			ctx, giveUp := context.WithCancel(t.Context())
			go func() {
				<-trap.Sprung()
				giveUp()
			}()
			if _, err := sendWith(ctx, p, http.MethodPost); err == nil {
				t.Fatal("the sender has not given up")
			}
			if n := s.carriedOut.Load(); n != 0 {
				t.Fatalf("the server has carried out %d while the request was held", n)
			}
			if r := p.Requests(posts)[0]; !r.Ended.IsZero() {
				t.Error("the request has ended while it is held")
			}
			trap.Release()
			await(t, func() bool { return s.carriedOut.Load() == 1 })
			await(t, func() bool { return !p.Requests(posts)[0].Ended.IsZero() })
		})
	}
}

func TestStreamsPassThrough(t *testing.T) {
	next := make(chan string)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for {
			select {
			case line := <-next:
				_, _ = fmt.Fprintln(w, line)
				w.(http.Flusher).Flush()
			case <-r.Context().Done():
				return
			}
		}
	}))
	defer s.Close()
	p := start(t, s.URL, nil)
	go func() { next <- "one" }()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, p.URL()+"/x?watch=true", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := client(p).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	lines := bufio.NewReader(resp.Body)
	for _, want := range []string{"one\n", "two\n"} {
		if want == "two\n" {
			next <- "two"
		}
		if got, err := lines.ReadString('\n'); got != want {
			t.Fatalf("line %q, error %v, want %q", got, err, want)
		}
	}
	if r := p.Requests(nil)[0]; !r.Watch {
		t.Errorf("%+v is not recorded as a watch", r)
	}
}

func TestCloseEndsWhatIsHeld(t *testing.T) {
	s := newServer(t, httptest.NewServer)
	p := start(t, s.URL, nil)
	trap := p.Trap(posts, 1, proxy.Before)
	failed := make(chan error, 1)
	go func() {
		_, err := send(t, p, http.MethodPost)
		failed <- err
	}()
	<-trap.Sprung()
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	if err := <-failed; err == nil {
		t.Error("the request has succeeded")
	}
	if n := s.carriedOut.Load(); n != 0 {
		t.Errorf("the server has carried out %d", n)
	}
}

func TestWithoutAServerTheConnectionIsCut(t *testing.T) {
	s := newServer(t, httptest.NewServer)
	p := start(t, s.URL, nil)
	s.Close()
	if answer, err := send(t, p, http.MethodPost); err == nil {
		t.Errorf("answer %q, want an error", answer)
	}
}

func await(t *testing.T, holds func() bool) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(time.Minute); !holds(); <-tick.C {
		if time.Now().After(deadline) {
			t.Fatal("it did not happen within a minute")
		}
	}
}
