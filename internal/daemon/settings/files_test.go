package settings

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/client-go/util/cert"
)

// keyPair writes a certificate and its key, and returns their files.
func keyPair(t *testing.T) (certFile, keyFile string) {
	t.Helper()
	text, key, err := cert.GenerateSelfSignedCertKey("localhost", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	certFile, keyFile = filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key")
	for file, content := range map[string][]byte{certFile: text, keyFile: key} {
		if err := os.WriteFile(file, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return certFile, keyFile
}

func TestCertificates(t *testing.T) {
	own, key := keyPair(t)
	other, otherKey := keyPair(t)
	pair := "--tls-cert-file=" + own + " --tls-private-key-file="
	webhook := "--webhook-tls-cert-file=/dev/null --webhook-tls-private-key-file=/dev/null --webhook-client-ca-file=/dev/null"
	const none = " must be a certificate and its key in PEM: tls: "
	for name, row := range map[string]struct {
		args string
		want []string // how the errors begin
	}{
		"CertificateAndItsKey":         {pair + key + " --client-ca-file=" + other + " --requestheader-client-ca-file=" + other, nil},
		"KeyOfAnother":                 {pair + otherKey, []string{"--tls-cert-file=" + own + " and --tls-private-key-file=" + otherKey + none + "private key does not match public key"}},
		"KeyIsNone":                    {pair + "/dev/null", []string{"--tls-cert-file=" + own + " and --tls-private-key-file=/dev/null" + none}},
		"UnreadableKeyIsOneError":      {pair + "/nowhere", []string{"--tls-private-key-file: open /nowhere: no such file or directory"}},
		"CertificateOfAName":           {"--tls-sni-cert-key=" + own + "," + key, nil},
		"CertificateOfANameIsNone":     {"--tls-sni-cert-key=/dev/null," + key, []string{"--tls-sni-cert-key=/dev/null," + key + none}},
		"AuthoritiesAreNone":           {"--client-ca-file=/dev/null --requestheader-client-ca-file=" + key, []string{"--client-ca-file=/dev/null must have certificates in PEM: ", "--requestheader-client-ca-file=" + key + " must have certificates in PEM: "}},
		"NotReadWithoutAServer":        {"--secure-port=0 --tls-cert-file=/dev/null --tls-private-key-file=/dev/null --client-ca-file=/dev/null", nil},
		"NotReadWithoutWebhooks":       {webhook, nil},
		"NotReadByAShadow":             {webhook + " --webhooks=a --shadow", nil},
		"CertificateOfWebhooksIsNone":  {webhook + " --webhooks=a", []string{"--webhook-tls-cert-file=/dev/null and --webhook-tls-private-key-file=/dev/null" + none, "--webhook-client-ca-file=/dev/null must have certificates in PEM: "}},
		"FilesAndCertificatesTogether": {"--kubeconfig=/nowhere --client-ca-file=/dev/null", []string{"--kubeconfig: open /nowhere: ", "--client-ca-file=/dev/null must have certificates in PEM: "}},
	} {
		t.Run(name, func(t *testing.T) {
			program := ours
			program.Webhooks = []string{"a"}
			s := New(program)
			if err := flagSet(s).Parse(strings.Fields("--cloud-provider=test " + row.args)); err != nil {
				t.Fatal(err)
			}
			if unserved := s.ValidateUnserved(); len(unserved) != strings.Count(row.args, "--kubeconfig=/nowhere") {
				t.Errorf("got %v if nothing is served", unserved)
			}
			got := s.Validate()
			if len(got) != len(row.want) {
				t.Fatalf("got %v, want %d errors", got, len(row.want))
			}
			for i, err := range got {
				if !strings.HasPrefix(err.Error(), row.want[i]) {
					t.Errorf("got %v, want %s", err, row.want[i])
				}
			}
		})
	}
}

// A pipe can be read only once, so only the server may read it.
func TestPipesAreLeftToTheServer(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Close() }()
	if _, err := w.WriteString("text"); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	pipe := fmt.Sprintf("/dev/fd/%d", r.Fd())
	s := New(ours)
	if err := flagSet(s).Parse([]string{
		"--cloud-provider=test", "--client-ca-file=" + pipe, "--tls-cert-file=" + pipe, "--tls-private-key-file=" + pipe, "--tls-sni-cert-key=" + pipe + "," + pipe,
	}); err != nil {
		t.Fatal(err)
	}
	if errs := s.Validate(); len(errs) > 0 {
		t.Error(errs)
	}
	if text, err := io.ReadAll(r); err != nil || string(text) != "text" {
		t.Errorf("left %q, error %v", text, err)
	}
}
