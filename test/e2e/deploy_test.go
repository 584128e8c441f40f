package e2e

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fairlead-k8s/fairlead/internal/manifest"
	"github.com/fairlead-k8s/fairlead/test/internal/audit"
	"github.com/fairlead-k8s/fairlead/test/internal/bed"
	"github.com/fairlead-k8s/fairlead/test/internal/expect"
)

// rendered returns the objects of the manifests that are made from the chart. The keys
// are the names of the files.
func rendered(t *testing.T) map[string][]*unstructured.Unstructured {
	t.Helper()
	all := map[string][]*unstructured.Unstructured{}
	for _, pattern := range []string{"../../deploy/*.yaml", "../../deploy/examples/*/manifest*.yaml", "../../charts/fairlead/ci/*.golden.yaml"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) < 2 {
			t.Fatalf("%s: %v, %v", pattern, files, err)
		}
		for _, file := range files {
			all[file] = objectsIn(t, file)
		}
	}
	return all
}

func objectsIn(t *testing.T, file string) []*unstructured.Unstructured {
	t.Helper()
	objects, err := manifest.Objects(string(bed.ReadFile(t, file)))
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return objects
}

// The API server accepts every object. No object has an unknown or duplicate field.
// The kinds of the Prometheus operator are installed first.
func TestManifestsAreAccepted(t *testing.T) {
	b := onShared(t)
	to, err := b.Manifests()
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range objectsIn(t, "testdata/prometheus-operator.yaml") {
		if err := to.Apply(t.Context(), kind); err != nil {
			t.Fatal(err)
		}
	}
	all := rendered(t)
	expect.Within(t, 4*expect.Soon, func(ctx context.Context) error { // The new kinds are known after a while.
		to, err := b.Manifests()
		if err != nil {
			return err
		}
		var errs []error
		for file, objects := range all {
			for _, o := range objects {
				if err := to.DryRun(ctx, o); err != nil {
					errs = append(errs, fmt.Errorf("%s: %w", file, err))
				}
			}
		}
		return errors.Join(errs...)
	})
}

// Pods of the Deployment are admitted in a namespace with the Pod Security level
// "restricted". Pods of the DaemonSet violate this level only because they use the host's
// network.
func TestPodsAskForNothingSpecial(t *testing.T) {
	b := onShared(t)
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		Name: b.Name("restricted"), Labels: map[string]string{"pod-security.kubernetes.io/enforce": "restricted"},
	}}
	if _, err := b.Admin.CoreV1().Namespaces().Create(t.Context(), namespace, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	expect.Cleanup(t, func(ctx context.Context) error {
		return b.Admin.CoreV1().Namespaces().Delete(ctx, namespace.Name, metav1.DeleteOptions{})
	})
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: audit.DaemonUser}}
	if _, err := b.Admin.CoreV1().ServiceAccounts(namespace.Name).Create(t.Context(), account, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	to, err := b.Manifests()
	if err != nil {
		t.Fatal(err)
	}
	try := func(file string) error {
		pod := podOf(t, objectsIn(t, file))
		pod.SetNamespace(namespace.Name)
		return to.DryRun(t.Context(), pod)
	}
	if err := try("../../deploy/deployment.yaml"); err != nil {
		t.Errorf("the Deployment's pod: %v", err)
	}
	err = try("../../deploy/daemonset.yaml")
	if err == nil {
		t.Fatal("the DaemonSet's pod is not on the host's network")
	}
	_, complaints, _ := strings.Cut(err.Error(), "violates PodSecurity")
	want := ` "restricted:latest": host namespaces (hostNetwork=true), hostPort (container "cloud-controller-manager" uses hostPort 10258)` +
		`, probe or lifecycle host (container "cloud-controller-manager" uses probe or lifecycle host "127.0.0.1")`
	if err := expect.Equal("complaints about the DaemonSet's pod", want, complaints); err != nil {
		t.Error(err)
	}
}

// podOf returns the pod that the workload among the objects creates.
func podOf(t *testing.T, objects []*unstructured.Unstructured) *unstructured.Unstructured {
	t.Helper()
	for _, o := range objects {
		template, ok, err := unstructured.NestedMap(o.Object, "spec", "template")
		if err != nil {
			t.Fatal(err)
		}
		if ok {
			pod := &unstructured.Unstructured{Object: template}
			pod.SetAPIVersion("v1")
			pod.SetKind("Pod")
			pod.SetName("pod")
			return pod
		}
	}
	t.Fatal("no workload")
	return nil
}
