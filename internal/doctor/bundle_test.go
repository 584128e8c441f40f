package doctor

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-k8s/fairlead/internal/cluster"
)

const planted = "hunter2"

// withSecrets returns a cluster with a secret in every place where somebody might
// put one.
func withSecrets() *cluster.View {
	v := healthy()
	annotations := map[string]string{"kubectl.kubernetes.io/last-applied-configuration": planted, "acme.example/token": planted, "fairlead.dev/load-balancer-class": "acme"}
	fields := []metav1.ManagedFieldsEntry{{Manager: "kubectl", FieldsV1: metav1.NewFieldsV1(`{"f:metadata":{"f:finalizers":{"v:\"` + planted + `\"":{}}}}`)}}
	url := `Put "https://me:` + planted + `@lb.example/v1?token=` + planted + `": EOF`
	v.Nodes[0].Annotations, v.Nodes[0].ManagedFields = annotations, fields
	v.Nodes[0].Spec.Taints = []corev1.Taint{{Key: "node.cloudprovider.kubernetes.io/uninitialized", Effect: corev1.TaintEffectNoSchedule}}
	v.Nodes[0].Status.Conditions = []corev1.NodeCondition{{Type: "CloudInitialized", Status: corev1.ConditionFalse, Reason: "CloudFailed", Message: url}}
	v.Services[0].Annotations, v.Services[0].ManagedFields = annotations, fields
	v.Services[0].Status.Conditions = []metav1.Condition{{Type: "LoadBalancerProvisioning", Message: url}}
	v.Leases[0].Annotations = annotations
	v.Requests = []certificatesv1.CertificateSigningRequest{{
		ObjectMeta: metav1.ObjectMeta{Annotations: annotations}, Spec: certificatesv1.CertificateSigningRequestSpec{Request: []byte(planted), Extra: map[string]certificatesv1.ExtraValue{planted: {planted}}},
	}}
	v.Events = []corev1.Event{{ObjectMeta: metav1.ObjectMeta{Annotations: annotations}, Message: url}}
	for _, text := range []string{
		`{"url":"https:\/\/me:` + planted + `@lb.example\/v1?token=` + planted + `\u0026x=1"}`,
		"to=https%3A%2F%2Fme%3A" + planted + "%40lb.example%2Fv1%3Ftoken%3D" + planted,
		"me:" + planted + "@lb.example/v1?token=" + planted,
		"Authorization: Bearer " + planted,
		`headers {\"Authorization\": \"Basic ` + planted + `\"}`,
	} {
		v.Events = append(v.Events, corev1.Event{Message: text, Reason: text, ReportingController: text, InvolvedObject: corev1.ObjectReference{Kind: "Node", Name: text}})
	}
	v.Missing = map[cluster.Source]error{cluster.OtherEvents: errors.New(url)}
	v.Nodes[0].Spec.ProviderID = "acme://me:" + planted + "@zone/i-1"
	line := []string{"acme-ccm", "--token=" + planted, "--password", planted, "--cloud-provider=acme", planted, "exec x --key=" + planted}
	v.Workloads[0].Template.Containers[0].Line = line
	v.Pods[0].Template.Containers = []cluster.Container{{Name: "shell", Line: []string{"TOKEN=" + planted + " exec ccm"}}}
	return v
}

// unpack returns the files of a bundle.
func unpack(t *testing.T, from io.Reader) map[string]string {
	t.Helper()
	zipped, err := gzip.NewReader(from)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for archive := tar.NewReader(zipped); ; {
		h, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(archive)
		if err != nil {
			t.Fatal(err)
		}
		files[h.Name] = string(text)
	}
}

func TestBundleHasNoSecrets(t *testing.T) {
	v := withSecrets()
	waits := map[string]any{"items": []any{map[string]any{"reason": "CloudFailed", "times": 2, "message": v.Nodes[0].Status.Conditions[0].Message + "\nnext line"}}}
	var out bytes.Buffer
	if err := writeBundle(&out, v, Run(v, Choice{}), waits); err != nil {
		t.Fatal(err)
	}
	files := unpack(t, &out)
	for name, text := range files {
		if strings.Contains(text, planted) {
			t.Errorf("%s has a secret:\n%s", name, text)
		}
	}
	for name, want := range map[string]string{
		"fairlead-doctor/doctor.json":    `"id": "FL203"`,
		"fairlead-doctor/nodes.json":     `"acme.example/token": "xxxxx"`,
		"fairlead-doctor/services.json":  `"fairlead.dev/load-balancer-class": "acme"`,
		"fairlead-doctor/workloads.json": `"--token=xxxxx"`,
		"fairlead-doctor/pods.json":      `"imageID": "sha256:1"`,
		"fairlead-doctor/events.json":    "https://xxxxx@lb.example/v1?xxxxx",
		"fairlead-doctor/leases.json":    `"holderIdentity": "replica"`,
		"fairlead-doctor/waiting.json":   `https://xxxxx@lb.example/v1?xxxxx\": EOF next line`,
	} {
		if !strings.Contains(files[name], want) {
			t.Errorf("%s does not have %s:\n%s", name, want, files[name])
		}
	}
	if v.Workloads[0].Template.Containers[0].Line[1] != "--token="+planted {
		t.Error("what was read was changed")
	}
}

func TestReportHasNoSecrets(t *testing.T) {
	r := Run(withSecrets(), Choice{})
	for name, text := range map[string]string{"text": r.Text(), "markdown": r.Markdown()} {
		if !strings.Contains(text, "FL203") || strings.Contains(text, planted) {
			t.Errorf("%s:\n%s", name, text)
		}
	}
}

func TestRedactLine(t *testing.T) {
	line := []string{"/bin/ccm", "--cloud-provider=acme", "--leader-elect", "--own-key=x", "value", "-v", "sh -c --token=x", "--a b=c"}
	want := []string{"/bin/ccm", "--cloud-provider=acme", "--leader-elect", "--own-key=xxxxx", "xxxxx", "xxxxx", "xxxxx", "xxxxx"}
	if d := cmp.Diff(want, redactLine(line)); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
}

func TestBundleIsANewFileOfItsOwner(t *testing.T) {
	file := filepath.Join(t.TempDir(), "out.tar.gz")
	v := healthy()
	if err := WriteBundle(file, v, Run(v, Choice{}), nil); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(file)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, error %v", info.Mode(), err)
	}
	if err := WriteBundle(file, v, Run(v, Choice{}), nil); !errors.Is(err, os.ErrExist) {
		t.Errorf("a file that exists: error %v", err)
	}
	if again, err := os.Stat(file); err != nil || again.Size() != info.Size() {
		t.Errorf("the file is not what it was: %v, error %v", again, err)
	}
}

// TestReviews checks the rights that a manager needs for its flags.
func TestReviews(t *testing.T) {
	for name, row := range map[string]struct {
		args []string
		want []string // the account and the right; rights that no manager should have are only counted
	}{
		"Default": {nil, []string{
			"ccm list nodes", "ccm watch nodes", "ccm get leases.coordination.k8s.io cloud-controller-manager", "ccm update leases.coordination.k8s.io cloud-controller-manager",
			"ccm patch nodes", "ccm patch nodes/status", "ccm create events", "ccm get nodes", "ccm delete nodes", "ccm list services", "ccm watch services", "ccm patch services/status",
		}},
		"NothingIsDeleted": {[]string{"--controllers=*,-cloud-node-lifecycle,-service", "--leader-elect=false"}, []string{
			"ccm list nodes", "ccm watch nodes", "ccm patch nodes", "ccm patch nodes/status", "ccm create events",
		}},
		"AccountsOfTheControllers": {[]string{"--use-service-account-credentials", "--controllers=cloud-node-lifecycle-controller", "--leader-elect=false"}, []string{
			"ccm list nodes", "ccm watch nodes", "node-controller get nodes", "node-controller delete nodes",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			v := healthy()
			runsWith(row.args...)(v)
			var got []string
			excess := 0
			for _, r := range questionsAbout(v.Managers()[0]) {
				if r.Right.Excess {
					excess++
					continue
				}
				got = append(got, strings.TrimPrefix(r.Account, "system:serviceaccount:kube-system:")+" "+r.Right.String())
			}
			if d := cmp.Diff(row.want, got); d != "" || excess != 5 {
				t.Errorf("%d too many, -want +got:\n%s", excess, d)
			}
		})
	}
}
