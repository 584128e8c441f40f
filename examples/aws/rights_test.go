package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/util/yaml"
)

// The end-to-end tests run the daemon with the roles that the provider's module
// publishes. These tests do not link the module, so they use copies of the
// roles. This test compares the copies with the published roles.
func TestRolesAreAsPublished(t *testing.T) {
	dir, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", "k8s.io/cloud-provider-aws").Output()
	if err != nil {
		t.Fatal(err)
	}
	published := func(file string) string { return filepath.Join(strings.TrimSpace(string(dir)), file) }
	var chart struct {
		ClusterRoleRules []rbacv1.PolicyRule `json:"clusterRoleRules"`
	}
	parse(t, published("charts/aws-cloud-controller-manager/values.yaml"), &chart)
	var base rbacv1.ClusterRole
	parse(t, published("examples/existing-cluster/base/cluster-role.yaml"), &base)
	for ours, rules := range map[string][]rbacv1.PolicyRule{
		"cloud-provider-aws.yaml":      chart.ClusterRoleRules,
		"cloud-provider-aws-base.yaml": base.Rules,
	} {
		var role rbacv1.ClusterRole
		parse(t, filepath.Join("../../test/e2e/testdata", ours), &role)
		if d := cmp.Diff(rules, role.Rules); d != "" || len(rules) == 0 {
			t.Errorf("%s (-published +ours):\n%s", ours, d)
		}
	}
}

// parse reads the first object of the file.
func parse(t *testing.T, file string, into any) {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	if err := yaml.NewYAMLOrJSONDecoder(f, 4096).Decode(into); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
}
