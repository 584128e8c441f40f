package certificate

import (
	"crypto/elliptic"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"strings"
	"testing"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func age(d time.Duration) func(*form) {
	return stored(func(r *certificatesv1.CertificateSigningRequest) { r.CreationTimestamp = metav1.NewTime(noon.Add(-d)) })
}

func condition(kind certificatesv1.RequestConditionType) func(*form) {
	return stored(func(r *certificatesv1.CertificateSigningRequest) {
		r.Status.Conditions = []certificatesv1.CertificateSigningRequestCondition{{Type: kind, Status: corev1.ConditionTrue}}
	})
}

func many(n int) func(*form) {
	return func(f *form) {
		for i := range n {
			f.template.DNSNames = append(f.template.DNSNames, fmt.Sprintf("n%d", i))
		}
	}
}

func of(user string, groups ...string) func(*form) {
	return stored(func(r *certificatesv1.CertificateSigningRequest) { r.Spec.Username, r.Spec.Groups = user, groups })
}

func lasting(seconds int32) func(*form) {
	return stored(func(r *certificatesv1.CertificateSigningRequest) { r.Spec.ExpirationSeconds = &seconds })
}

// forged changes the last byte of the signature.
func forged(s string) string {
	block, _ := pem.Decode([]byte(s))
	block.Bytes[len(block.Bytes)-1] ^= 1
	return string(pem.EncodeToMemory(block))
}

// TestRequest checks the rules about the request itself. They are checked before the
// cloud is asked.
func TestRequest(t *testing.T) {
	const year = 365 * 24 * 3600
	var (
		signature, server = certificatesv1.UsageDigitalSignature, certificatesv1.UsageServerAuth
		rows              []row
	)
	for _, tt := range []struct {
		name, want, says string
		edits            []func(*form)
	}{
		{"ProperRequestIsAskedAbout", "ask the cloud", "", nil},
		{"OlderKubeletsUsageIsAskedAbout", "ask the cloud", "", []func(*form){usages(signature, server, certificatesv1.UsageKeyEncipherment)}},
		{"AnotherSignerIsNotOurs", "nothing", "another signer", []func(*form){stored(func(r *certificatesv1.CertificateSigningRequest) { r.Spec.SignerName = "example.com/s" })}},
		{"ApprovedIsNotOurs", "nothing", "decided", []func(*form){condition(certificatesv1.CertificateApproved)}},
		{"DeniedIsNotOurs", "nothing", "decided", []func(*form){condition(certificatesv1.CertificateDenied)}},
		{"FailedIsNotOurs", "nothing", "decided", []func(*form){condition(certificatesv1.CertificateFailed)}},
		{"SignedIsNotOurs", "nothing", "decided", []func(*form){stored(func(r *certificatesv1.CertificateSigningRequest) { r.Status.Certificate = []byte("x") })}},
		{"AlmostAnHourOldIsAskedAbout", "ask the cloud", "", []func(*form){age(time.Hour - time.Second)}},
		{"AnHourOldIsNobodys", "nothing", "too old", []func(*form){age(time.Hour)}},
		{"TenThousandNames", "wait MalformedRequest", "more than 4096 bytes", []func(*form){many(10_000)}},
		{"SixtyFourNamesAreAskedAbout", "ask the cloud", "", []func(*form){many(62)}},
		{"SixtyFiveNames", "wait MalformedRequest", "65 names", []func(*form){many(63)}},
		{"NoPEM", "wait MalformedRequest", "does not begin", []func(*form){text(func(string) string { return "x" })}},
		{"Empty", "wait MalformedRequest", "it is empty", []func(*form){text(func(string) string { return "" })}},
		{"LeadingData", "wait MalformedRequest", "does not begin", []func(*form){text(func(s string) string { return "x\n" + s })}},
		{"TrailingData", "wait MalformedRequest", "data after", []func(*form){text(func(s string) string { return s + "x" })}},
		{"SecondBlock", "wait MalformedRequest", "data after", []func(*form){text(func(s string) string { return s + s })}},
		{"CutBlock", "wait MalformedRequest", "not a PEM block", []func(*form){text(func(s string) string { return s[:100] })}},
		{"Headers", "wait MalformedRequest", "not a PEM block", []func(*form){text(func(s string) string {
			return strings.Replace(s, "REQUEST-----\n", "REQUEST-----\nProc-Type: 4\n\n", 1)
		})}},
		{"NoRequestInTheBlock", "wait MalformedRequest", "not valid", []func(*form){text(func(string) string {
			return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: []byte("x")}))
		})}},
		{"ForgedSignature", "wait MalformedRequest", "signature", []func(*form){text(forged)}},
		{"ExtraExtension", "wait MalformedRequest", "extensions", []func(*form){extension}},
		{"UserIsNoNode", "wait WrongSubject", "is not a Node", []func(*form){of("alice", "system:nodes")}},
		{"UserIsInNoGroupOfNodes", "wait WrongSubject", "is not a Node", []func(*form){of("system:node:a", "system:authenticated")}},
		{"NodeWithoutAName", "wait WrongSubject", "is not a Node", []func(*form){of("system:node:", "system:nodes")}},
		{"NameOfAnotherNode", "wait WrongSubject", "common name", []func(*form){subject(func(n *pkix.Name) { n.CommonName = "system:node:b" })}},
		{"PrefixOfTheName", "wait WrongSubject", "common name", []func(*form){subject(func(n *pkix.Name) { n.CommonName = "system:node:aa" })}},
		{"WrongOrganisation", "wait WrongSubject", "organisation", []func(*form){subject(func(n *pkix.Name) { n.Organization = []string{"system:masters"} })}},
		{"SecondOrganisation", "wait WrongSubject", "organisation", []func(*form){subject(func(n *pkix.Name) { n.Organization = []string{"system:nodes", "system:masters"} })}},
		{"NoOrganisation", "wait WrongSubject", "organisation", []func(*form){subject(func(n *pkix.Name) { n.Organization = nil })}},
		{"MoreInTheSubject", "wait WrongSubject", "more than", []func(*form){subject(func(n *pkix.Name) { n.Country = []string{"DE"} })}},
		{"Mail", "wait WrongSubject", "e-mail", []func(*form){func(f *form) { f.template.EmailAddresses = []string{"a@b.c"} }}},
		{"URI", "wait WrongSubject", "URI", []func(*form){uri(t)}},
		{"Wildcard", "wait WrongSubject", "wildcard", []func(*form){names("*.cloud")}},
		{"NoNameAtAll", "wait WrongSubject", "no DNS name", []func(*form){names(), addresses()}},
		{"NameOfTheAPIServer", "wait WrongSubject", "API server", []func(*form){names("kubernetes.default.svc")}},
		{"NameOfTheAPIServerInCapitals", "wait WrongSubject", "API server", []func(*form){names("Kubernetes.")}},
		{"NameOfAService", "wait WrongSubject", "Service", []func(*form){names("shop.prod.svc.cluster.local")}},
		{"LocalHost", "wait WrongSubject", "every machine", []func(*form){names("localhost")}},
		{"Loopback", "wait WrongSubject", "address of an instance", []func(*form){addresses("127.0.0.1")}},
		{"LoopbackInIPv6", "wait WrongSubject", "address of an instance", []func(*form){addresses("::ffff:127.0.0.1")}},
		{"AddressOfASimulatedInstanceIsAskedAbout", "ask the cloud", "", []func(*form){addresses("127.0.1.1")}},
		{"LoopbackV6", "wait WrongSubject", "address of an instance", []func(*form){addresses("::1")}},
		{"AddressOfTheAPIServersService", "wait WrongSubject", "API server's Service", []func(*form){addresses("10.0.0.1", "10.96.0.1")}},
		{"SecondAddressOfTheAPIServersService", "wait WrongSubject", "API server's Service", []func(*form){addresses("fd00:96::1")}},
		{"Unspecified", "wait WrongSubject", "address of an instance", []func(*form){addresses("::")}},
		{"ClientAuth", "wait WrongUsages", "client auth", []func(*form){usages(signature, server, certificatesv1.UsageClientAuth)}},
		{"OnlyClientAuth", "wait WrongUsages", "server auth", []func(*form){usages(signature, certificatesv1.UsageClientAuth)}},
		{"SigningUsage", "wait WrongUsages", "cert sign", []func(*form){usages(signature, server, certificatesv1.UsageCertSign)}},
		{"NoUsages", "wait WrongUsages", "missing", []func(*form){usages()}},
		{"AYearIsAskedAbout", "ask the cloud", "", []func(*form){lasting(year)}},
		{"TenYears", "wait TooLong", "--serving-certificate-longest", []func(*form){lasting(10 * year)}},
		{"SmallCurve", "wait WeakKey", "224 bits", []func(*form){key(curve(t, elliptic.P224()))}},
		{"LargeCurveIsAskedAbout", "ask the cloud", "", []func(*form){key(curve(t, elliptic.P384()))}},
		{"EdwardsCurveIsAskedAbout", "ask the cloud", "", []func(*form){key(edwards(t))}},
		{"SmallRSA", "wait WeakKey", "1024 bits", []func(*form){key(smallRSA(t, 1024))}},
		{"RSAIsAskedAbout", "ask the cloud", "", []func(*form){key(smallRSA(t, 2048))}},
	} {
		rows = append(rows, row{tt.name, situation(csr(t, tt.edits...), unasked), tt.want, tt.says})
	}
	check(t, rows)
}

// TestKeyOfAnUnknownKind covers a kind of key that no request in the other tests can
// have.
func TestKeyOfAnUnknownKind(t *testing.T) {
	r := csr(t)
	parsed, unread := read(r)
	if unread != nil {
		t.Fatal(unread)
	}
	parsed.PublicKey = "x"
	if cause := hasWeakKey(observed{}, parsed); cause == nil || cause.Reason != "WeakKey" {
		t.Errorf("cause %v", cause)
	}
}

// FuzzRead checks that no request makes the parser panic, and that no request with a
// wrong subject or wrong names is approved.
func FuzzRead(f *testing.F) {
	for _, r := range []*certificatesv1.CertificateSigningRequest{csr(f), csr(f, names("*.a"), addresses("::1")), csr(f, many(10)), csr(f, uri(f), extension)} {
		f.Add(r.Spec.Request)
		block, _ := pem.Decode(r.Spec.Request)
		f.Add(block.Bytes)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, text := range [][]byte{data, pem.EncodeToMemory(&pem.Block{Type: pemType, Bytes: data})} {
			r := csr(t)
			r.Spec.Request = text
			o := situation(r)
			switch p := decide(o); p.do {
			case approve, wait:
			case doNothing, ask, confirm, deny:
				t.Errorf("plan %v", p)
			}
			parsed, unread := read(r)
			if unread != nil {
				continue
			}
			if decide(o).do == approve && (parsed.Subject.CommonName != "system:node:a" || len(parsed.DNSNames)+len(parsed.IPAddresses) == 0 || len(parsed.URIs)+len(parsed.EmailAddresses) > 0) {
				t.Errorf("approved %q", text)
			}
		}
	})
}
