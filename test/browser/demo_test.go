package browser

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// demoWithin is the time within which the demo must have shown everything. Usually it
// takes far less.
const demoWithin = 6 * time.Minute

// startDemo runs the demo of the playground, as `make demo` does. It returns the URL
// of the page and the path of the kubeconfig.
func startDemo(t *testing.T) (url, kubeconfig string) {
	t.Helper()
	folder := filepath.Dir(program)
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), filepath.Join(folder, "playground"), "demo",
		"--simcloud="+program, "--ccm="+filepath.Join(folder, "cloud-controller-manager"), "--timeout="+demoWithin.String())
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = cmd.Stdout
	if err := cmd.Start(); err != nil {
		t.Fatalf("%v; `make test-browser` builds it", err)
	}
	t.Cleanup(func() {
		if err := cmd.Process.Signal(os.Interrupt); err != nil && !errors.Is(err, os.ErrProcessDone) {
			t.Error(err)
		}
		_ = cmd.Wait() // the error may only say that it was interrupted
	})
	var said []string
	for lines := bufio.NewScanner(out); lines.Scan(); {
		said = append(said, lines.Text())
		if _, rest, found := strings.Cut(lines.Text(), "export KUBECONFIG="); found {
			kubeconfig = rest
		}
		if _, rest, found := strings.Cut(lines.Text(), "live, in a browser: "); found {
			go func() { // nobody else reads the rest of the demo's output
				for lines.Scan() {
				}
			}()
			return rest, kubeconfig
		}
	}
	t.Fatalf("the demo has ended:\n%s", strings.Join(said, "\n"))
	return "", ""
}

// deleteService deletes the Service of the demo, as kubectl does.
func deleteService(t *testing.T, kubeconfig string) {
	t.Helper()
	content, err := os.ReadFile(kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	field := func(name string) string {
		found := regexp.MustCompile(`(?m)\b` + name + `: (\S+)$`).FindSubmatch(content)
		if found == nil {
			t.Fatalf("there is no %s in %s", name, kubeconfig)
		}
		return strings.Trim(string(found[1]), `"`)
	}
	authority, err := base64.StdEncoding.DecodeString(field("certificate-authority-data"))
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(authority)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodDelete, field("server")+"/api/v1/namespaces/default/services/web", nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+field("token"))
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}, DisableKeepAlives: true}}
	answer, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	if err := answer.Body.Close(); err != nil || answer.StatusCode != http.StatusOK {
		t.Fatalf("the Service is not deleted: %s, %v", answer.Status, err)
	}
}

// TestCauseAndEffect checks in the real demo that the page shows both sides: a fault
// that is switched on in the page, and its effect in the cluster. It also takes the
// picture of the README:
//
//	make test-browser DEMO_PICTURE=docs/pictures/cause-and-effect.png
//
// On a busy machine, a kubelet might fall silent during the test. So after the fault, the
// test checks only the Service.
func TestCauseAndEffect(t *testing.T) {
	t.Parallel()
	url, kubeconfig := startDemo(t)
	p := open(t, url)
	p.see("#live", "live")
	p.see("#cluster", "cloud-controller-manager works")
	p.miss("#held", "Service")
	p.see("#nodes", "node-3 simulated://sim-1/i-00000003")
	p.see("#services", "default/web LoadBalancerServing True")
	p.see("#events", "Node node-1 Synced")

	p.toggle("denied")
	p.seeSwitch("denied", "true")
	deleteService(t, kubeconfig)
	p.see("#held", "Service default/web CloudDenied")
	p.see("#held", "The cloud denies access. Check the credentials of the cloud-controller-manager")
	p.see("#services", "default/web being deleted")
	p.see("#events", "Service default/web SyncLoadBalancerFailed")
	p.see("#cluster-announcement", "The deletion of Service default/web waits")
	p.takePicture("DEMO_PICTURE")

	p.toggle("denied")
	p.seeSwitch("denied", "false")
	p.miss("#held", "Service")
	p.see("#services", "None of type LoadBalancer.")
	p.see("#load-balancers", "Load balancers 0")
	p.see("#cluster-announcement", "The deletion of Service default/web no longer waits.")
}
