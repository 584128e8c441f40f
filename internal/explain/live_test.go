package explain

import (
	"encoding/json"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/rest"

	"github.com/fairlead-k8s/fairlead/internal/controller/step"
	"github.com/fairlead-k8s/fairlead/internal/inspect"
)

// answering returns flags that name a daemon, and the requests that the daemon gets.
// The daemon answers each request with the status and the body.
func answering(t *testing.T, status int, body string) (daemonFlags, *[]string) {
	t.Helper()
	var got []string
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = append(got, r.Method+" "+r.URL.Path+" "+r.Header.Get("Authorization"))
		w.Header().Set("Location", "/elsewhere")
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body))
	}))
	t.Cleanup(server.Close)
	ca := filepath.Join(t.TempDir(), "ca.crt")
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	if err := os.WriteFile(ca, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return daemonFlags{url: server.URL, ca: ca}, &got
}

// aCluster returns a cluster with the token of a user. The address and the server name
// belong to the API server, and not to the daemon.
func aCluster() *inspect.Cluster {
	return &inspect.Cluster{Config: &rest.Config{Host: "https://api.example.com", BearerToken: "mine", TLSClientConfig: rest.TLSClientConfig{ServerName: "api.example.com"}}}
}

func TestWhatTheDaemonRemembers(t *testing.T) {
	memory := step.Memory{
		Controller: "node-lifecycle-controller", Reason: "AbsenceUnconfirmed", Text: "The kubelet is silent.", Since: noon.Add(-20 * time.Second), Do: "hold",
		Said: "the instance does not exist", SaidAt: noon.Add(-5 * time.Second), NextLook: noon.Add(10 * time.Second), Attempts: 2,
		Evidence: &step.Evidence{Absences: 2, Of: 3, Since: noon.Add(-20 * time.Second), For: "30s"},
	}
	body, err := json.Marshal(remembered{Version: "v1.37.1", Controllers: []step.Memory{memory}})
	if err != nil {
		t.Fatal(err)
	}
	flags, got := answering(t, http.StatusOK, string(body))
	d, err := flags.open(aCluster())
	if err != nil {
		t.Fatal(err)
	}
	a := all().explain(ofNode(aNode())).askedToo(t.Context(), d)
	if a.Source != Live || a.NotLive != "" || a.Daemon.Version != "v1.37.1" || !cmp.Equal([]step.Memory{memory}, a.Memory) {
		t.Errorf("%+v", a)
	}
	if d := cmp.Diff([]string{"GET /debug/fairlead/v1/objects/node/worker-9 Bearer mine"}, *got); d != "" {
		t.Errorf("requests (-want +got):\n%s", d)
	}
	const want = `  memory      node-lifecycle-controller
              it waits because of AbsenceUnconfirmed: The kubelet is silent.
              since 2026-11-22T11:59:40Z, for 20s
              evidence: absent 2 of 3 times, for 20s of 30s
              the cloud 5s ago: the instance does not exist
              2 calls in a row have not ended the wait
              next: hold
              looks again in 10s at the latest
`
	if !strings.Contains(a.text(noon), want) {
		t.Errorf("got\n%s\nwant\n%s", a.text(noon), want)
	}
}

// A controller can remember only a reason, only a text, or neither.
func TestWhyItWaitsAsRemembered(t *testing.T) {
	for want, m := range map[string]step.Memory{
		"  memory      c\n": {Controller: "c"},
		"  memory      c\n              it waits because of NoNode\n":        {Controller: "c", Reason: "NoNode"},
		"  memory      c\n              it waits: somebody has changed it\n": {Controller: "c", Text: "somebody has changed it"},
	} {
		l := lines{now: noon}
		l.memory(m)
		if got := l.w.String(); got != want {
			t.Errorf("got\n%s\nwant\n%s", got, want)
		}
	}
}

// TestWhyTheAnswerIsNotLive checks that there is an answer even if the daemon cannot be
// asked, and that the answer says what is missing.
func TestWhyTheAnswerIsNotLive(t *testing.T) {
	for name, row := range map[string]struct {
		status       int
		body, source string
		why          string
	}{
		"NothingIsRemembered": {404, "no controller remembers anything about this object\n", Live, "remembers nothing about it"},
		"AnotherProgram":      {404, "404 page not found\n", Offline, "another program"},
		"NoRight":             {403, "Forbidden: User \"a\" cannot get path", Offline, "you need the right to get the non-resource URL /debug/fairlead/v1/objects/*: Forbidden"},
		"NotKnown":            {401, "Unauthorized", Offline, "it does not know you"},
		"Anonymous":           {403, "Forbidden: User \"system:anonymous\" cannot get path", Offline, "it does not know you"},
		"NoLeader":            {503, "this replica does not lead\n", Offline, "503 Service Unavailable: this replica does not lead"},
		"Elsewhere":           {302, "", Offline, "302 Found"},
		"NoJSON":              {200, "{", Offline, "unexpected end of JSON input"},
	} {
		t.Run(name, func(t *testing.T) {
			flags, got := answering(t, row.status, row.body)
			d, err := flags.open(aCluster())
			if err != nil {
				t.Fatal(err)
			}
			a := all().explain(ofNode(aNode())).askedToo(t.Context(), d)
			if a.Source != row.source || !strings.Contains(a.NotLive, row.why) || a.Summary == "" || len(a.Memory) > 0 {
				t.Errorf("%+v", a)
			}
			if !strings.Contains(a.text(noon), row.why) {
				t.Errorf("the text does not have %q:\n%s", row.why, a.text(noon))
			}
			if len(*got) != 1 {
				t.Errorf("requests: %q", *got)
			}
		})
	}
}

func TestDaemonIsVerified(t *testing.T) {
	flags, got := answering(t, http.StatusOK, "{}")
	flags.ca = ""
	d, err := flags.open(aCluster())
	if err != nil {
		t.Fatal(err)
	}
	if a := all().explain(ofNode(aNode())).askedToo(t.Context(), d); a.Source != Offline || !strings.Contains(a.NotLive, "--daemon-ca") || len(*got) > 0 {
		t.Errorf("%+v, requests %q", a, *got)
	}
	flags.insecure = true
	if d, err = flags.open(aCluster()); err != nil {
		t.Fatal(err)
	}
	if a := all().explain(ofNode(aNode())).askedToo(t.Context(), d); a.Source != Live {
		t.Errorf("%+v", a)
	}
}

func TestDaemonFlags(t *testing.T) {
	for _, flags := range []daemonFlags{{url: "http://a:1"}, {url: "a:1"}, {url: "https://a:1/path"}, {url: "https://u:p@a:1"}, {url: "https://a:1?q"}, {url: "https://a:1", ca: "f", insecure: true}} {
		if _, err := flags.open(aCluster()); err == nil {
			t.Errorf("%+v is accepted", flags)
		}
	}
	if d, err := (&daemonFlags{}).open(aCluster()); d != nil || err != nil {
		t.Errorf("without the flag: %v, error %v", d, err)
	}
}
