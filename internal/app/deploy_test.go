package app

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/component-base/metrics"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-k8s/fairlead/internal/manifest"
)

// The command lines in our manifests are complete and valid.
func TestManifestsPassFlagsThatExist(t *testing.T) {
	for _, pattern := range []string{"../../deploy/*.yaml", "../../charts/fairlead/ci/*.golden.yaml"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) < 2 {
			t.Fatalf("%s: %v, %v", pattern, files, err)
		}
		for _, file := range files {
			args := argsIn(t, file)
			if len(args) == 0 {
				t.Errorf("%s: no container has arguments", file)
			}
			if err := parsed(t, strings.Join(args, " ")+" --cloud-provider=test --cloud-config= --tls-cert-file= --tls-private-key-file=").validate(); err != nil {
				t.Errorf("%s: %v", file, err)
			}
		}
	}
}

// The token and the Secrets of a Pod are in the hands of whoever rules its machine. So each
// manifest asks for the control-plane nodes. Clusters without such nodes need the
// Deployment, too, so it only prefers them.
func TestDaemonAsksForControlPlaneNodes(t *testing.T) {
	const label = "node-role.kubernetes.io/control-plane"
	asked := map[string]int{}
	for _, pattern := range []string{"../../deploy/*.yaml", "../../charts/fairlead/ci/*.golden.yaml", "../../deploy/examples/*/manifest*.yaml"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) < 2 {
			t.Fatalf("%s: %v, %v", pattern, files, err)
		}
		for _, file := range files {
			for _, o := range objectsIn(t, file) {
				pod, found, _ := unstructured.NestedMap(o.Object, "spec", "template", "spec")
				if _, selects, _ := unstructured.NestedStringMap(pod, "nodeSelector"); !found || selects {
					continue
				}
				how := map[string]string{"Deployment": "preferred", "DaemonSet": "required"}[o.GetKind()] + "DuringSchedulingIgnoredDuringExecution"
				affinity, _, _ := unstructured.NestedFieldNoCopy(pod, "affinity", "nodeAffinity", how)
				if !strings.Contains(fmt.Sprint(affinity), label) {
					t.Errorf("%s: the affinity %q of the %s has no %s: %v", file, how, o.GetKind(), label, affinity)
				}
				if tolerations, _, _ := unstructured.NestedSlice(pod, "tolerations"); !strings.Contains(fmt.Sprint(tolerations), label) {
					t.Errorf("%s: the %s does not tolerate %s", file, o.GetKind(), label)
				}
				asked[o.GetKind()]++
			}
		}
	}
	if asked["Deployment"] < 5 || asked["DaemonSet"] < 2 {
		t.Errorf("only %v were looked at", asked)
	}
}

func objectsIn(t *testing.T, file string) []*unstructured.Unstructured {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	objects, err := manifest.Objects(string(text))
	if err != nil {
		t.Fatal(err)
	}
	return objects
}

func argsIn(t *testing.T, file string) []string {
	t.Helper()
	var args []string
	for _, o := range objectsIn(t, file) {
		containers, _, _ := unstructured.NestedSlice(o.Object, "spec", "template", "spec", "containers")
		for _, c := range containers {
			found, _, err := unstructured.NestedStringSlice(c.(map[string]any), "args")
			if err != nil {
				t.Fatal(err)
			}
			args = append(args, found...)
		}
	}
	return args
}

// Each metric in the alerts and on the dashboard exists and has the labels that the
// queries use.
func TestAlertsAndDashboardAskForMetricsThatExist(t *testing.T) {
	labels := labelsOfMetrics()
	queries := append(alertQueries(t), dashboardQueries(t)...)
	if len(queries) < 30 {
		t.Fatalf("only %d queries are found", len(queries))
	}
	asked := map[string]bool{}
	for _, q := range queries {
		names := namesIn(q)
		if len(names) == 0 {
			t.Errorf("no metric is found in %s", q)
		}
		var known []string
		for _, name := range names {
			asked[name] = true
			has, ok := labels[name]
			if !ok {
				t.Errorf("there is no metric %s: %s", name, q)
			}
			known = append(known, has...)
		}
		for _, label := range labelsIn(q) {
			if !slices.Contains(known, label) {
				t.Errorf("%v have no label %s: %s", names, label, q)
			}
		}
	}
	// Each of Fairlead's own metrics is in an alert, on the dashboard or in
	// notShown.
	for name := range labels {
		if strings.HasPrefix(name, "fairlead_") && !strings.HasSuffix(name, "_sum") && !strings.HasSuffix(name, "_count") && !asked[name] && !slices.Contains(notShown, name) {
			t.Errorf("neither an alert nor the dashboard has %s", name)
		}
	}
}

// notShown lists metrics that only special investigations need.
var notShown = []string{
	"fairlead_load_balancer_backends", "fairlead_cloud_config_changes_total", "fairlead_nodes", "fairlead_cloud_watch_works", "fairlead_nodes_without_cidrs", "fairlead_node_cidrs_other_allocator",
	"fairlead_shadow_actions_total", "fairlead_shadow_differences", "fairlead_shadow_objects",
}

// ofLibraries lists metrics of libraries, with the labels of each metric. The alerts
// and the dashboard use these metrics. An end-to-end test checks that a daemon has
// them.
var ofLibraries = map[string][]string{
	"running_managed_controllers":   {"manager", "name"},
	"rest_client_requests_total":    {"code", "method", "host"},
	"process_cpu_seconds_total":     nil,
	"process_resident_memory_bytes": nil,
}

// labelsOfMetrics returns the labels of all metrics that the daemon registers.
func labelsOfMetrics() map[string][]string {
	registry := metrics.NewKubeRegistry()
	var told []string
	newControllerMetrics(func(all ...metrics.Registerable) {
		registry.MustRegister(all...)
		for _, m := range all {
			told = append(told, describe(m.Describe)...)
		}
	}, func(all ...metrics.StableCollector) {
		registry.CustomMustRegister(all...)
		for _, c := range all {
			told = append(told, describe(c.Describe)...)
		}
	})
	description := regexp.MustCompile(`fqName: "(\w+)".*variableLabels: \{([\w,]*)\}`)
	labels := map[string][]string{}
	for name, has := range ofLibraries {
		labels[name] = append(has, "job") // Prometheus adds it.
	}
	for _, text := range told {
		match := description.FindStringSubmatch(text)
		name, has := match[1], append(strings.Split(match[2], ","), "le")
		if strings.HasSuffix(name, "_seconds") && !strings.Contains(name, "oldest") { // a histogram
			labels[name+"_bucket"], labels[name+"_sum"], labels[name+"_count"] = has, has, has
			continue
		}
		labels[name] = has
	}
	return labels
}

func describe[D fmt.Stringer](all func(chan<- D)) []string {
	ch := make(chan D)
	go func() { defer close(ch); all(ch) }()
	var told []string
	for d := range ch {
		told = append(told, d.String())
	}
	return told
}

var (
	inBraces   = regexp.MustCompile(`\{[^}]*\}`)
	grouping   = regexp.MustCompile(`\b(?:by|on|without) ?\(([^)]*)\)`)
	matcher    = regexp.MustCompile(`(\w+)(?:=~|!~|!=|=)"`)
	inBrackets = regexp.MustCompile(`\[[^]]*\]`)
	wordsOnly  = regexp.MustCompile(`[a-zA-Z_]\w*( *\()?`)
	keywords   = []string{"or", "and", "unless", "bool"}
)

// namesIn returns the words of a query that are neither functions nor keywords.
func namesIn(query string) []string {
	query = inBrackets.ReplaceAllString(grouping.ReplaceAllString(inBraces.ReplaceAllString(query, ""), ""), "")
	return slices.DeleteFunc(wordsOnly.FindAllString(query, -1), func(word string) bool {
		return strings.HasSuffix(word, "(") || slices.Contains(keywords, word)
	})
}

func labelsIn(query string) []string {
	var labels []string
	for _, match := range matcher.FindAllStringSubmatch(query, -1) {
		labels = append(labels, match[1])
	}
	for _, match := range grouping.FindAllStringSubmatch(query, -1) {
		for label := range strings.SplitSeq(match[1], ",") {
			labels = append(labels, strings.TrimSpace(label))
		}
	}
	return labels
}

func alertQueries(t *testing.T) []string {
	t.Helper()
	var file struct {
		Groups []struct {
			Rules []struct{ Expr string }
		}
	}
	decode(t, "../../charts/fairlead/files/alerts.yaml", func(text []byte) error { return yaml.Unmarshal(text, &file) })
	var queries []string
	for _, group := range file.Groups {
		for _, rule := range group.Rules {
			queries = append(queries, rule.Expr)
		}
	}
	return queries
}

func dashboardQueries(t *testing.T) []string {
	t.Helper()
	var file struct {
		Panels []struct {
			Targets []struct{ Expr string }
		}
	}
	decode(t, "../../charts/fairlead/files/dashboard.json", func(text []byte) error { return json.Unmarshal(text, &file) })
	var queries []string
	for _, panel := range file.Panels {
		for _, target := range panel.Targets {
			queries = append(queries, target.Expr)
		}
	}
	return queries
}

func decode(t *testing.T, file string, into func([]byte) error) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err == nil {
		err = into(text)
	}
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
}
