package e2e

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-k8s/fairlead/internal/cloud"
	"github.com/fairlead-k8s/fairlead/internal/manifest"
	"github.com/fairlead-k8s/fairlead/internal/policy"
	"github.com/fairlead-k8s/fairlead/test/internal/bed"
	"github.com/fairlead-k8s/fairlead/test/internal/expect"
)

// warnings collects the warnings of the API server.
type warnings struct {
	mu   sync.Mutex
	text []string // guarded by mu
}

// HandleWarningHeader implements rest.WarningHandler.
func (w *warnings) HandleWarningHeader(_ int, _, text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.text = append(w.text, text)
}

func (w *warnings) take() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	taken := w.text
	w.text = nil
	return taken
}

// dryRun creates a Service in a dry run, and returns the warnings of the admission
// policy with this name.
func dryRun(ctx context.Context, b *bed.Bed, name string, edit func(*corev1.Service)) ([]string, error) {
	config, err := clientcmd.BuildConfigFromFlags("", b.Cluster.Kubeconfig)
	if err != nil {
		return nil, err
	}
	var w warnings
	config.WarningHandler = &w
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	service := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "policy-", Annotations: map[string]string{}},
		Spec:       corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer, Ports: []corev1.ServicePort{{Name: "a", Port: 80}}},
	}
	edit(service)
	_, err = client.CoreV1().Services(metav1.NamespaceDefault).Create(ctx, service, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	var ours []string
	for _, text := range w.take() {
		if _, message, found := strings.Cut(text, "'"+name+"' with binding '"+name+"': "); found {
			ours = append(ours, message)
		}
	}
	return ours, err
}

// serviceFields has a function for each warning of the policy. The key is the beginning
// of the warning. The function makes a Service use the field that the warning is about.
var serviceFields = map[string]func(*corev1.Service){
	"spec.sessionAffinity":          func(s *corev1.Service) { s.Spec.SessionAffinity = corev1.ServiceAffinityClientIP },
	"spec.loadBalancerSourceRanges": func(s *corev1.Service) { s.Spec.LoadBalancerSourceRanges = []string{"10.0.0.0/8"} },
	"metadata.annotations[service.beta.kubernetes.io/load-balancer-source-ranges]": func(s *corev1.Service) {
		s.Annotations[corev1.AnnotationLoadBalancerSourceRangesKey] = "10.0.0.0/8"
	},
	"spec.loadBalancerIP": func(s *corev1.Service) { s.Spec.LoadBalancerIP = "127.64.0.1" },
	"spec.ports has several": func(s *corev1.Service) {
		s.Spec.Ports = append(s.Spec.Ports, corev1.ServicePort{Name: "b", Port: 53, Protocol: corev1.ProtocolUDP})
	},
	"spec.ports has a protocol": func(s *corev1.Service) { s.Spec.Ports[0].Protocol = corev1.ProtocolUDP },
	"spec.ipFamilies":           func(*corev1.Service) {}, // the Service is IPv4, and the policy undeclared is for IPv6 only
	"metadata.annotations has":  func(s *corev1.Service) { s.Annotations["acme.example.com/misspelt"] = "x" },
}

// When the API server evaluates the policy, it warns of each field that the provider
// does not declare. It does not warn of declared fields.
func TestPolicyWarnsOfWhatHasNoEffect(t *testing.T) {
	b := onShared(t)
	nothing := cloud.Features{IPFamilies: []corev1.IPFamily{corev1.IPv6Protocol}, AnnotationPrefix: "acme.example.com/", Annotations: []string{"acme.example.com/known"}}
	install(t, b, "undeclared", nothing)
	install(t, b, "declared", cloud.Features{
		SessionAffinity: true, SourceRanges: true, StaticAddress: true, MixedProtocols: true,
		Protocols: []corev1.Protocol{corev1.ProtocolTCP, corev1.ProtocolUDP}, AnnotationPrefix: "acme.example.com/", Annotations: []string{"acme.example.com/misspelt"},
	})
	for field, edit := range serviceFields {
		expect.Within(t, expect.Soon, func(ctx context.Context) error { // until the API server knows the policy
			got, err := dryRun(ctx, b, "undeclared", edit)
			if err == nil && !slices.ContainsFunc(got, func(text string) bool { return strings.HasPrefix(text, field) }) {
				err = fmt.Errorf("%s: the warnings are %q", field, got)
			}
			return err
		})
		other := func(s *corev1.Service) {
			edit(s)
			s.Spec.LoadBalancerClass = new("example.com/other")
		}
		for name, edit := range map[string]func(*corev1.Service){"declared": edit, "undeclared": other} {
			if got, err := dryRun(t.Context(), b, name, edit); err != nil || len(got) > 0 {
				t.Errorf("%s by the policy %s: warnings %q, error %v", field, name, got, err)
			}
		}
	}
}

// The sub-command "policy" prints a policy for the program's provider. With
// --action=Deny, this policy denies a wrong Service.
func TestPolicyOfTheProgram(t *testing.T) {
	b := onShared(t)
	text, err := exec.CommandContext(t.Context(), b.Programs.Path("cloud-controller-manager"), "policy", "--cloud-provider=simulated", "--action=Deny", "--name=printed", "--load-balancer-class=example.com/policy").CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	misspelt := func(s *corev1.Service) { s.Annotations["simulated.fairlead.dev/drian"] = "30s" }
	before := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "policy-", Annotations: map[string]string{}},
		Spec: corev1.ServiceSpec{
			Type: corev1.ServiceTypeLoadBalancer, Ports: []corev1.ServicePort{{Port: 80}},
			LoadBalancerClass: new("example.com/policy"), // so that no other daemon serves it
		},
	}
	misspelt(before)
	before, err = b.Admin.CoreV1().Services(metav1.NamespaceDefault).Create(t.Context(), before, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = b.Admin.CoreV1().Services(before.Namespace).Delete(context.WithoutCancel(t.Context()), before.Name, metav1.DeleteOptions{})
	})
	apply(t, b, "printed", string(text))
	expect.Within(t, expect.Soon, func(ctx context.Context) error {
		if _, err := dryRun(ctx, b, "printed", misspelt); err == nil || !strings.Contains(err.Error(), "metadata.annotations has an unknown key that begins with simulated.fairlead.dev/") {
			return fmt.Errorf("error %w, want a refusal", err)
		}
		return nil
	})
	if _, err := dryRun(t.Context(), b, "printed", func(s *corev1.Service) {
		for field, edit := range serviceFields {
			if field != "spec.loadBalancerIP" {
				edit(s)
			}
		}
		s.Annotations["simulated.fairlead.dev/drain"] = "30s"
	}); err != nil {
		t.Errorf("a Service that uses what is declared: %v", err)
	}
	change := func(patch string) error {
		_, err := b.Admin.CoreV1().Services(before.Namespace).Patch(t.Context(), before.Name, types.MergePatchType, []byte(patch), metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}})
		return err
	}
	for _, patch := range []string{
		`{"metadata":{"labels":{"a":"b"},"finalizers":["service.kubernetes.io/load-balancer-cleanup"]}}`,
		`{"spec":{"ports":[{"port":81}]}}`, `{"metadata":{"annotations":{"example.com/load-balancer-id":"lb-1"}}}`,
	} {
		if err := change(patch); err != nil {
			t.Errorf("%s of a Service that is older than the policy: %v", patch, err)
		}
	}
	if err := change(`{"spec":{"ports":[{"port":80,"protocol":"SCTP"}]}}`); !apierrors.IsInvalid(err) {
		t.Errorf("a field that it has not used before: %v, want a refusal", err)
	}
}

func install(t *testing.T, b *bed.Bed, name string, f cloud.Features) {
	t.Helper()
	made, binding := policy.Objects(policy.Config{Name: name, Provider: "acme", Action: admissionv1.Warn, Features: f})
	var all strings.Builder
	for _, o := range []any{made, binding} {
		text, err := yaml.Marshal(o)
		if err != nil {
			t.Fatal(err)
		}
		all.WriteString("---\n" + string(text))
	}
	apply(t, b, name, all.String())
}

// apply applies a policy and its binding until the end of the test.
func apply(t *testing.T, b *bed.Bed, name, text string) {
	t.Helper()
	objects, err := manifest.Objects(text)
	if err != nil || len(objects) != 2 {
		t.Fatalf("%d objects, %v:\n%s", len(objects), err, text)
	}
	to, err := b.Manifests()
	if err != nil {
		t.Fatal(err)
	}
	admission := b.Admin.AdmissionregistrationV1()
	expect.Cleanup(t, func(ctx context.Context) error {
		return errors.Join(
			admission.ValidatingAdmissionPolicyBindings().Delete(ctx, name, metav1.DeleteOptions{}),
			admission.ValidatingAdmissionPolicies().Delete(ctx, name, metav1.DeleteOptions{}),
		)
	})
	for _, o := range objects {
		if err := to.Apply(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
}
