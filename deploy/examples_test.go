package deploy_test

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// If a comment holds a key that the file already has, and somebody removes the #, the
// file has the key twice. The last one counts, and the values of the first are lost
// without a warning. So an example has no values in comments. Values for another way to
// install are in a separate file.
func TestExamplesHaveNoValuesInComments(t *testing.T) {
	var files []string
	for _, pattern := range []string{"examples/*/values*.yaml", "../examples/provider/deploy/values.yaml", "../examples/hybrid/*.yaml"} {
		found, err := filepath.Glob(pattern)
		if err != nil || len(found) == 0 {
			t.Fatal(pattern, err)
		}
		files = append(files, found...)
	}
	key := regexp.MustCompile(`(?m)^\s*#\s*-? *[a-z]\w*: *([[{"].*|\S+)?$`)
	for _, file := range files {
		if line := key.FindString(read(t, file)); line != "" {
			t.Errorf("%s has a value in a comment: %s", file, line)
		}
	}
}

// The manifest for Hetzner Cloud with a network has each flag and each environment
// variable of the manifest without a network.
func TestNetworkOfHetznerTakesNothingAway(t *testing.T) {
	without, with := read(t, "examples/hcloud/manifest.yaml"), read(t, "examples/hcloud/manifest-network.yaml")
	for _, pattern := range []string{`(?m)^ +- name: [A-Z_]+$`, `(?m)^ +- "--.*$`} {
		wanted := regexp.MustCompile(pattern).FindAllString(without, -1)
		if len(wanted) < 3 {
			t.Fatalf("%s: only %q are found", pattern, wanted)
		}
		for _, line := range wanted {
			if !strings.Contains(with, line+"\n") {
				t.Errorf("with a network there is no %q", line)
			}
		}
	}
	for _, line := range []string{"- name: HCLOUD_NETWORK\n", "- --configure-cloud-routes=true\n", "\n      hostNetwork: true\n"} {
		if !strings.Contains(with, line) {
			t.Errorf("with a network there is no %q", line)
		}
	}
}

// The image of the guide to known clouds has the same base and user as ours. Its
// program reports the version of our Kubernetes libraries.
func TestImageOfKnownCloudsAgreesWithOurs(t *testing.T) {
	guide := read(t, "../docs/guides/known-providers.md")
	base, user := found(`(?m)^(FROM gcr\.io\S+)$`, read(t, "../Dockerfile")), found(`(?m)^(USER \S+)$`, read(t, "../Dockerfile"))
	kubernetes := found(`k8s\.io/component-base v0\.(\S+)`, read(t, "../go.mod"))
	module := "github.com/hetznercloud/hcloud-cloud-controller-manager"
	version := found("`"+module+" (v[^`]+)`", guide)
	for _, text := range []string{base, user, "gitVersion=v1." + kubernetes + "+", "go get " + module + "@" + version + "\n", "need Go " + found(`(?m)^go (\d+\.\d+)`, read(t, "../go.mod"))} {
		if !strings.Contains(guide, text) {
			t.Errorf("the guide has no %q", text)
		}
	}
}

// With shadow.enabled, the daemon is one Pod that may only read, whatever else the
// values switch on. There is one exception: the Pod may create the reviews by which it
// authenticates and authorizes requests to its port.
func TestShadowMayOnlyRead(t *testing.T) {
	for _, name := range []string{"shadow", "shadow-rules"} {
		file := "../charts/fairlead/ci/" + name + ".golden.yaml"
		for _, right := range rights(t, file) {
			verb, what, _ := strings.Cut(right, " ")
			reads := verb == "get" || verb == "list" || verb == "watch" || verb == "bound" && what == "role [extension-apiserver-authentication-reader]"
			if !reads && right != "create tokenreviews.authentication.k8s.io []" && right != "create subjectaccessreviews.authorization.k8s.io []" {
				t.Errorf("%s: it may %s", name, right)
			}
		}
		manifest := read(t, file)
		for _, text := range []string{"kind: Deployment\n", "\n  replicas: 1\n", "\n            - --shadow\n"} {
			if !strings.Contains(manifest, text) {
				t.Errorf("%s has no %q", name, text)
			}
		}
	}
	example := read(t, "../charts/fairlead/ci/shadow.golden.yaml")
	for _, text := range []string{"serviceAccountName: fairlead-shadow\n", "--secure-port=10268\n"} {
		if !strings.Contains(example, text) {
			t.Errorf("the example has no %q", text)
		}
	}
	if kinds := regexp.MustCompile(`(?m)^kind: (ServiceMonitor|PodMonitor|PrometheusRule|ValidatingAdmission\w+)$`).FindAllString(example, -1); len(kinds) > 0 {
		t.Errorf("the example makes objects of the release that will work: %q", kinds)
	}
}
