package deploy_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/fairlead-k8s/fairlead/internal/manifest"
)

// envelope has the rights that the manifests may give. The manifests of the community's
// daemon give most of them, too. The comments name the values of the chart that need the
// others. The daemon lists and watches all Services, and writes them only through their
// subresource status.
var envelope = map[string][]string{
	"events":                             {"create", "patch"},
	"nodes":                              {"get", "list", "watch", "update", "patch", "delete"},
	"nodes/status":                       {"update", "patch"},
	"services":                           {"list", "watch"},
	"services/status":                    {"update", "patch"},
	"persistentvolumes":                  {"list", "watch", "patch"}, // volumeLabels.enabled
	"endpointslices.discovery.k8s.io":    {"list", "watch"},          // serviceBackends
	"leases.coordination.k8s.io":         {"get", "create", "update"},
	"serviceaccounts":                    {"get", "create"},
	"serviceaccounts/token":              {"create"},
	"namespaces":                         {"get"},
	"tokenreviews.authentication.k8s.io": {"create"},
	"subjectaccessreviews.authorization.k8s.io": {"create"},
	// With servingCertificates.enabled. The community's daemon does not have these rights.
	"certificatesigningrequests.certificates.k8s.io":          {"get", "list", "watch"},
	"certificatesigningrequests/approval.certificates.k8s.io": {"update"},
	"signers.certificates.k8s.io":                             {"approve"},
	"secrets":                                                 {"get"}, // rbac.extraClusterRules in ci/everything-values.yaml
}

func TestRightsStayWithinTheEnvelope(t *testing.T) {
	rules := 0
	for file, rule := range allRules(t) {
		for _, r := range rule {
			rules++
			for _, resource := range r.Resources {
				if group := r.APIGroups[0]; group != "" {
					resource += "." + group
				}
				for _, verb := range r.Verbs {
					if !slices.Contains(envelope[resource], verb) {
						t.Errorf("%s: the daemon may %s %s", file, verb, resource)
					}
				}
				if resource == "serviceaccounts/token" && len(r.ResourceNames) == 0 {
					t.Errorf("%s: with a token of any account in kube-system the daemon may do everything", file)
				}
			}
			if len(r.APIGroups) != 1 || len(r.NonResourceURLs) > 0 {
				t.Errorf("%s: a rule of another kind: %v", file, r)
			}
		}
	}
	if rules < 30 {
		t.Errorf("only %d rules are found", rules)
	}
}

// allRules returns the rules of each manifest that is made from the chart.
func allRules(t *testing.T) map[string][]rbacv1.PolicyRule {
	t.Helper()
	golden, err := filepath.Glob("../charts/fairlead/ci/*.golden.yaml")
	if err != nil {
		t.Fatal(err)
	}
	all := map[string][]rbacv1.PolicyRule{}
	for _, file := range append(golden, "deployment.yaml", "daemonset.yaml") {
		objects, err := manifest.Access(read(t, file), "somebody")
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		for _, o := range objects {
			var role rbacv1.ClusterRole
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, &role); err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			if isForPeople(t, file, role) {
				continue
			}
			all[file] = append(all[file], role.Rules...)
		}
	}
	return all
}

// isForPeople reports whether a role is for people and not for the daemon. It fails the
// test if such a role is bound to somebody or allows more than reading.
func isForPeople(t *testing.T, file string, role rbacv1.ClusterRole) bool {
	t.Helper()
	name, _, isExplain := strings.Cut(role.Name, "-explain")
	if !isExplain {
		return false
	}
	name += "-explain" // without the suffix that manifest.Access adds
	if role.Kind != "ClusterRole" {
		t.Errorf("%s: %s %s binds the role for people", file, role.Kind, role.Name)
	}
	for _, r := range role.Rules {
		for _, verb := range r.Verbs {
			if verb != "get" && verb != "list" {
				t.Errorf("%s: %s may %s", file, role.Name, verb)
			}
		}
	}
	if n := strings.Count(read(t, file), "name: "+name+"\n"); n != 1 {
		t.Errorf("%s names %s %d times, want once: somebody is bound to it", file, name, n)
	}
	return true
}

// The Dockerfile names the same user as the pods, and the same base image as ko.
func TestImageAgreesWithPods(t *testing.T) {
	dockerfile, ko := read(t, "../Dockerfile"), read(t, "../.ko.yaml")
	for _, same := range []struct {
		what   string
		images string // the pattern in the Dockerfile
		in     string // the text of the other file
		others string // the pattern in the other file
	}{
		{"user", `(?m)^USER (\d+):\d+$`, read(t, "deployment.yaml"), `runAsUser: (\d+)`},
		{"group", `(?m)^USER \d+:(\d+)$`, read(t, "deployment.yaml"), `runAsGroup: (\d+)`},
		{"base", `(?m)^FROM (gcr\.io\S+)$`, ko, `(?m)^defaultBaseImage: (\S+)$`},
	} {
		image, other := found(same.images, dockerfile), found(same.others, same.in)
		if image == "" || image != other {
			t.Errorf("%s: the Dockerfile says %q, the other %q", same.what, image, other)
		}
	}
	for _, platform := range []string{"linux/amd64", "linux/arm64"} {
		if !strings.Contains(ko, "- "+platform+"\n") || !strings.Contains(read(t, "../tools/image.sh"), platform) {
			t.Errorf("no image for %s", platform)
		}
	}
}

func found(pattern, text string) string {
	match := regexp.MustCompile(pattern).FindStringSubmatch(text)
	if match == nil {
		return ""
	}
	return match[1]
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
