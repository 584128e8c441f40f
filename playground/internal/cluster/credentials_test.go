package cluster

import (
	"crypto/x509"
	"encoding/pem"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/fairlead-k8s/fairlead/playground/internal/pki"
)

var now = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func credentialsIn(t *testing.T, l layout) *credentials {
	t.Helper()
	if err := l.create(); err != nil {
		t.Fatal(err)
	}
	s, err := ensureCredentials(example(), l, now)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.writeKubeconfigs(l, "https://127.0.0.1:2", now); err != nil {
		t.Fatal(err)
	}
	return s
}

func TestPublishedKubeconfigsUseTokensOnly(t *testing.T) {
	l := layout{t.TempDir()}
	s := credentialsIn(t, l)
	for file, user := range map[string]string{adminFile: adminUser, ccmUser: ccmUser} {
		config, err := clientcmd.BuildConfigFromFlags("", l.kubeconfig(file))
		if err != nil {
			t.Fatal(err)
		}
		if config.BearerToken == "" || config.BearerToken != s.tokens[user] {
			t.Errorf("%s: the token is %q, want that of %s", file, config.BearerToken, user)
		}
		if len(config.CertData) > 0 || config.CertFile != "" {
			t.Errorf("%s: it has a client certificate", file)
		}
		if config.Host != "https://127.0.0.1:2" {
			t.Errorf("%s: the server is %s", file, config.Host)
		}
	}
}

func TestCredentialsAreKept(t *testing.T) {
	l := layout{t.TempDir()}
	before := credentialsIn(t, l)
	key, err := os.ReadFile(l.serviceAccountKey())
	if err != nil {
		t.Fatal(err)
	}
	after := credentialsIn(t, l)
	keyAfter, err := os.ReadFile(l.serviceAccountKey())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before.tokens, after.tokens); diff != "" {
		t.Errorf("tokens: %s", diff)
	}
	if string(before.authority.CertPEM) != string(after.authority.CertPEM) {
		t.Error("the authority is another one")
	}
	if string(key) != string(keyAfter) {
		t.Error("the key of the service accounts is another one")
	}
}

func TestTokensOfOurUsersOnly(t *testing.T) {
	l := layout{t.TempDir()}
	credentialsIn(t, l)
	text, err := os.ReadFile(l.tokens())
	if err != nil {
		t.Fatal(err)
	}
	var users []string
	for line := range strings.Lines(string(text)) {
		_, user, _ := strings.Cut(strings.TrimSpace(line), ",")
		users = append(users, user)
	}
	want := []string{"admin,admin,system:masters", "cloud-controller-manager,cloud-controller-manager"}
	if diff := cmp.Diff(want, users); diff != "" {
		t.Error(diff)
	}
}

// Whoever has a certificate of etcd's authority can do everything in etcd. Kubelets and
// users have certificates of the cluster's authority, so etcd has its own authority.
func TestEtcdTrustsTheAPIServerAlone(t *testing.T) {
	l := layout{t.TempDir()}
	s := credentialsIn(t, l)
	node, err := s.authority.Issue(pki.Identity{Name: "system:node:a", Groups: []string{"system:nodes"}}, now)
	if err != nil {
		t.Fatal(err)
	}
	trusted := x509.NewCertPool()
	if !trusted.AppendCertsFromPEM(fileText(t, value(etcdArgs(l, at), "--ca-file"))) {
		t.Fatal("etcd has no authority")
	}
	apiServer := fileText(t, value(apiServerArgs(example(), l, at), "--etcd-certfile"))
	for name, test := range map[string]struct {
		cert []byte
		want bool
	}{"kubelet": {node.Cert, false}, "servers of the cluster": {fileText(t, l.pki("server.crt")), false}, "API server": {apiServer, true}} {
		block, _ := pem.Decode(test.cert)
		cert, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			t.Fatal(err)
		}
		_, err = cert.Verify(x509.VerifyOptions{Roots: trusted, CurrentTime: now, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}})
		if got := err == nil; got != test.want {
			t.Errorf("etcd trusts the %s: %t (%v)", name, got, err)
		}
	}
}

func fileText(t *testing.T, file string) []byte {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return text
}
