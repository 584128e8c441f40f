package inspect

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-k8s/fairlead/internal/readonly"
)

// kubeconfig writes a file with two contexts and returns its name.
func kubeconfig(t *testing.T, server string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "kubeconfig")
	text := fmt.Sprintf(`apiVersion: v1
kind: Config
current-context: first
clusters:
- {name: one, cluster: {server: %q}}
- {name: two, cluster: {server: "https://two.example.com"}}
contexts:
- {name: first, context: {cluster: one, user: u, namespace: shop}}
- {name: second, context: {cluster: two, user: u}}
users:
- {name: u, user: {token: secret}}
`, server)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// open returns the cluster that the flags name.
func open(t *testing.T, arguments ...string) (*Cluster, error) {
	t.Helper()
	var c Connection
	command := &cobra.Command{}
	c.AddFlags(command)
	if err := command.ParseFlags(arguments); err != nil {
		t.Fatal(err)
	}
	return c.Open("test")
}

func TestFlagsChooseTheCluster(t *testing.T) {
	file := kubeconfig(t, "https://one.example.com")
	for name, row := range map[string]struct {
		arguments         []string
		server, namespace string
	}{
		"CurrentContext": {nil, "https://one.example.com", "shop"},
		"AnotherContext": {[]string{"--context=second"}, "https://two.example.com", "default"},
		"Namespace":      {[]string{"-n", "web"}, "https://one.example.com", "web"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := open(t, append(row.arguments, "--kubeconfig="+file)...)
			if err != nil || got.Config.Host != row.server || got.Namespace != row.namespace {
				t.Errorf("got %+v, error %v, want %s and %s", got, err, row.server, row.namespace)
			}
		})
	}
}

func TestVariableNamesTheFile(t *testing.T) {
	t.Setenv("KUBECONFIG", kubeconfig(t, "https://one.example.com"))
	if got, err := open(t); err != nil || got.Config.Host != "https://one.example.com" {
		t.Errorf("got %+v, error %v", got, err)
	}
}

func TestClusterThatCannotBeLookedAt(t *testing.T) {
	file := kubeconfig(t, "https://one.example.com")
	for _, argument := range []string{"--context=third", "--kubeconfig=/does/not/exist"} {
		arguments := []string{"--kubeconfig=" + file, argument}
		if _, err := open(t, arguments...); Code(err) != CannotLook {
			t.Errorf("%v: error %v, code %d", arguments, err, Code(err))
		}
	}
}

func TestClientOnlyReads(t *testing.T) {
	var got []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = append(got, r.Method+" "+r.URL.Path)
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"kind":"Node","apiVersion":"v1","metadata":{"name":"a"}}`))
	}))
	defer server.Close()
	c, err := open(t, "--kubeconfig="+kubeconfig(t, server.URL))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.CoreV1().Nodes().Get(t.Context(), "a", metav1.GetOptions{}); err != nil {
		t.Error(err)
	}
	if _, err := c.CoreV1().Nodes().Update(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "a"}}, metav1.UpdateOptions{}); !errors.Is(err, readonly.Err) {
		t.Errorf("a write: error %v", err)
	}
	if err := c.CoreV1().Nodes().Delete(t.Context(), "a", metav1.DeleteOptions{}); !errors.Is(err, readonly.Err) {
		t.Errorf("a deletion: error %v", err)
	}
	if len(got) != 1 {
		t.Errorf("the server got %v, want one request", got)
	}
}

func TestOutput(t *testing.T) {
	value := map[string]string{"name": "a\x1b[31m"}
	text := func() string { return "a\x1b[31m\n" }
	for format, want := range map[string]string{
		Text:       "a\uFFFD[31m\n",
		JSON:       "{\n  \"name\": \"a\\u001b[31m\"\n}\n",
		YAML:       "---\nname: \"a\\e[31m\"\n",
		"markdown": "a\uFFFD[31m\n",
	} {
		o := NewOutput("markdown")
		if err := o.Set(format); err != nil {
			t.Error(err)
		}
		var out bytes.Buffer
		if err := o.Write(&out, value, text); err != nil || out.String() != want {
			t.Errorf("%s: got %q, error %v, want %q", format, out.String(), err, want)
		}
	}
}

func TestUnknownFormat(t *testing.T) {
	command := &cobra.Command{}
	NewOutput().AddFlag(command)
	want := `invalid argument "xml" for "-o, --output" flag: want text, json or yaml`
	if err := command.ParseFlags([]string{"-o", "xml"}); err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
}

func TestExitCodes(t *testing.T) {
	reason := errors.New("reason")
	for name, row := range map[string]struct {
		err  error
		code int
		text string
	}{
		"Nothing":        {nil, 0, ""},
		"Error":          {reason, Failed, "reason"},
		"Warning":        {Exit(Warned, nil), Warned, ""},
		"CannotLook":     {Exit(CannotLook, reason), CannotLook, "reason"},
		"WrappedAnError": {fmt.Errorf("explain: %w", Exit(CannotLook, reason)), CannotLook, "explain: reason"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Code(row.err); got != row.code {
				t.Errorf("code %d, want %d", got, row.code)
			}
			if row.err != nil && row.err.Error() != row.text {
				t.Errorf("text %q, want %q", row.err, row.text)
			}
		})
	}
	if !errors.Is(Exit(CannotLook, reason), reason) {
		t.Error("the error hides its cause")
	}
}
