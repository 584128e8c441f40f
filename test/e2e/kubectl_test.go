package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/fairlead-k8s/fairlead/test/internal/expect"
	"github.com/fairlead-k8s/fairlead/test/internal/nodes"
)

// TestKubectl runs the plugin as users do, with a real kubectl.
func TestKubectl(t *testing.T) {
	p := &patient{Bed: onShared(t)}
	joining := nodes.New(p.Name("plugin"))
	joining.Spec.PodCIDR = "10.250.0.0/24"
	node := p.Register(t, joining).Name
	p.nodes = []string{node}
	service := p.service(t, nil, "")
	volume := newPV(t, p.Bed, p.Name("plugin"), "disk.example.com", "disk-1")
	requestCertificate(t, p)

	t.Run("IsFound", func(t *testing.T) {
		out, err := p.Shell(t.Context(), "kubectl plugin list")
		if err != nil || !strings.Contains(out, "/kubectl-fairlead\n") {
			t.Errorf("kubectl finds %q, error %v", out, err)
		}
	})
	t.Run("Completes", func(t *testing.T) {
		for words, want := range map[string]string{
			"fairlead doc":                 "doctor\t",
			"fairlead explain --wai":       "--waiting\t",
			"fairlead explain node/plugin": "node/" + node,
		} {
			expect.Within(t, expect.Soon, func(ctx context.Context) error { // A completion waits for the API server for two seconds only.
				out, err := p.Shell(ctx, "kubectl __complete "+words)
				if err == nil && !strings.Contains(out, want) {
					err = fmt.Errorf("%s: completed %q", words, out)
				}
				return err
			})
		}
	})
	t.Run("ExitCode", func(t *testing.T) {
		out, err := p.Shell(t.Context(), `kubectl fairlead explain node/nobody 2>&1; echo "code $?"`)
		if err != nil || !strings.HasSuffix(out, "code 1\n") || !strings.Contains(out, "nobody") {
			t.Errorf("it has printed %s, error %v", out, err)
		}
	})
	t.Run("FlagsOfKubectl", func(t *testing.T) {
		out, err := p.Shell(t.Context(), `unset KUBECONFIG; kubectl fairlead explain service/"$1" -n default --kubeconfig="$2" --context="$(kubectl config current-context --kubeconfig="$2")"`, service, p.Cluster.Kubeconfig)
		if err != nil || !strings.Contains(out, service) {
			t.Errorf("it has printed %s, error %v", out, err)
		}
	})
	for _, object := range []string{"node/" + node, "service/default/" + service, "route/10.250.0.0/24", "volume/" + volume} {
		t.Run("NextCommandsRun/"+object[:strings.Index(object, "/")], func(t *testing.T) { p.nextCommandsRun(t, object) })
	}
	t.Run("NextCommandsRun/request", func(t *testing.T) {
		out, err := p.Shell(t.Context(), "kubectl get csr -o name | grep doctored")
		if err != nil {
			t.Fatal(err)
		}
		_, name, _ := strings.Cut(strings.Fields(out)[0], "/")
		p.nextCommandsRun(t, "request/"+name)
	})
}

// nextCommandsRun runs each of the next commands that the sub-command "explain" suggests.
func (p *patient) nextCommandsRun(t *testing.T, object string) {
	t.Helper()
	var answer struct{ Next []string }
	if text := p.Fairlead(t, "explain", object, "-o", "json"); json.Unmarshal([]byte(text), &answer) != nil || len(answer.Next) == 0 {
		t.Fatalf("explain names no command:\n%s", text)
	}
	for _, command := range answer.Next {
		if _, err := p.Shell(t.Context(), command); err != nil {
			t.Errorf("explain proposes a command that fails: %v", err)
		}
	}
}
