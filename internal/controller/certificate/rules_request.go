package certificate

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"

	"github.com/fairlead-k8s/fairlead/internal/controller/message"
	"github.com/fairlead-k8s/fairlead/internal/controller/requestfact"
)

// Limits are the settings of the rules.
type Limits struct {
	// DenyForeign makes the controller deny two kinds of requests: those that it will
	// never approve, and those with a name or address that the instance does not
	// have. If DenyForeign is false, these requests wait.
	DenyForeign bool
	// Longest is the longest time for which a certificate may be requested.
	Longest time.Duration
	// PendingPerNode is the number of undecided requests that are considered for each
	// Node, the newest first.
	PendingPerNode int
	// ApprovalsPerMinute is the number of requests that can be approved at once, and
	// the number of further requests that can be approved in each minute.
	ApprovalsPerMinute int
}

// DefaultLimits returns the defaults of the flags. A kubelet needs one request at a
// time. When it restarts or its addresses change, it makes a new request and abandons
// the older one. A cluster that renews 10,000 certificates in a year needs little more
// than one approval an hour. With 50 approvals a minute, 1,000 new Nodes can join
// within 20 minutes.
func DefaultLimits() Limits {
	return Limits{Longest: 366 * 24 * time.Hour, PendingPerNode: 3, ApprovalsPerMinute: 50}
}

const (
	maxBytes = 4 << 10
	maxNames = 64

	pemType = "CERTIFICATE REQUEST"

	minRSABits, maxRSABits, minCurveBits = 2048, 8192, 256
)

// read parses the text of a request. A kubelet can send any text, so read returns a
// cause unless the text has an acceptable size and is exactly one PEM block with a
// certificate request.
func read(r *certificatesv1.CertificateSigningRequest) (*x509.CertificateRequest, *message.Cause) {
	text := r.Spec.Request
	if len(text) > maxBytes || len(text) == 0 { // The cache drops a request that is too long.
		return nil, isMalformed(fmt.Sprintf("it is empty, or has more than %d bytes", maxBytes))
	}
	if !bytes.HasPrefix(text, []byte("-----BEGIN "+pemType+"-----")) {
		return nil, isMalformed("it does not begin with a PEM block " + pemType)
	}
	block, rest := pem.Decode(text)
	switch {
	case block == nil || block.Type != pemType || len(block.Headers) > 0:
		return nil, isMalformed("it is not a PEM block " + pemType)
	case len(bytes.TrimSpace(rest)) > 0:
		return nil, isMalformed("it has data after its PEM block")
	}
	csr, err := x509.ParseCertificateRequest(block.Bytes)
	if err != nil {
		return nil, isMalformed(message.Value(err.Error()))
	}
	return csr, nil
}

// readProper parses the request, and returns a cause if a rule refuses it.
func readProper(o observed) (*x509.CertificateRequest, *message.Cause) {
	csr, cause := read(o.request)
	if cause != nil {
		return nil, cause
	}
	for _, wrong := range wrongs {
		if cause := wrong(o, csr); cause != nil {
			return nil, cause
		}
	}
	return csr, nil
}

// wrongs are the rules that can refuse a request whatever the cloud says. The first
// rule that returns a cause decides.
var wrongs = []func(observed, *x509.CertificateRequest) *message.Cause{
	isNotOfANode, hasOtherSubject, hasOtherContent, hasOtherUsages, namesTheCluster, isTooLong, hasWeakKey, isNotSigned,
}

func isNotOfANode(o observed, _ *x509.CertificateRequest) *message.Cause {
	if requestfact.RequesterOf(o.request) != "" {
		return nil
	}
	return isWrongSubject(fmt.Sprintf("the user %q who has made the request is not a Node", message.Value(o.request.Spec.Username)))
}

// hasOtherSubject returns a cause if the subject differs from the Node's. The signer
// copies the whole subject into the certificate.
func hasOtherSubject(o observed, csr *x509.CertificateRequest) *message.Cause {
	switch s := csr.Subject; {
	case s.CommonName != o.request.Spec.Username:
		return isWrongSubject(fmt.Sprintf("its common name %q is not the name of the user that has made it", message.Value(s.CommonName)))
	case len(s.Organization) != 1 || s.Organization[0] != requestfact.NodeGroup:
		return isWrongSubject(fmt.Sprintf("its organisation is not exactly %q", requestfact.NodeGroup))
	case len(s.Names) != 2: //nolint:mnd // the two above
		return isWrongSubject("its subject has more than a common name and an organisation")
	default:
		return nil
	}
}

// hasOtherContent returns a cause in each of these cases:
//   - The request asks for something other than DNS names and IP addresses.
//   - It asks for neither a name nor an address, or for too many.
//   - It asks for a wildcard.
func hasOtherContent(_ observed, csr *x509.CertificateRequest) *message.Cause {
	switch names := len(csr.DNSNames) + len(csr.IPAddresses); {
	case len(csr.EmailAddresses) > 0:
		return isWrongSubject("it asks for an e-mail address")
	case len(csr.URIs) > 0:
		return isWrongSubject("it asks for a URI")
	case names == 0:
		return isWrongSubject("it asks for no DNS name and no IP address")
	case names > maxNames:
		return isMalformed(fmt.Sprintf("it asks for %d names and addresses, more than %d", names, maxNames))
	case len(csr.Extensions) > 1: // Names are in one extension.
		return isMalformed("it asks for extensions besides its names")
	case slices.ContainsFunc(csr.DNSNames, func(name string) bool { return strings.Contains(name, "*") }):
		return isWrongSubject("it asks for a wildcard")
	default:
		return nil
	}
}

// hasOtherUsages returns a cause if the usages differ from those that the signer
// accepts.
func hasOtherUsages(o observed, _ *x509.CertificateRequest) *message.Cause {
	need := []certificatesv1.KeyUsage{certificatesv1.UsageDigitalSignature, certificatesv1.UsageServerAuth}
	may := append(slices.Clone(need), certificatesv1.UsageKeyEncipherment)
	for _, usage := range need {
		if !slices.Contains(o.request.Spec.Usages, usage) {
			return areWrongUsages(fmt.Sprintf("the usage %q is missing", usage))
		}
	}
	for _, usage := range o.request.Spec.Usages {
		if !slices.Contains(may, usage) {
			return areWrongUsages(fmt.Sprintf("a kubelet's serving certificate does not have the usage %q", message.Value(string(usage))))
		}
	}
	return nil
}

// namesTheCluster returns a cause if the request asks for one of these:
//   - a name of the API server, of a Service, or of every machine, such as localhost
//   - the address at which pods reach the API server
//   - an address that no instance can have
//
// With a certificate for the API server's name or address, a kubelet could impersonate
// the API server, because both certificates often come from the same authority. The
// cloud's answer does not prevent that, because somebody might give the API server's
// address to an instance.
func namesTheCluster(o observed, csr *x509.CertificateRequest) *message.Cause {
	for _, name := range csr.DNSNames {
		plain := strings.ToLower(strings.TrimSuffix(name, "."))
		if plain == "localhost" || plain == "kubernetes" || plain == "kubernetes.default" || strings.HasPrefix(plain, "kubernetes.default.") ||
			strings.HasSuffix(plain, ".svc") || strings.HasSuffix(plain, ".svc.cluster.local") {
			return isWrongSubject(fmt.Sprintf("%q is a name of the API server, of a Service, or of every machine", message.Value(name)))
		}
	}
	for _, ip := range csr.IPAddresses {
		if ip.Equal(localhost) || ip.Equal(net.IPv6loopback) || ip.IsUnspecified() || ip.IsMulticast() {
			return isWrongSubject(ip.String() + " cannot be the address of an instance")
		}
		if slices.ContainsFunc(o.apiServers, func(a string) bool { return ip.Equal(net.ParseIP(a)) }) {
			return isWrongSubject(ip.String() + " is the address of the API server's Service")
		}
	}
	return nil
}

// localhost is the only address of 127.0.0.0/8 that is refused without asking the cloud,
// because programs connect to it. The simulated cloud gives each instance another address
// of this block. A real cloud gives none, so it confirms none.
var localhost = net.IPv4(127, 0, 0, 1)

// isTooLong returns a cause if the certificate would be valid for too long.
func isTooLong(o observed, _ *x509.CertificateRequest) *message.Cause {
	asked := o.request.Spec.ExpirationSeconds
	if asked == nil || time.Duration(*asked)*time.Second <= o.limits.Longest {
		return nil
	}
	return lastsTooLong(time.Duration(*asked)*time.Second, o.limits.Longest)
}

// hasWeakKey returns a cause if the key can be broken, or is so large that a check
// of its signature would take seconds.
func hasWeakKey(_ observed, csr *x509.CertificateRequest) *message.Cause {
	switch key := csr.PublicKey.(type) {
	case *rsa.PublicKey:
		if bits := key.N.BitLen(); bits < minRSABits || bits > maxRSABits {
			return isWeak(fmt.Sprintf("an RSA key of %d bits", bits))
		}
	case *ecdsa.PublicKey:
		if bits := key.Curve.Params().BitSize; bits < minCurveBits {
			return isWeak(fmt.Sprintf("an ECDSA key of %d bits", bits))
		}
	case ed25519.PublicKey:
	default:
		return isWeak("a key of an unknown kind")
	}
	return nil
}

func isNotSigned(_ observed, csr *x509.CertificateRequest) *message.Cause {
	if err := csr.CheckSignature(); err != nil {
		return isMalformed("its signature was not made with its key: " + message.Value(err.Error()))
	}
	return nil
}
