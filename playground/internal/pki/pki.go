// Package pki implements the certificate authorities of one playground. Their
// certificates are only for servers and clients on the loopback interface.
package pki

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

const (
	validity = 365 * 24 * time.Hour
	// skew is subtracted from the creation time of a certificate. The result is the time from
	// which the certificate is valid. This helps if the machine's clock is set back later.
	skew = time.Hour
)

// Authority signs certificates. Its files are CertFile and KeyFile.
type Authority struct {
	CertFile, KeyFile string
	CertPEM           []byte

	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// Identity describes the holder of a certificate.
type Identity struct {
	// Name is the user's name for Kubernetes.
	Name string
	// Groups are the user's groups for Kubernetes.
	Groups []string
	// Hosts and IPs are the names and addresses of a server; a client has none.
	Hosts []string
	IPs   []net.IP
}

// Pair is a certificate with its private key, both in PEM.
type Pair struct {
	Cert, Key []byte
}

// LoadOrCreate returns the authority whose files are in dir. It creates the authority if there is
// none. So if a control plane is started again with the same data, it accepts the earlier
// certificates.
func LoadOrCreate(dir string, now time.Time) (*Authority, error) {
	a := &Authority{CertFile: filepath.Join(dir, "ca.crt"), KeyFile: filepath.Join(dir, "ca.key")}
	pair, err := readPair(a.CertFile, a.KeyFile)
	if errors.Is(err, fs.ErrNotExist) {
		pair, err = selfSigned(now)
		if err == nil {
			err = pair.Write(a.CertFile, a.KeyFile)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("certificate authority: %w", err)
	}
	a.CertPEM = pair.Cert
	if a.cert, a.key, err = parse(pair); err != nil {
		return nil, fmt.Errorf("certificate authority %s: %w", dir, err)
	}
	return a, nil
}

// Issue signs a certificate for id. The certificate is valid for a client, and also for a server if id has Hosts or IPs.
func (a *Authority) Issue(id Identity, now time.Time) (Pair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return Pair{}, fmt.Errorf("key of %s: %w", id.Name, err)
	}
	tmpl := template(pkix.Name{CommonName: id.Name, Organization: id.Groups}, now)
	tmpl.KeyUsage = x509.KeyUsageDigitalSignature
	tmpl.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	if len(id.Hosts)+len(id.IPs) > 0 {
		tmpl.ExtKeyUsage = append(tmpl.ExtKeyUsage, x509.ExtKeyUsageServerAuth)
		tmpl.DNSNames, tmpl.IPAddresses = id.Hosts, id.IPs
	}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, a.cert, key.Public(), a.key)
	if err != nil {
		return Pair{}, fmt.Errorf("certificate of %s: %w", id.Name, err)
	}
	return encode(der, key)
}

// Write writes the pair to two files. Only the owner may read the key file.
func (p Pair) Write(certFile, keyFile string) error {
	if err := os.WriteFile(keyFile, p.Key, 0o600); err != nil {
		return err
	}
	return os.WriteFile(certFile, p.Cert, 0o644) //nolint:gosec // a certificate is not secret
}

// EnsureKey creates a private key in file, unless the file exists. Service account tokens are
// signed with this key.
func EnsureKey(file string) error {
	if _, err := os.Stat(file); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return fmt.Errorf("key %s: %w", file, err)
	}
	block, err := encodeKey(key)
	if err != nil {
		return err
	}
	return os.WriteFile(file, block, 0o600)
}

func selfSigned(now time.Time) (Pair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return Pair{}, err
	}
	tmpl := template(pkix.Name{CommonName: "fairlead playground"}, now)
	tmpl.IsCA = true
	tmpl.BasicConstraintsValid = true
	tmpl.KeyUsage = x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature
	der, err := x509.CreateCertificate(rand.Reader, tmpl, tmpl, key.Public(), key)
	if err != nil {
		return Pair{}, err
	}
	return encode(der, key)
}

func template(subject pkix.Name, now time.Time) *x509.Certificate {
	serial := make([]byte, 16)
	_, _ = rand.Read(serial) // never returns an error: a failure would crash the program
	return &x509.Certificate{
		SerialNumber: new(big.Int).SetBytes(serial),
		Subject:      subject,
		NotBefore:    now.Add(-skew),
		NotAfter:     now.Add(validity),
	}
}

func encode(der []byte, key *ecdsa.PrivateKey) (Pair, error) {
	block, err := encodeKey(key)
	if err != nil {
		return Pair{}, err
	}
	return Pair{Cert: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), Key: block}, nil
}

func encodeKey(key *ecdsa.PrivateKey) ([]byte, error) {
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("encode key: %w", err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}), nil
}

func readPair(certFile, keyFile string) (Pair, error) {
	cert, err := os.ReadFile(certFile)
	if err != nil {
		return Pair{}, err
	}
	key, err := os.ReadFile(keyFile)
	return Pair{Cert: cert, Key: key}, err
}

func parse(p Pair) (*x509.Certificate, *ecdsa.PrivateKey, error) {
	certBlock, _ := pem.Decode(p.Cert)
	keyBlock, _ := pem.Decode(p.Key)
	if certBlock == nil || keyBlock == nil {
		return nil, nil, errors.New("not in PEM")
	}
	cert, err := x509.ParseCertificate(certBlock.Bytes)
	if err != nil {
		return nil, nil, err
	}
	key, err := x509.ParseECPrivateKey(keyBlock.Bytes)
	return cert, key, err
}
