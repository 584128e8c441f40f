package pki

import (
	"crypto/tls"
	"crypto/x509"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var now = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func authority(t *testing.T, dir string) *Authority {
	t.Helper()
	a, err := LoadOrCreate(dir, now)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestTheAuthorityIsKept(t *testing.T) {
	dir := t.TempDir()
	first, second := authority(t, dir), authority(t, dir)
	if diff := cmp.Diff(string(first.CertPEM), string(second.CertPEM)); diff != "" {
		t.Error(diff)
	}
}

func TestADamagedAuthorityIsNotReplaced(t *testing.T) {
	dir := t.TempDir()
	a := authority(t, dir)
	if err := os.WriteFile(a.CertFile, []byte("no certificate"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := LoadOrCreate(dir, now); err == nil {
		t.Error("want an error")
	}
}

func TestIssue(t *testing.T) {
	a := authority(t, t.TempDir())
	server := Identity{Name: "s", Hosts: []string{"localhost"}, IPs: []net.IP{net.IPv4(127, 0, 0, 1)}}
	client := Identity{Name: "system:node:n", Groups: []string{"system:nodes"}}
	for name, test := range map[string]struct {
		id     Identity
		verify x509.VerifyOptions
		valid  bool
	}{
		"ServerByName":         {server, x509.VerifyOptions{DNSName: "localhost"}, true},
		"ServerByAddress":      {server, x509.VerifyOptions{DNSName: "127.0.0.1"}, true},
		"ServerIsNotSomeOther": {server, x509.VerifyOptions{DNSName: "example.com"}, false},
		"ServerIsAClientToo":   {server, x509.VerifyOptions{KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}, true},
		"Client":               {client, x509.VerifyOptions{KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}, true},
		"ClientIsNoServer":     {client, x509.VerifyOptions{}, false},
		"ClockWasSetBackALittle": {client, x509.VerifyOptions{
			KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}, CurrentTime: now.Add(-time.Minute),
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			pair, err := a.Issue(test.id, now)
			if err != nil {
				t.Fatal(err)
			}
			loaded, err := tls.X509KeyPair(pair.Cert, pair.Key)
			if err != nil {
				t.Fatal(err)
			}
			test.verify.Roots = x509.NewCertPool()
			test.verify.Roots.AppendCertsFromPEM(a.CertPEM)
			if test.verify.CurrentTime.IsZero() {
				test.verify.CurrentTime = now
			}
			if _, err := loaded.Leaf.Verify(test.verify); (err == nil) != test.valid {
				t.Errorf("valid: %v, want %v (%v)", err == nil, test.valid, err)
			}
			if diff := cmp.Diff(test.id.Groups, loaded.Leaf.Subject.Organization); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestKeysAreForTheOwnerOnlyAndKept(t *testing.T) {
	file := filepath.Join(t.TempDir(), "key")
	var texts []string
	for range 2 {
		if err := EnsureKey(file); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, string(text))
	}
	if texts[0] != texts[1] {
		t.Error("the key was replaced")
	}
	info, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	if mode := info.Mode().Perm(); mode != 0o600 {
		t.Errorf("mode %o", mode)
	}
}
