package certificate

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"net"
	"net/url"
	"strings"
	"testing"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-k8s/fairlead/internal/controller/message"
)

var noon = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

// form has the parts of a request that a test can edit.
type form struct {
	template x509.CertificateRequest
	key      crypto.Signer
	edit     func(*certificatesv1.CertificateSigningRequest)
}

// csr returns the request that the kubelet of the Node "a" makes for its own
// names.
func csr(t testing.TB, edits ...func(*form)) *certificatesv1.CertificateSigningRequest {
	t.Helper()
	f := form{
		template: x509.CertificateRequest{
			Subject:     pkix.Name{CommonName: "system:node:a", Organization: []string{"system:nodes"}},
			DNSNames:    []string{"a"},
			IPAddresses: []net.IP{net.ParseIP("10.0.0.1")},
		},
		key: curve(t, elliptic.P256()),
	}
	for _, edit := range edits {
		edit(&f)
	}
	der, err := x509.CreateCertificateRequest(rand.Reader, &f.template, f.key)
	if err != nil {
		t.Fatal(err)
	}
	r := &certificatesv1.CertificateSigningRequest{
		ObjectMeta: metav1.ObjectMeta{Name: "csr-1", UID: "u-csr-1", CreationTimestamp: metav1.NewTime(noon.Add(-time.Second))},
		Spec: certificatesv1.CertificateSigningRequestSpec{
			SignerName: certificatesv1.KubeletServingSignerName,
			Username:   "system:node:a", Groups: []string{"system:nodes", "system:authenticated"},
			Usages:  []certificatesv1.KeyUsage{certificatesv1.UsageDigitalSignature, certificatesv1.UsageServerAuth},
			Request: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der}),
		},
	}
	if f.edit != nil {
		f.edit(r)
	}
	return r
}

func curve(t testing.TB, c elliptic.Curve) crypto.Signer {
	t.Helper()
	key, err := ecdsa.GenerateKey(c, rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func names(dns ...string) func(*form) { return func(f *form) { f.template.DNSNames = dns } }

func addresses(list ...string) func(*form) {
	return func(f *form) {
		f.template.IPAddresses = nil
		for _, text := range list {
			f.template.IPAddresses = append(f.template.IPAddresses, net.ParseIP(text))
		}
	}
}

func subject(edit func(*pkix.Name)) func(*form) {
	return func(f *form) { edit(&f.template.Subject) }
}

func key(k crypto.Signer) func(*form) { return func(f *form) { f.key = k } }

// stored returns an edit that changes the API object of the request.
func stored(edit func(*certificatesv1.CertificateSigningRequest)) func(*form) {
	return func(f *form) { f.edit = edit }
}

func text(edit func(string) string) func(*form) {
	return stored(func(r *certificatesv1.CertificateSigningRequest) {
		r.Spec.Request = []byte(edit(string(r.Spec.Request)))
	})
}

func usages(u ...certificatesv1.KeyUsage) func(*form) {
	return stored(func(r *certificatesv1.CertificateSigningRequest) { r.Spec.Usages = u })
}

func uri(t testing.TB) func(*form) {
	t.Helper()
	u, err := url.Parse("spiffe://a")
	if err != nil {
		t.Fatal(err)
	}
	return func(f *form) { f.template.URIs = []*url.URL{u} }
}

func extension(f *form) {
	f.template.ExtraExtensions = []pkix.Extension{{Id: []int{2, 5, 29, 19}, Value: []byte{0x30, 3, 1, 1, 0xff}}}
}

func smallRSA(t testing.TB, bits int) crypto.Signer {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, bits)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func edwards(t testing.TB) crypto.Signer {
	t.Helper()
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func node(name string, edits ...func(*corev1.Node)) *corev1.Node {
	n := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("u-" + name), Labels: map[string]string{}},
		Spec:       corev1.NodeSpec{ProviderID: "p://" + name},
	}
	for _, edit := range edits {
		edit(n)
	}
	return n
}

func providerID(id string) func(*corev1.Node) { return func(n *corev1.Node) { n.Spec.ProviderID = id } }

func machine(id string, list ...string) *instance {
	i := &instance{providerID: id}
	for _, a := range list {
		i.addresses = append(i.addresses, corev1.NodeAddress{Type: corev1.NodeInternalIP, Address: a})
	}
	return i
}

// situation returns the observation of a request. Every name in it is proven unless
// an edit changes that.
func situation(r *certificatesv1.CertificateSigningRequest, edits ...func(*observed)) observed {
	o := observed{now: noon, request: r, node: node("a"), live: true, apiServers: []string{"10.96.0.1", "fd00:96::1"}, limits: DefaultLimits()}
	o.answer = answer{given: described, asked: noon.Add(-time.Second), byName: machine("p://a", "10.0.0.1", "a.cloud"), byID: machine("p://a", "10.0.0.1", "a.cloud")}
	o.answer.to = questionOf(o)
	for _, edit := range edits {
		edit(&o)
	}
	return o
}

// unasked removes the answer.
func unasked(o *observed) { o.answer, o.live = answer{}, false }

func denies(o *observed) { o.limits.DenyForeign = true }

func answers(byName, byID *instance) func(*observed) {
	return func(o *observed) { o.answer.byName, o.answer.byID = byName, byID }
}

func refusal(g given, reason string) func(*observed) {
	return func(o *observed) {
		o.answer = answer{given: g, to: o.answer.to, cause: message.Cause{Reason: reason, Message: "because"}}
	}
}

// row is a situation, and the plan that the rules must make in it.
type row struct {
	name string
	o    observed
	want string // the action, and a reason
	says string // a part of the message
}

func check(t *testing.T, rows []row) {
	t.Helper()
	for _, tt := range rows {
		t.Run(tt.name, func(t *testing.T) {
			p := decide(tt.o)
			got := string(p.do)
			if p.cause.Reason != "" {
				got += " " + p.cause.Reason
			}
			if got != tt.want {
				t.Errorf("plan %q because %q, want %q", got, p.why, tt.want)
			}
			if !strings.Contains(p.why, tt.says) {
				t.Errorf("plan because %q, want %q in it", p.why, tt.says)
			}
		})
	}
}
