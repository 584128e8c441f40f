package e2e

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fairlead-k8s/fairlead/test/internal/bed"
	"github.com/fairlead-k8s/fairlead/test/internal/daemon"
	"github.com/fairlead-k8s/fairlead/test/internal/expect"
)

const (
	mostMemory = 64 << 20  // that callers can make the daemon use
	mostLog    = 512 << 10 // that callers can make it log in an attack
	bystander  = 5 * time.Second
)

// portAttack is what somebody who reaches a port of the daemon may try.
type portAttack struct {
	name string
	on   string // the port
	run  func(a *attackers, t *testing.T)
}

var portAttacks = []portAttack{
	{"HeadersOfManyStreams", "webhooks", func(a *attackers, t *testing.T) { a.floodStreams(t, flood{4, 95, 56, 16_000, "", "POST", "/test"}) }},
	{"HeadersOfManyStreams", "secure", func(a *attackers, t *testing.T) {
		a.floodStreams(t, flood{4, 95, 56, 16_000, a.token, "POST", "/test"})
	}},
	{"HeadersOfManyFields", "webhooks", func(a *attackers, t *testing.T) { a.floodStreams(t, flood{60, 8, 450, 0, "", "POST", "/test"}) }},
	{"HeadersOfManyFields", "secure", func(a *attackers, t *testing.T) { a.floodStreams(t, flood{60, 8, 450, 0, "", "POST", "/test"}) }},
	{"HeadersThatNeverEnd", "webhooks", (*attackers).neverEnd},
	{"HeadersThatNeverEnd", "secure", (*attackers).neverEnd},
	{"IdleConnectionsOf128Addresses", "webhooks", (*attackers).idle},
	{"IdleConnectionsOf128Addresses", "secure", (*attackers).idle},
	{"CertificatesWithLongNames", "secure", (*attackers).longCertificates},
	{"BrokenProtocol", "webhooks", (*attackers).breakProtocol},
	{"BrokenProtocol", "secure", (*attackers).breakProtocol},
	{"BodiesThatNeverEnd", "webhooks", (*attackers).bodies},
	{"ListsOfEmptyNames", "webhooks", (*attackers).emptyNames},
	{"LargeReviews", "webhooks", (*attackers).largeReviews},
	{"ReviewsThatStop", "webhooks", (*attackers).reviewsThatStop},
	{"LongChainsOfCertificates", "secure", (*attackers).longChains},
	{"CertificatesOfManyNames", "secure", (*attackers).manyNames},
	{"OffersOfManyProtocols", "webhooks", (*attackers).manyProtocols},
	{"CallersThatHangUp", "secure", (*attackers).hangUp},
	{"PathsThatAreRemembered", "secure", (*attackers).oddPaths},
	{"MetricsThatNobodyReads", "secure", (*attackers).metrics},
	{"InventedTokens", "secure", (*attackers).tokens},
	{"InventedPaths", "secure", (*attackers).paths},
}

// TestAttacks runs the attacks on the ports against the daemon. None of them may take much
// memory or log, and a probe from another address must be answered during each of them.
func TestAttacks(t *testing.T) {
	b := onShared(t)
	cloud := b.NewCloud(t)
	webhooks := daemon.FreePort(t)
	authority := newCertificate(t, "authority").file(t)
	d := b.Daemon(t, daemon.Setup{Provider: "modern", Cloud: cloud.URL, Flags: []string{
		"--webhooks=*", "--webhook-bind-address=127.0.0.1", "--webhook-secure-port=" + strconv.Itoa(webhooks), "--client-ca-file=" + authority,
	}})
	joins(t, b, cloud, expect.Soon)
	token := newScraper(t, b).token
	bound(t, d, 512<<20)
	const review = `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"u","object":"%s"}}`
	small, large := fmt.Sprintf(review, ""), fmt.Sprintf(review, strings.Repeat("a", 100_000))
	for _, attack := range portAttacks {
		port := map[string]int{"webhooks": webhooks, "secure": d.Port}[attack.on]
		t.Run(attack.name+"/"+attack.on, func(t *testing.T) {
			a := &attackers{ctx: t.Context(), port: port, token: token}
			defer a.leave()
			for _, body := range []string{small, large} { // Whoever was answered before keeps its place.
				if err := a.probe(http.MethodPost, webhooks, "/test", body); err != nil {
					t.Fatal(err)
				}
			}
			before, logged := usage(t, d), len(d.Log())
			attack.run(a, t)
			var waited time.Duration // by the one of the bystanders that waited for longest
			began := time.Now()
			if err := a.probe(http.MethodGet, d.Port, "/healthz", ""); err != nil {
				t.Errorf("during the attack, a probe of the secure port fails: %v", err)
			}
			waited = time.Since(began)
			for _, body := range []string{small, large} {
				began = time.Now()
				if err := a.probe(http.MethodPost, webhooks, "/test", body); err != nil {
					t.Errorf("during the attack, a request of %d bytes to the webhooks fails: %v", len(body), err)
				}
				waited = max(waited, time.Since(began))
			}
			memory, log := usage(t, d)-before, len(d.Log())-logged
			result := "held"
			if memory > mostMemory || log > mostLog || waited > bystander || t.Failed() {
				result = "NOT HELD"
				t.Errorf("%d MB of memory, %d kB of log, others waited for %v; want at most %d, %d and %v", memory>>20, log>>10, waited, mostMemory>>20, mostLog>>10, bystander)
			}
			t.Logf("%-30s %-9s %-8s memory %+d MB, log %d kB, others waited for %.2f s", attack.name, attack.on, result, memory>>20, log>>10, waited.Seconds())
		})
	}
	if peak, err := d.Usage(); err != nil || peak.Peak > 512<<20 {
		t.Errorf("the daemon has used %d MB (%v), and has 512 MiB in the chart", peak.Peak>>20, err)
	}
}

// bound gives the daemon so much memory, where this machine lets the test.
func bound(t *testing.T, d *daemon.Daemon, limit int) {
	t.Helper()
	all, file := "/sys/fs/cgroup", "memory.max"
	if _, err := os.Stat(filepath.Join(all, "memory")); err == nil { // the first version of control groups
		all, file = filepath.Join(all, "memory"), "memory.limit_in_bytes"
	}
	group, pid := filepath.Join(all, "fairlead-"+strconv.Itoa(d.PID())), strconv.Itoa(d.PID())
	err := os.Mkdir(group, 0o700)
	if err == nil {
		t.Cleanup(func() { _, _ = writeTo(all, "cgroup.procs", pid), os.Remove(group) })
		err = writeTo(group, file, strconv.Itoa(limit))
	}
	if err == nil {
		err = writeTo(group, "cgroup.procs", pid)
	}
	if err != nil {
		t.Logf("the memory is measured, and not bounded: %v", err)
	}
}

// writeTo writes to a file of a control group, which the kernel has made.
func writeTo(group, file, text string) error {
	f, err := os.OpenFile(filepath.Join(group, file), os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}

// usage returns the memory of the daemon now.
func usage(t *testing.T, d *daemon.Daemon) int64 {
	t.Helper()
	used, err := d.Usage()
	if err != nil {
		t.Fatal(err)
	}
	return used.Resident
}

// attackers are clients of one port, and their connections.
type attackers struct {
	ctx   context.Context
	port  int
	token string // of an account that may read only metrics

	mu   sync.Mutex
	open []net.Conn // guarded by mu
}

func (a *attackers) leave() {
	for _, c := range a.open {
		_ = c.Close()
	}
}

// dial opens a connection from an address of this machine.
func (a *attackers) dial(t *testing.T, from byte, config *tls.Config) *tls.Conn {
	t.Helper()
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 9, from)}, Timeout: 10 * time.Second}
	plain, err := dialer.DialContext(a.ctx, "tcp", "127.0.0.1:"+strconv.Itoa(a.port))
	if err != nil {
		t.Fatal(err)
	}
	a.mu.Lock()
	a.open = append(a.open, plain)
	a.mu.Unlock()
	config.InsecureSkipVerify = true // the daemon's certificate is self-signed
	return tls.Client(plain, config)
}

// probe makes a request as the kubelet and the API server do, from another address.
func (a *attackers) probe(method string, port int, path, body string) error {
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 8, 1)}}
	client := http.Client{Timeout: 20 * time.Second, Transport: &http.Transport{
		DisableKeepAlives: true, DialContext: dialer.DialContext, TLSClientConfig: &tls.Config{InsecureSkipVerify: true},
	}}
	request, err := http.NewRequestWithContext(a.ctx, method, fmt.Sprintf("https://127.0.0.1:%d%s", port, path), strings.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK {
		err = fmt.Errorf("status %d", response.StatusCode)
	}
	return errors.Join(err, response.Body.Close())
}

// flood is what floodStreams sends: on each connection so many streams, with so many fields
// of so many bytes in each header.
type flood struct {
	connections byte
	streams     uint32
	fields      int
	size        int
	token       string
	method      string
	path        string
}

// metrics asks for the metrics as often as possible, compressed.
func (a *attackers) metrics(t *testing.T) {
	t.Helper()
	a.floodStreams(t, flood{60, 8, 0, 0, a.token, "GET", "/metrics"})
}

// floodStreams opens streams with large headers, as many as HTTP/2 lets it, and reads no answer.
func (a *attackers) floodStreams(t *testing.T, f flood) {
	frame := func(kind, flags byte, stream uint32, payload []byte) []byte {
		header := []byte{byte(len(payload) >> 16), byte(len(payload) >> 8), byte(len(payload)), kind, flags}
		return append(binary.BigEndian.AppendUint32(header, stream), payload...)
	}
	literal := func(name, value string) []byte { // without an index
		field := []byte{0}
		for _, text := range []string{name, value} {
			field = append(integer(field, len(text)), text...)
		}
		return field
	}
	for n := range f.connections {
		c := a.dial(t, 1+n, &tls.Config{NextProtos: []string{"h2"}})
		if err := c.HandshakeContext(a.ctx); err != nil || c.ConnectionState().NegotiatedProtocol != "h2" {
			continue // It is not offered.
		}
		go func() { _, _ = io.Copy(io.Discard, c) }()
		var all bytes.Buffer
		all.WriteString("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
		all.Write(frame(4, 0, 0, []byte{0, 4, 0, 0, 0, 0})) // no answer can be sent
		for stream := range f.streams {
			fields := [][]byte{literal(":method", f.method), literal(":scheme", "https"), literal(":path", f.path), literal(":authority", "a")}
			if f.token != "" {
				fields = append(fields, literal("authorization", "Bearer "+f.token), literal("accept-encoding", "gzip"))
			}
			for k := range f.fields {
				fields = append(fields, literal(strconv.FormatInt(int64(k), 36), strings.Repeat("a", f.size)))
			}
			block := bytes.Join(fields, nil)
			kind, flags := byte(1), byte(0)
			for len(block) > 0 {
				part := block[:min(len(block), 16_000)]
				if block = block[len(part):]; len(block) == 0 {
					flags = 4 // the end of the header
				}
				all.Write(frame(kind, flags, 2*stream+1, part))
				kind = 9
			}
			_ = c.SetWriteDeadline(time.Now().Add(2 * time.Second))
			if _, err := c.Write(all.Bytes()); err != nil {
				break // The server has closed the connection.
			}
			all.Reset()
		}
	}
	time.Sleep(time.Second)
}

// integer appends the length of a string in HPACK, with 7 bits in the first byte.
func integer(to []byte, n int) []byte {
	if n < 127 {
		return append(to, byte(n))
	}
	to, n = append(to, 127), n-127
	for ; n >= 128; n /= 128 {
		to = append(to, byte(n%128)|128)
	}
	return append(to, byte(n))
}

// neverEnd sends headers of many short fields, as long as the server reads.
func (a *attackers) neverEnd(t *testing.T) {
	var fields strings.Builder
	for n := range 100_000 {
		fmt.Fprintf(&fields, "%x:\r\n", n)
	}
	var all sync.WaitGroup
	for n := range byte(128) {
		c := a.dial(t, 1+n, &tls.Config{NextProtos: []string{"http/1.1"}})
		all.Go(func() {
			_ = c.SetWriteDeadline(time.Now().Add(2 * time.Second))
			_, _ = fmt.Fprint(c, "GET /healthz HTTP/1.1\r\nHost: a\r\n"+fields.String())
		})
	}
	all.Wait()
}

func (a *attackers) idle(t *testing.T) {
	for n := range byte(128) {
		_ = a.dial(t, 1+n, &tls.Config{}).HandshakeContext(a.ctx)
	}
}

// longCertificates makes requests with certificates of an unknown authority. The error
// about them quotes what the caller has chosen.
func (a *attackers) longCertificates(t *testing.T) {
	t.Helper()
	c := newCertificate(t, strings.Repeat("a", 6000))
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true, GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &c.Certificate, nil }}}
	defer transport.CloseIdleConnections()
	a.requests(t, transport, 2000, func(*http.Request) {})
}

func (a *attackers) tokens(t *testing.T) {
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}
	defer transport.CloseIdleConnections()
	n := 0
	a.requests(t, transport, 2000, func(r *http.Request) {
		n++
		r.Header.Set("Authorization", "Bearer "+strconv.Itoa(n))
	})
}

func (a *attackers) paths(t *testing.T) {
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}
	defer transport.CloseIdleConnections()
	n := 0
	a.requests(t, transport, 2000, func(r *http.Request) {
		n++
		r.URL.Path = "/" + strconv.Itoa(n)
		r.Header.Set("Authorization", "Bearer "+a.token)
	})
}

// requests makes requests one after the other, whatever their answers are.
func (a *attackers) requests(t *testing.T, transport *http.Transport, n int, change func(*http.Request)) {
	client := http.Client{Transport: transport, Timeout: 10 * time.Second}
	for range n {
		request, err := http.NewRequestWithContext(a.ctx, http.MethodGet, fmt.Sprintf("https://127.0.0.1:%d/metrics", a.port), nil)
		if err != nil {
			t.Fatal(err)
		}
		change(request)
		if response, err := client.Do(request); err == nil {
			_, _ = io.Copy(io.Discard, response.Body)
			_ = response.Body.Close()
		}
	}
}

// breakProtocol sends what is no TLS, and what is no HTTP/2 or HTTP/1.1.
func (a *attackers) breakProtocol(t *testing.T) {
	for n := range 1260 {
		c := a.dial(t, byte(1+n%128), &tls.Config{NextProtos: []string{[]string{"h2", "http/1.1"}[n%2]}})
		_ = c.SetDeadline(time.Now().Add(time.Second))
		switch n % 4 {
		case 0:
			_, _ = c.Write([]byte("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + strings.Repeat("\xff", 1000)))
		case 1:
			_, _ = c.Write([]byte("\x1b[2J" + strings.Repeat("nonsense ", 100) + "\r\n\r\n"))
		default:
			_, _ = c.NetConn().Write([]byte(strings.Repeat("nonsense", 100)))
		}
		_ = c.Close()
	}
}

// bodies sends requests whose bodies stop in the middle.
func (a *attackers) bodies(t *testing.T) {
	for n := range byte(128) {
		c := a.dial(t, 1+n, &tls.Config{NextProtos: []string{"http/1.1"}})
		_ = c.SetDeadline(time.Now().Add(time.Second))
		_, _ = fmt.Fprintf(c, "POST /test HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n{\"%s", 3<<20, strings.Repeat("a", 1<<20))
	}
}

// emptyNames sends small texts that are large lists in memory.
func (a *attackers) emptyNames(t *testing.T) {
	t.Helper()
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, MaxConnsPerHost: 60}
	defer transport.CloseIdleConnections()
	client := http.Client{Transport: transport, Timeout: 10 * time.Second}
	body := `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"u","userInfo":{"groups":["a"` + strings.Repeat(`,""`, 900_000) + `]}}}`
	var all sync.WaitGroup
	for range 60 {
		all.Go(func() {
			request, err := http.NewRequestWithContext(a.ctx, http.MethodPost, fmt.Sprintf("https://127.0.0.1:%d/test", a.port), strings.NewReader(body))
			if err != nil {
				t.Error(err)
				return
			}
			request.Header.Set("Content-Type", "application/json")
			if response, err := client.Do(request); err == nil {
				_ = response.Body.Close()
			}
		})
	}
	all.Wait()
}

// largeReviews sends as many requests as it can that take long to decode.
func (a *attackers) largeReviews(t *testing.T) {
	t.Helper()
	body := `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"u","object":[` + strings.Repeat("1,", 1_500_000) + `1]}}`
	for n := range byte(40) {
		dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 9, 1+n)}}
		transport := &http.Transport{DialContext: dialer.DialContext, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}
		client := http.Client{Transport: transport, Timeout: 10 * time.Second}
		go func() {
			defer transport.CloseIdleConnections()
			for a.ctx.Err() == nil { // until the subtest ends
				response, err := client.Post(fmt.Sprintf("https://127.0.0.1:%d/test", a.port), "application/json", strings.NewReader(body)) //nolint:noctx // It ends soon.
				if err == nil {
					_ = response.Body.Close()
				}
			}
		}()
	}
	time.Sleep(2 * time.Second)
}

// reviewsThatStop begins requests of both sizes from many addresses again and again.
func (a *attackers) reviewsThatStop(t *testing.T) {
	t.Helper()
	for n := range byte(60) {
		go func() {
			for a.ctx.Err() == nil { // until the subtest ends
				dialer := tls.Dialer{NetDialer: &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 9, 1+n)}}, Config: &tls.Config{InsecureSkipVerify: true}}
				c, err := dialer.DialContext(a.ctx, "tcp", "127.0.0.1:"+strconv.Itoa(a.port))
				if err != nil {
					continue
				}
				_, _ = fmt.Fprintf(c, "POST /test HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n{", []int{60_000, 3_000_000}[n%2])
				_, _ = c.Read(make([]byte, 1)) // until the answer, or the end of the connection
				_ = c.Close()
			}
		}()
	}
	time.Sleep(2 * time.Second)
}

// longChains presents more certificates than anybody needs. Each takes CPU time.
func (a *attackers) longChains(t *testing.T) {
	t.Helper()
	c := newCertificate(t, "a")
	c.Certificate.Certificate = slices.Repeat(c.Certificate.Certificate, 300)
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true, GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &c.Certificate, nil }}}
	defer transport.CloseIdleConnections()
	a.requests(t, transport, 300, func(*http.Request) {})
}

// manyNames keeps connections open with certificates of very many short names.
func (a *attackers) manyNames(t *testing.T) {
	t.Helper()
	for _, names := range []int{4000, 29_000, 130_000} {
		c := newCertificate(t, "a", slices.Repeat([]*url.URL{{}}, names)...)
		var all sync.WaitGroup
		for n := range byte(60) {
			conn := a.dial(t, 1+n, &tls.Config{GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &c.Certificate, nil }})
			all.Go(func() { _ = conn.HandshakeContext(a.ctx) })
		}
		all.Wait()
	}
}

// manyProtocols begins handshakes with offers of very many protocols, again and again.
func (a *attackers) manyProtocols(t *testing.T) {
	t.Helper()
	protocols := append(slices.Repeat([]string{"a"}, 30_000), "h2")
	for range 5 {
		var all sync.WaitGroup
		for n := range byte(60) {
			conn := a.dial(t, 1+n, &tls.Config{NextProtos: protocols})
			all.Go(func() { _ = conn.HandshakeContext(a.ctx) })
		}
		all.Wait()
	}
}

// hangUp makes requests with long paths, and reads no answer.
func (a *attackers) hangUp(t *testing.T) {
	t.Helper()
	for n := range 500 {
		c := a.dial(t, byte(1+n%128), &tls.Config{NextProtos: []string{"http/1.1"}})
		_ = c.SetDeadline(time.Now().Add(time.Second))
		for range 8 {
			_, _ = fmt.Fprintf(c, "GET /%s HTTP/1.1\r\nHost: a\r\n\r\n", strings.Repeat("a", 8000))
		}
		_ = c.NetConn().(*net.TCPConn).SetLinger(0)
		_ = c.NetConn().Close()
	}
}

// oddPaths asks for paths whose characters take six bytes where they are remembered.
func (a *attackers) oddPaths(t *testing.T) {
	t.Helper()
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}
	defer transport.CloseIdleConnections()
	n := 0
	a.requests(t, transport, 300, func(r *http.Request) {
		n++
		r.URL.Path = "/" + strconv.Itoa(n) + strings.Repeat("\x00", 4000)
		time.Sleep(10 * time.Millisecond)
	})
}

// certificate is a self-signed certificate of an authority of its own.
type certificate struct{ tls.Certificate }

func newCertificate(t *testing.T, keyID string, names ...*url.URL) certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		URIs: names, IsCA: true, BasicConstraintsValid: true, SubjectKeyId: []byte(keyID), AuthorityKeyId: []byte(keyID),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	return certificate{tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}}
}

// file writes the certificate to a file.
func (c certificate) file(t *testing.T) string {
	t.Helper()
	return bed.WriteFile(t, filepath.Join(t.TempDir(), "authority.pem"), string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Certificate.Certificate[0]})))
}
