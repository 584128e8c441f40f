package e2e

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-k8s/fairlead/test/internal/bed"
	"github.com/fairlead-k8s/fairlead/test/internal/expect"
)

// lifeWithoutFaults creates 30 Services, and lets one Node join and go. The public rules do
// not fire on the metrics after each of these events.
func (s *contender) lifeWithoutFaults(t *testing.T) {
	t.Helper()
	scrapes := t.TempDir()
	none := look{"gone": "route false, backend no", "events": "*"}
	lives := []besideRow{{"node-first", []besideStep{{acts: []act{joinsAs(nil)}}}}}
	lives[0].steps[0].want = look{"backend": "no"}
	joined := besideStep{acts: []act{joinsAs(nil)}, want: look{"backend": "*"}}
	s.playInTurn(t, scrapes, 0, lives)
	var served []besideRow
	for n := range 30 {
		served = append(served, besideRow{fmt.Sprintf("service-healthy-%d", n), []besideStep{{acts: []act{serves(nil)}}}})
	}
	s.playInTurn(t, scrapes, 1, served)
	s.playInTurn(t, scrapes, 2, []besideRow{{"node-healthy", []besideStep{joined}}})
	s.playInTurn(t, scrapes, 3, []besideRow{{"node-healthy", []besideStep{{acts: []act{terminates, reports(corev1.ConditionUnknown)}, want: none}}}})
	if !s.ours {
		return
	}
	command := exec.CommandContext(t.Context(), "go", "test", "-count=1", "-run=^TestPublicRules$", ".")
	command.Dir = "../alerts"
	command.Env = append(os.Environ(), "GOFLAGS=-buildvcs=false", "FAIRLEAD_SCRAPES="+scrapes)
	if out, err := command.CombinedOutput(); err != nil || strings.Contains(string(out), "SKIP") {
		t.Errorf("public rules: %v\n%s", err, out)
	}
}

// playInTurn plays the rows, and then writes the nth scrape.
func (s *contender) playInTurn(t *testing.T, scrapes string, n int, rows []besideRow) {
	t.Helper()
	for _, r := range rows { // All of them begin before the first of them is awaited.
		for _, do := range r.steps[0].acts {
			if err := do(t.Context(), s, r.name); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, r := range rows {
		if err := s.await(t.Context(), r.name, r.steps[0]); err != nil {
			t.Fatalf("%s: %v", r.name, err) // Each of the others would be awaited for as long.
		}
	}
	lines := append(s.metrics(t), s.stateMetrics(t)...)
	bed.WriteFile(t, filepath.Join(scrapes, fmt.Sprintf("%d.prom", n)), strings.Join(lines, "\n"))
}

func (s *contender) metrics(t *testing.T) []string {
	t.Helper()
	var lines []string
	expect.Within(t, expect.Soon, func(ctx context.Context) (err error) {
		lines, err = s.Metrics(ctx, s.daemon)
		return err
	})
	return lines
}

// stateMetrics returns what kube-state-metrics would say about Nodes and Services.
func (s *contender) stateMetrics(t *testing.T) []string {
	t.Helper()
	all, err := s.Admin.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
	services, err2 := s.Admin.CoreV1().Services(metav1.NamespaceDefault).List(t.Context(), metav1.ListOptions{})
	if err != nil || err2 != nil {
		t.Fatal(err, err2)
	}
	lines := []string{"up 1"}
	for _, node := range all.Items {
		for _, c := range node.Status.Conditions {
			for _, status := range []corev1.ConditionStatus{corev1.ConditionTrue, corev1.ConditionFalse, corev1.ConditionUnknown} {
				value := 0
				if c.Status == status {
					value = 1
				}
				lines = append(lines, fmt.Sprintf(`kube_node_status_condition{node=%q,condition=%q,status=%q} %d`,
					node.Name, c.Type, strings.ToLower(string(status)), value))
			}
		}
		for _, taint := range node.Spec.Taints {
			lines = append(lines, fmt.Sprintf(`kube_node_spec_taint{node=%q,key=%q,effect=%q} 1`, node.Name, taint.Key, taint.Effect))
		}
	}
	for _, service := range services.Items {
		lines = append(lines, fmt.Sprintf(`kube_service_spec_type{service=%q,type=%q} 1`, service.Name, service.Spec.Type))
		for _, i := range service.Status.LoadBalancer.Ingress {
			lines = append(lines, fmt.Sprintf(`kube_service_status_load_balancer_ingress{service=%q,ip=%q} 1`, service.Name, i.IP))
		}
	}
	return lines
}

// counted are the series of controllers and of their clients, without those of the
// libraries for servers.
var counted = regexp.MustCompile(
	`^(cloud_|cloudprovider_|node_controller_|service_controller_|route_controller_|running_managed|workqueue_|rest_client_requests_total)`)

// momentary are those that are 0 whenever nothing is under way. They only have to exist.
var momentary = regexp.MustCompile(`^workqueue_(depth|unfinished_work_seconds|longest_running_processor_seconds)\{`)

// differingSeries are the skeleton's series that Fairlead does not have, with the ID of the
// difference.
var differingSeries = []struct{ prefix, label, id string }{
	{"workqueue_", `name="node"`, "one-queue"},
	{"workqueue_retries_total", `name="service"`, "service-retries"},
}

// seriesDiffer returns the ID of a difference, or "".
func seriesDiffer(series string) string {
	for _, d := range differingSeries {
		if strings.HasPrefix(series, d.prefix) && strings.Contains(series, d.label) {
			return d.id
		}
	}
	return ""
}

// seriesIn returns the names and labels of series that have moved, without what differs from
// run to run.
func seriesIn(lines []string) []string {
	var all []string
	for _, line := range lines {
		end := strings.LastIndex(line, " ")
		if !counted.MatchString(line) || strings.Contains(line, "_bucket{") || strings.HasSuffix(line, " 0") && !momentary.MatchString(line) {
			continue
		}
		all = append(all, regexp.MustCompile(`(host|code|method)="[^"]*",?`).ReplaceAllString(line[:end], ""))
	}
	slices.Sort(all)
	return slices.Compact(all)
}
