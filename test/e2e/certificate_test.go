package e2e

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/fairlead-k8s/fairlead/internal/controller/nodefact"
	"github.com/fairlead-k8s/fairlead/simulator"
	"github.com/fairlead-k8s/fairlead/test/internal/audit"
	"github.com/fairlead-k8s/fairlead/test/internal/bed"
	"github.com/fairlead-k8s/fairlead/test/internal/daemon"
	"github.com/fairlead-k8s/fairlead/test/internal/expect"
	"github.com/fairlead-k8s/fairlead/test/internal/nodes"
)

// certificates is the manifest of the chart with servingCertificates.enabled.
const certificates = "charts/fairlead/ci/serving-certificates.golden.yaml"

// approvesCertificates is the flag that switches on the controller that approves serving
// certificates.
const approvesCertificates = "--controllers=*,kubelet-serving-csr-controller"

// certifying returns the setup of a daemon that approves serving certificates.
func certifying() daemon.Setup {
	return daemon.Setup{Flags: []string{approvesCertificates}}
}

// A kubelet gets a serving certificate for the names and addresses that the cloud
// gives its instance, and for nothing else (S10).
func TestServingCertificates(t *testing.T) {
	skipWithoutPrograms(t)
	t.Run("Kubelets", testServingCertificatesOfKubelets)
	t.Run("Attacks", testServingCertificateAttacks)
}

// Kubelets with serverTLSBootstrap get serving certificates from the cluster's
// signer. The watch of the provider is on. Without it, a new address would reach the
// Node only with the next refresh, up to five minutes later
// (--node-status-update-frequency). Only then would the kubelet request a
// certificate for the address.
func testServingCertificatesOfKubelets(t *testing.T) {
	network := filepath.Join(t.TempDir(), "network")
	b := onOwn(t, "--serving-certificates", "--network-file="+network)
	b.UseRightsOf(t, certificates)
	first := b.Kubelets(t,
		simulator.Instance{Name: b.Name("serving"), Addresses: nodes.CloudAddresses("InternalIP=127.0.81.1", "ExternalIP=203.0.113.81", "InternalDNS=serving.internal")},
		simulator.Instance{Name: b.Name("serving"), Addresses: nodes.CloudAddresses("InternalIP=127.0.81.2")},
	)
	setup := certifying()
	setup.FastPaths = true
	d := b.Daemon(t, setup)
	t.Run("WithoutNetwork", func(t *testing.T) {
		for _, i := range first {
			b.AwaitNode(t, i.Name, expect.Soon, waitsForNetwork)
			servesAs(t, b, i.Name, i.Addresses)
			b.AwaitNode(t, i.Name, expect.Soon, waitsForNetwork) // On a busy machine, another part of the kubelet may not be ready for a time, too.
		}
		bed.WriteFile(t, network, "")
		for _, i := range first {
			b.AwaitNode(t, i.Name, 2*expect.Soon, isReady)
			servesAs(t, b, i.Name, i.Addresses)
		}
	})
	t.Run("AddressChange", func(t *testing.T) {
		i := first[1]
		changed := nodes.CloudAddresses("InternalIP=127.0.81.2", "ExternalIP=203.0.113.82")
		b.Cloud.Change(t, i, simulator.InstancePatch{Addresses: changed})
		began := time.Now()
		servesAs(t, b, i.Name, changed)
		t.Logf("a certificate for the new address after %v", time.Since(began).Round(time.Millisecond))
	})
	t.Run("Restart", func(t *testing.T) {
		if err := d.Stop(); err != nil {
			t.Fatal(err)
		}
		i := b.Kubelet(t, simulator.Instance{Name: b.Name("serving"), Addresses: nodes.CloudAddresses("InternalIP=127.0.81.3")})
		// This daemon is killed as soon as the kubelet has requested a certificate.
		d = b.Daemon(t, setup)
		awaitRequest(t, b, i.Name)
		d.Kill()
		b.Daemon(t, setup)
		servesAs(t, b, i.Name, i.Addresses)
	})
}

// waitsForNetwork returns nil if the kubelet reports that only its network is
// missing.
func waitsForNetwork(node *corev1.Node) error {
	c := nodefact.Condition(node, corev1.NodeReady)
	if c == nil || c.Status != corev1.ConditionFalse || c.Reason != "KubeletNotReady" || !strings.HasSuffix(c.Message, "cni plugin not initialized") {
		return fmt.Errorf("the Ready condition is %+v", c)
	}
	return nil
}

// servesAs waits until the kubelet serves with a certificate that is valid for each
// address of its instance. The cluster's authority must have signed the
// certificate. A kubelet notices new addresses of its Node only when it next writes the
// Node's status, which it does every ten seconds.
func servesAs(t *testing.T, b *bed.Bed, node string, addresses []simulator.Address) {
	t.Helper()
	authorities := x509.NewCertPool()
	text, err := os.ReadFile(b.Cluster.CAFile)
	if err != nil || !authorities.AppendCertsFromPEM(text) {
		t.Fatalf("authority: %v", err)
	}
	expect.Within(t, 2*expect.Soon, func(ctx context.Context) error {
		n, err := b.Admin.CoreV1().Nodes().Get(ctx, node, metav1.GetOptions{})
		if err != nil {
			return err
		}
		at := net.JoinHostPort("127.0.0.1", strconv.Itoa(int(n.Status.DaemonEndpoints.KubeletEndpoint.Port)))
		for _, name := range append(addressesOf(addresses), node) {
			dialer := tls.Dialer{Config: &tls.Config{RootCAs: authorities, ServerName: name, MinVersion: tls.VersionTLS12}}
			conn, err := dialer.DialContext(ctx, "tcp", at)
			if err != nil {
				return fmt.Errorf("%s as %s: %w", node, name, err)
			}
			_ = conn.Close()
		}
		return nil
	})
}

func addressesOf(all []simulator.Address) (list []string) {
	for _, a := range all {
		list = append(list, a.Address)
	}
	return list
}

// awaitRequest waits until the kubelet has requested a certificate.
func awaitRequest(t *testing.T, b *bed.Bed, node string) {
	t.Helper()
	expect.Within(t, expect.Soon, func(ctx context.Context) error {
		all, err := b.Admin.CertificatesV1().CertificateSigningRequests().List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(all.Items, func(r certificatesv1.CertificateSigningRequest) bool { return r.Spec.Username == "system:node:"+node }) {
			return errors.New("the kubelet has made no request")
		}
		return nil
	})
}

// forgery is a request that can be made with a kubelet's credentials, and that must not
// be approved.
type forgery struct {
	name, reason string // reason: the daemon's reason to hold it, unless the API server refuses it
	template     func(*x509.CertificateRequest)
	object       func(*certificatesv1.CertificateSigningRequest)
	key          crypto.Signer
}

// request returns the request that the Node's kubelet makes, with the changes of
// the forgery.
func (a forgery) request(t *testing.T, node string) *certificatesv1.CertificateSigningRequest {
	t.Helper()
	template := x509.CertificateRequest{
		Subject:  pkix.Name{CommonName: "system:node:" + node, Organization: []string{"system:nodes"}},
		DNSNames: []string{node},
	}
	if a.template != nil {
		a.template(&template)
	}
	if a.key == nil {
		a.key = newKey(t)
	}
	der, err := x509.CreateCertificateRequest(rand.Reader, &template, a.key)
	if err != nil {
		t.Fatal(err)
	}
	r := &certificatesv1.CertificateSigningRequest{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "csr-"},
		Spec: certificatesv1.CertificateSigningRequestSpec{
			SignerName: certificatesv1.KubeletServingSignerName,
			Usages:     []certificatesv1.KeyUsage{certificatesv1.UsageDigitalSignature, certificatesv1.UsageServerAuth},
			Request:    pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der}),
		},
	}
	if a.object != nil {
		a.object(r)
	}
	return r
}

func newKey(t *testing.T) crypto.Signer {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func dns(names ...string) func(*x509.CertificateRequest) {
	return func(c *x509.CertificateRequest) { c.DNSNames = names }
}

func uses(usages ...certificatesv1.KeyUsage) func(*certificatesv1.CertificateSigningRequest) {
	return func(r *certificatesv1.CertificateSigningRequest) { r.Spec.Usages = usages }
}

func rewritten(edit func(string) string) func(*certificatesv1.CertificateSigningRequest) {
	return func(r *certificatesv1.CertificateSigningRequest) {
		r.Spec.Request = []byte(edit(string(r.Spec.Request)))
	}
}

// forgeries returns forged requests of one Node's kubelet. Some of them claim a name or
// an address of the other Node.
func forgeries(t *testing.T, own, other string) []forgery {
	t.Helper()
	weak, err := rsa.GenerateKey(rand.Reader, 1024)
	if err != nil {
		t.Fatal(err)
	}
	tenYears := int32(10 * 365 * 24 * 3600)
	sign, server, client := certificatesv1.UsageDigitalSignature, certificatesv1.UsageServerAuth, certificatesv1.UsageClientAuth
	return []forgery{
		{name: "NameOfAnotherNode", reason: "AddressUnproven", template: dns(own, other)},
		{name: "PrefixOfTheName", reason: "AddressUnproven", template: dns(own[:len(own)-1])},
		{name: "ExtraName", reason: "AddressUnproven", template: dns(own, "victim.internal")},
		{name: "AddressOfAnotherInstance", reason: "AddressUnproven", template: func(c *x509.CertificateRequest) { c.IPAddresses = []net.IP{net.ParseIP("10.81.0.2")} }},
		{name: "SubjectOfAnotherNode", reason: "WrongSubject", template: func(c *x509.CertificateRequest) { c.Subject.CommonName = "system:node:" + other }},
		{name: "WrongOrganisation", reason: "WrongSubject", template: func(c *x509.CertificateRequest) { c.Subject.Organization = []string{"system:masters"} }},
		{name: "Wildcard", reason: "WrongSubject", template: dns("*.internal")},
		{name: "APIServer", reason: "WrongSubject", template: dns("kubernetes.default.svc")},
		{name: "Mail", reason: "WrongSubject", template: func(c *x509.CertificateRequest) { c.EmailAddresses = []string{"a@example.com"} }},
		{name: "URI", reason: "WrongSubject", template: func(c *x509.CertificateRequest) { c.URIs = []*url.URL{{Scheme: "spiffe", Host: "a"}} }},
		{name: "NoName", reason: "WrongSubject", template: dns()},
		{name: "ClientAuth", reason: "WrongUsages", object: uses(sign, client)},
		{name: "ClientAuthToo", reason: "WrongUsages", object: uses(sign, server, client)},
		{name: "WrongUsages", reason: "WrongUsages", object: uses(certificatesv1.UsageCertSign)},
		{name: "WeakKey", reason: "WeakKey", key: weak},
		{name: "TenYears", reason: "TooLong", object: func(r *certificatesv1.CertificateSigningRequest) { r.Spec.ExpirationSeconds = &tenYears }},
		{name: "TenThousandNames", reason: "MalformedRequest", template: func(c *x509.CertificateRequest) {
			for i := range 10_000 {
				c.DNSNames = append(c.DNSNames, fmt.Sprintf("n%d.internal", i))
			}
		}},
		{name: "MalformedPEM", reason: "MalformedRequest", object: rewritten(func(s string) string { return s[:len(s)/2] })},
		{name: "TrailingPEM", reason: "MalformedRequest", object: rewritten(func(s string) string { return s + s })},
	}
}

// served is a bed with a cloud and a daemon that approves serving certificates. There are
// no kubelets. The test itself makes requests with the credentials of kubelets.
type served struct {
	*bed.Bed

	cloud  *bed.Cloud
	daemon *daemon.Daemon
}

// With the credentials of a kubelet, an attacker gets a serving certificate only
// for the kubelet's own instance.
func testServingCertificateAttacks(t *testing.T) {
	b := onOwn(t)
	b.UseRightsOf(t, certificates)
	s := served{Bed: b, cloud: b.NewCloud(t)}
	setup := certifying()
	setup.Cloud = s.cloud.URL
	s.daemon = b.Daemon(t, setup)
	own := s.node(t, "attacker", "InternalIP=10.81.0.1")
	other := s.node(t, "victim", "InternalIP=10.81.0.2", "InternalDNS=victim.internal")
	t.Run("Request", func(t *testing.T) { testAttacks(t, s, own, other) })
	t.Run("NodeStatus", func(t *testing.T) { testNodeStatus(t, s, s.node(t, "writer", "InternalIP=10.81.0.3")) })
	t.Run("ProviderIDOfAnother", func(t *testing.T) { testProviderIDOfAnother(t, s) })
	t.Run("Cloud", func(t *testing.T) { testCloudThatProvesNothing(t, s) })
	t.Run("Flood", func(t *testing.T) {
		testFlood(t, s, s.node(t, "flood", "InternalIP=10.81.0.4"), s.node(t, "calm", "InternalIP=10.81.0.5"))
	})
}

// node makes an instance and its Node, waits until the Node is initialised, and
// returns the instance.
func (s served) node(t *testing.T, name string, addresses ...string) simulator.Instance {
	t.Helper()
	i, _ := s.Pair(t, s.cloud, simulator.Instance{Name: s.Name(name), Addresses: nodes.CloudAddresses(addresses...)})
	s.AwaitNode(t, i.Name, expect.Soon, nodes.Initialized)
	return i
}

func testAttacks(t *testing.T, s served, own, other simulator.Instance) {
	kubelet := asKubelet(t, s.Bed, own.Name)
	for _, a := range forgeries(t, own.Name, other.Name) {
		t.Run(a.name, func(t *testing.T) {
			made, err := kubelet.CertificatesV1().CertificateSigningRequests().Create(t.Context(), a.request(t, own.Name), metav1.CreateOptions{})
			if err != nil {
				t.Logf("the API server refuses it: %v", err)
				return
			}
			s.isHeld(t, made.Name, a.reason)
		})
	}
	t.Run("NothingWrong", func(t *testing.T) {
		s.isApproved(t, s.asks(t, own.Name, forgery{}))
	})
}

// testNodeStatus writes addresses into the Node's status, although only the cloud may set
// addresses.
func testNodeStatus(t *testing.T, s served, own simulator.Instance) {
	_, err := asKubelet(t, s.Bed, own.Name).CoreV1().Nodes().Patch(t.Context(), own.Name, types.StrategicMergePatchType,
		[]byte(`{"status":{"addresses":[{"type":"Hostname","address":"victim.internal"},{"type":"InternalIP","address":"10.81.0.2"}]}}`), metav1.PatchOptions{}, "status")
	if err != nil {
		t.Fatal(err)
	}
	s.isHeld(t, s.asks(t, own.Name, forgery{template: dns("victim.internal")}), "AddressUnproven")
}

// testProviderIDOfAnother covers a kubelet that creates its Node with the provider ID of
// another instance. The kubelet requests a certificate while the other instance has no
// Node, and again when it has one.
func testProviderIDOfAnother(t *testing.T, s served) {
	victim := s.cloud.Instance(t, simulator.Instance{Name: s.Name("robbed"), Addresses: nodes.CloudAddresses("InternalIP=10.81.0.6")})
	robber := s.cloud.Instance(t, simulator.Instance{Name: s.Name("robber"), Addresses: nodes.CloudAddresses("InternalIP=10.81.0.7")})
	node := nodes.New(robber.Name)
	node.Spec.ProviderID = nodes.ProviderID(victim)
	expect.Cleanup(t, func(ctx context.Context) error {
		return s.Admin.CoreV1().Nodes().Delete(ctx, robber.Name, metav1.DeleteOptions{})
	})
	if _, err := asKubelet(t, s.Bed, robber.Name).CoreV1().Nodes().Create(t.Context(), node, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	asksForVictim := forgery{template: func(c *x509.CertificateRequest) { c.IPAddresses = []net.IP{net.ParseIP("10.81.0.6")} }}
	s.isHeld(t, s.asks(t, robber.Name, asksForVictim), "IdentityUnproven")
	second := nodes.New(victim.Name)
	second.Spec.ProviderID = nodes.ProviderID(victim)
	s.Register(t, second)
	s.isHeld(t, s.asks(t, robber.Name, asksForVictim), "IdentityContested")
	s.isHeld(t, s.asks(t, victim.Name, asksForVictim), "IdentityContested")
	for _, name := range []string{robber.Name, victim.Name} {
		expect.Within(t, expect.Soon, func(ctx context.Context) error {
			events, err := s.EventsOf(ctx, "kubelet-serving-csr-controller", name)
			if err == nil && !slices.ContainsFunc(events, func(e string) bool { return strings.Contains(e, "ServingCertificateHeld: Identity") }) {
				err = fmt.Errorf("events on %s: %q", name, events)
			}
			return err
		})
	}
}

// testCloudThatProvesNothing covers a cloud that answers 404, lists nothing, hangs or
// is down when it is asked about one instance.
func testCloudThatProvesNothing(t *testing.T, s served) {
	for _, tt := range []struct {
		name, reason string
		fault        simulator.FaultKind
		match        func(simulator.Instance) string
	}{
		{"AnswersWith404", "Cloud", simulator.FaultNotFound, func(i simulator.Instance) string { return i.Name }}, // A 404 to a list says nothing about an instance.
		{"NotFoundByName", "IdentityUnproven", simulator.FaultEmptyList, func(i simulator.Instance) string { return i.Name }},
		{"Hangs", "Cloud", simulator.FaultHang, func(i simulator.Instance) string { return i.Name }},
		{"IsDown", "Cloud", simulator.FaultOutage, func(i simulator.Instance) string { return i.Name }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			i := s.node(t, "doubtful", "InternalIP=10.81.1.1")
			s.cloud.Fail(t, simulator.Fault{Name: tt.name, Kind: tt.fault, Match: tt.match(i)})
			made := s.asks(t, i.Name, forgery{})
			s.isHeld(t, made, tt.reason)
			s.cloud.Heal(t)
			s.isApproved(t, s.asks(t, i.Name, forgery{}))
		})
	}
}

// testFlood covers a kubelet that makes many requests. Another kubelet still gets its
// certificate.
func testFlood(t *testing.T, s served, flood, calm simulator.Instance) {
	victim := forgery{template: dns("victim.internal")}
	for range 40 {
		s.asks(t, flood.Name, victim)
	}
	s.isApproved(t, s.asks(t, calm.Name, forgery{}))
	all, err := s.Admin.CertificatesV1().CertificateSigningRequests().List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range all.Items {
		if r.Spec.Username == "system:node:"+flood.Name && len(r.Status.Conditions) > 0 {
			t.Errorf("%s is decided: %v", r.Name, r.Status.Conditions)
		}
	}
}

// asks makes a request with the credentials of the kubelet, and returns the name of the
// request.
func (s served) asks(t *testing.T, node string, a forgery) string {
	t.Helper()
	made, err := asKubelet(t, s.Bed, node).CertificatesV1().CertificateSigningRequests().Create(t.Context(), a.request(t, node), metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return made.Name
}

// isHeld waits until the daemon logs why the request waits. Then it deletes the
// request.
func (s served) isHeld(t *testing.T, name, reason string) {
	t.Helper()
	expect.Within(t, 2*time.Minute, func(ctx context.Context) error {
		if !s.daemon.Logged("Request for a serving certificate waits", name, `reason="`+reason) {
			return fmt.Errorf("the log does not say that %s waits because of %s", name, reason)
		}
		r, err := s.Admin.CertificatesV1().CertificateSigningRequests().Get(ctx, name, metav1.GetOptions{})
		if err == nil && len(r.Status.Conditions) > 0 {
			t.Errorf("%s is decided: %v", name, r.Status.Conditions)
		}
		return err
	})
	if err := s.Admin.CertificatesV1().CertificateSigningRequests().Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
		t.Error(err)
	}
}

func (s served) isApproved(t *testing.T, name string) {
	t.Helper()
	expect.Within(t, 2*time.Minute, func(ctx context.Context) error { return s.approved(ctx, name) })
}

// approved returns an error unless the request has a certificate.
func (s served) approved(ctx context.Context, name string) error {
	r, err := s.Admin.CertificatesV1().CertificateSigningRequests().Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	if len(r.Status.Conditions) == 0 || r.Status.Conditions[0].Reason != "FairleadKubeletServing" || len(r.Status.Certificate) == 0 {
		return fmt.Errorf("%s: conditions %v, a certificate of %d bytes", name, r.Status.Conditions, len(r.Status.Certificate))
	}
	return nil
}

// asKubelet returns a client with the credentials of the Node's kubelet: a
// certificate that the cluster's authority has signed.
func asKubelet(t *testing.T, b *bed.Bed, node string) kubernetes.Interface {
	t.Helper()
	authority, err := tls.LoadX509KeyPair(b.Cluster.CAFile, filepath.Join(b.Cluster.DataDir, "pki", "ca.key"))
	if err != nil {
		t.Fatal(err)
	}
	key := newKey(t)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "system:node:" + node, Organization: []string{"system:nodes"}},
		NotBefore: time.Now().Add(-time.Minute), NotAfter: time.Now().Add(time.Hour),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, authority.Leaf, key.Public(), authority.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	client, err := kubernetes.NewForConfig(&rest.Config{
		Host: b.Cluster.Server, QPS: -1, UserAgent: audit.TestAgent,
		TLSClientConfig: rest.TLSClientConfig{
			CAFile:   b.Cluster.CAFile,
			CertData: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
			KeyData:  pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret}),
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return client
}
