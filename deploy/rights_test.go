package deploy_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-k8s/fairlead/internal/manifest"
)

// The page of rights lists each right in the manifests, with a reason and with a test
// that exists.
func TestRightsAreDocumented(t *testing.T) {
	page := pageOfRights(t)
	always := rights(t, "deployment.yaml")
	for heading, want := range map[string][]string{
		"Always":                              always,
		"With `useServiceAccountCredentials`": less(rights(t, "../charts/fairlead/ci/service-accounts.golden.yaml"), always),
		"With `volumeLabels.enabled`":         less(rights(t, "../charts/fairlead/ci/volumes.golden.yaml"), always),
		"With `serviceBackends`":              less(rights(t, "../charts/fairlead/ci/backends.golden.yaml"), always),
		"With `servingCertificates.enabled`":  less(rights(t, "../charts/fairlead/ci/serving-certificates.golden.yaml"), always),
		"With `leaderMigration.enabled`":      less(rights(t, "../charts/fairlead/ci/migration.golden.yaml"), always),
	} {
		if diff := cmp.Diff(slices.Sorted(slices.Values(want)), slices.Sorted(maps.Keys(page[heading]))); diff != "" {
			t.Errorf("%s (-manifest +page):\n%s", heading, diff)
		}
	}
	tests := endToEndTests(t)
	for _, rows := range page {
		for right, row := range rows {
			if row.reason == "" || !strings.Contains(tests, "\nfunc "+row.test+"(t *testing.T) {") {
				t.Errorf("%s: no reason, or no such test: %+v", right, row)
			}
		}
	}
}

// The values for known clouds give rights without wildcards, and the page names each
// file that gives rights.
func TestRightsOfKnownCloudsHaveNoWildcards(t *testing.T) {
	files, err := filepath.Glob("examples/*/values*.yaml")
	if err != nil || len(files) < 14 {
		t.Fatalf("values: %v, %v", files, err)
	}
	page := read(t, "../docs/reference/rights.md")
	for _, file := range files {
		var values struct {
			RBAC struct{ ExtraClusterRules []rbacv1.PolicyRule }
		}
		if err := yaml.Unmarshal([]byte(read(t, file)), &values); err != nil {
			t.Errorf("%s: %v", file, err)
		}
		for _, rule := range values.RBAC.ExtraClusterRules {
			if all := slices.Concat(rule.APIGroups, rule.Resources, rule.Verbs); slices.Contains(all, "*") || len(rule.Verbs) == 0 {
				t.Errorf("%s: %v", file, rule)
			}
		}
		named := strings.Contains(page, "(../../deploy/"+file+")")
		if needs := len(values.RBAC.ExtraClusterRules) > 0; needs != named {
			t.Errorf("%s needs rights: %t; the page names it: %t", file, needs, named)
		}
	}
}

// row is a row of the page.
type row struct{ reason, test string }

// pageOfRights returns the rows of the page by heading and by right.
func pageOfRights(t *testing.T) map[string]map[string]row {
	t.Helper()
	page := map[string]map[string]row{}
	var heading string
	for line := range strings.Lines(read(t, "../docs/reference/rights.md")) {
		line = strings.TrimSpace(line)
		if text, ok := strings.CutPrefix(line, "## "); ok {
			heading = text
		}
		if !strings.HasPrefix(line, "| `") {
			continue
		}
		cells := strings.Split(strings.Trim(line, "|"), "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		if len(cells) != 5 {
			t.Fatalf("a row with %d cells: %s", len(cells), line)
		}
		if page[heading] == nil {
			page[heading] = map[string]row{}
		}
		right := strings.ReplaceAll(fmt.Sprintf("%s %s [%s]", cells[0], cells[1], cells[2]), "`", "")
		page[heading][right] = row{cells[3], strings.Trim(cells[4], "`")}
	}
	return page
}

// rights returns the rights that the manifest gives, in the form of the page.
func rights(t *testing.T, file string) []string {
	t.Helper()
	objects, err := manifest.Access(read(t, file), "somebody")
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, o := range objects {
		var role struct {
			Rules   []rbacv1.PolicyRule `json:"rules"`
			RoleRef rbacv1.RoleRef      `json:"roleRef"`
		}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, &role); err != nil {
			t.Fatal(err)
		}
		if name := role.RoleRef.Name; name != "" && !strings.HasSuffix(name, "-as-user") { // a role that the manifest does not have
			all = append(all, fmt.Sprintf("bound role [%s]", name))
		}
		for _, r := range role.Rules {
			for _, resource := range r.Resources {
				for _, verb := range r.Verbs {
					what := strings.TrimSuffix(resource+"."+r.APIGroups[0], ".")
					all = append(all, fmt.Sprintf("%s %s [%s]", verb, what, strings.Join(r.ResourceNames, ", ")))
				}
			}
		}
	}
	return all
}

func less(all, without []string) []string {
	return slices.DeleteFunc(all, func(r string) bool { return slices.Contains(without, r) })
}

func endToEndTests(t *testing.T) string {
	t.Helper()
	files, err := filepath.Glob("../test/e2e/*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(text)
	}
	return all.String()
}
