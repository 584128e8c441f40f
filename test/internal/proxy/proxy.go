// Package proxy is an HTTP proxy between a program and a server. A test can trap
// one request, such as the n-th of a kind. The test can hold the request, cut the
// connection before the request reaches the server, or lose the reply. All other
// requests pass through, including watches.
//
// A held request is independent of its sender: when the test releases it, it goes
// to the server even if the sender has given up or has died. A slow network or
// server behaves in the same way.
package proxy

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"time"

	"k8s.io/utils/clock"
)

// Proxy is a proxy of one server. Its methods are safe for concurrent use.
type Proxy struct {
	url    string
	ca     []byte // nil: serves http
	server *http.Server
	back   *http.Transport
	book   book
	ended  chan struct{} // closed when Serve has returned
}

// Start starts a proxy of the server at the URL. The proxy serves on a free
// loopback port. It uses TLS if the server does. In that case, serverCA (PEM) must
// have signed the server's certificate.
func Start(ctx context.Context, server string, serverCA []byte) (*Proxy, error) {
	target, err := url.Parse(server)
	if err != nil {
		return nil, fmt.Errorf("proxy: %w", err)
	}
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("proxy: %w", err)
	}
	p := &Proxy{url: target.Scheme + "://" + listener.Addr().String(), book: book{clock: clock.RealClock{}}, ended: make(chan struct{})}
	p.back = &http.Transport{ForceAttemptHTTP2: true, MaxIdleConnsPerHost: 100}
	p.server = &http.Server{Handler: p.handler(target), ErrorLog: silent(), ReadHeaderTimeout: time.Minute}
	serve := func() error { return p.server.Serve(listener) }
	if target.Scheme == "https" {
		if err := p.secure(serverCA); err != nil {
			return nil, errors.Join(err, listener.Close())
		}
		serve = func() error { return p.server.ServeTLS(listener, "", "") }
	}
	go func() {
		defer close(p.ended)
		_ = serve() // The error does not matter: only Close ends it.
	}()
	return p, nil
}

func (p *Proxy) secure(serverCA []byte) error {
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(serverCA) {
		return errors.New("proxy: the server's CA is not a PEM certificate")
	}
	p.back.TLSClientConfig = &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
	certificate, ca, err := selfSigned(p.book.clock.Now())
	if err != nil {
		return err
	}
	p.ca = ca
	p.server.TLSConfig = &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12}
	return nil
}

// URL returns the URL of the proxy.
func (p *Proxy) URL() string { return p.url }

// CA returns the certificate authority (PEM) of the proxy for its clients, or nil
// for http.
func (p *Proxy) CA() []byte { return p.ca }

// Close cuts all connections and ends the proxy.
func (p *Proxy) Close() error {
	p.book.cutAll()
	err := p.server.Close()
	<-p.ended
	p.back.CloseIdleConnections()
	return err
}

type trapKey struct{}

func (p *Proxy) handler(target *url.URL) http.Handler {
	forward := &httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(target) },
		Transport:     p.back,
		FlushInterval: -1, // a watch must not wait for a full buffer
		ErrorLog:      silent(),
		ModifyResponse: func(answer *http.Response) error {
			t, ok := answer.Request.Context().Value(trapKey{}).(*Trap)
			if !ok {
				return nil
			}
			return t.holdReply()
		},
		// If the request to the server fails, the client's connection breaks, too.
		ErrorHandler: func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		entry, trap := p.book.enter(r)
		defer p.book.leave(entry)
		if serve := p.book.changed(r); serve != nil {
			serve(w, r, forward)
			return
		}
		if trap == nil {
			forward.ServeHTTP(w, r)
			return
		}
		r, done := detached(r)
		defer done()
		if trap.at == Before && !trap.spring() {
			panic(http.ErrAbortHandler)
		}
		if trap.at == After {
			r = r.WithContext(context.WithValue(r.Context(), trapKey{}, trap)) //nolint:contextcheck // the request must not end with its sender
		}
		forward.ServeHTTP(w, r)
	})
}

// detached returns a copy of the request. The copy continues even after the sender has
// gone.
func detached(r *http.Request) (free *http.Request, done context.CancelFunc) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler) // The sender has not sent the whole body.
	}
	// WithoutCancel alone is not enough: if the context of a request cannot be
	// canceled, ReverseProxy ends the request when its sender has gone.
	ctx, done := context.WithCancel(context.WithoutCancel(r.Context()))
	free = r.WithContext(ctx)
	free.Body = io.NopCloser(bytes.NewReader(body))
	return free, done
}

func silent() *log.Logger { return log.New(io.Discard, "", 0) }

// selfSigned makes a certificate for 127.0.0.1 that is its own CA.
func selfSigned(now time.Time) (certificate tls.Certificate, ca []byte, err error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return certificate, nil, fmt.Errorf("key of the proxy: %w", err)
	}
	const day = 24 * time.Hour
	template := &x509.Certificate{
		SerialNumber:          big.NewInt(1),
		Subject:               pkix.Name{CommonName: "proxy"},
		NotBefore:             now.Add(-day),
		NotAfter:              now.Add(day),
		IPAddresses:           []net.IP{net.IPv4(127, 0, 0, 1)},
		KeyUsage:              x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage:           []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		IsCA:                  true,
		BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return certificate, nil, fmt.Errorf("certificate of the proxy: %w", err)
	}
	ca = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, ca, nil
}
