package main

import (
	"archive/tar"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	certificatesv1 "k8s.io/api/certificates/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/fairlead-k8s/fairlead/internal/explain"
	"github.com/fairlead-k8s/fairlead/internal/versions"
)

const planted = "hunter2"

// waitingCluster is the API server of a cluster in which one object of each kind waits.
type waitingCluster struct {
	t         *testing.T
	forbidden string // a resource that nobody may list, empty for none
	began     metav1.Time
}

func (c waitingCluster) meta(namespace, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: namespace, Name: name, CreationTimestamp: c.began, Annotations: map[string]string{"acme.example/token": planted}}
}

func (c waitingCluster) objects() map[string]runtime.Object {
	n := corev1.Node{ObjectMeta: c.meta("", "worker-1")}
	n.Spec.Taints = []corev1.Taint{{Key: "node.cloudprovider.kubernetes.io/uninitialized", Effect: corev1.TaintEffectNoSchedule}}
	n.Status.Conditions = []corev1.NodeCondition{{
		Type: "CloudInitialized", Status: corev1.ConditionFalse, Reason: "CloudFailed", LastTransitionTime: c.began,
		Message: `Get "https://me:` + planted + `@cloud.example/v1?token=` + planted + `": EOF`,
	}}
	balanced := corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer}
	waits := corev1.Service{ObjectMeta: c.meta("shop", "web"), Spec: balanced}
	waits.Status.Conditions = []metav1.Condition{{
		Type: "LoadBalancerProvisioning", Status: metav1.ConditionTrue, Reason: "CloudLimited", Message: "The quota is used up.", LastTransitionTime: c.began,
	}}
	served := corev1.Service{ObjectMeta: c.meta("shop", "served"), Spec: balanced}
	served.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: "192.0.2.1"}}
	lease := coordinationv1.Lease{ObjectMeta: c.meta("kube-system", "cloud-controller-manager")}
	lease.Spec.HolderIdentity, lease.Spec.LeaseDurationSeconds = new("replica"), new(int32(15))
	renewed := metav1.NewMicroTime(time.Now().Add(time.Hour)) // The Lease does not expire during the test.
	lease.Spec.RenewTime = &renewed
	event := func(kind, namespace, name, reason string) corev1.Event {
		at := metav1.NewTime(c.began.Add(time.Minute))
		e := corev1.Event{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name + reason}, ReportingController: "cloud-node-controller", Type: corev1.EventTypeWarning, Reason: reason, Message: "Why.", FirstTimestamp: c.began, LastTimestamp: c.began}
		e.InvolvedObject = corev1.ObjectReference{Kind: kind, Namespace: namespace, Name: name}
		if reason == "EnsuredLoadBalancer" {
			e.Type, e.LastTimestamp = corev1.EventTypeNormal, at
		}
		return e
	}
	request := certificatesv1.CertificateSigningRequest{ObjectMeta: c.meta("", "csr-1")}
	request.Spec = certificatesv1.CertificateSigningRequestSpec{SignerName: certificatesv1.KubeletServingSignerName, Username: "system:node:worker-1", Groups: []string{"system:nodes"}}
	return map[string]runtime.Object{
		"nodes": &corev1.NodeList{Items: []corev1.Node{n}},
		"services": &corev1.ServiceList{Items: []corev1.Service{
			waits, served, {ObjectMeta: c.meta("shop", "internal")},
		}},
		"persistentvolumes":          &corev1.PersistentVolumeList{Items: []corev1.PersistentVolume{{ObjectMeta: c.meta("", "disk-1")}}},
		"certificatesigningrequests": &certificatesv1.CertificateSigningRequestList{Items: []certificatesv1.CertificateSigningRequest{request}},
		"leases":                     &coordinationv1.LeaseList{Items: []coordinationv1.Lease{lease}},
		"cloud-controller-manager":   &lease,
		"events": &corev1.EventList{Items: []corev1.Event{
			event("PersistentVolume", "", "disk-1", "VolumeTopologyUnknown"),
			event("Service", "shop", "served", "SyncLoadBalancerFailed"), event("Service", "shop", "served", "EnsuredLoadBalancer"),
		}},
	}
}

// ServeHTTP answers as an API server does. It supports selectors only for events.
func (c waitingCluster) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	resource := r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:]
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Date", time.Now().UTC().Format(http.TimeFormat))
	var answer any = c.objects()[resource]
	switch {
	case resource == c.forbidden:
		w.WriteHeader(http.StatusForbidden)
		answer = metav1.Status{Status: metav1.StatusFailure, Reason: metav1.StatusReasonForbidden, Message: resource + " may not be listed", Code: http.StatusForbidden}
	case resource == "version":
		answer = map[string]string{"gitVersion": "v1.37.1"}
	case c.objects()[resource] == nil:
		answer = metav1.PartialObjectMetadataList{}
	case resource == "events":
		selector, err := fields.ParseSelector(r.URL.Query().Get("fieldSelector"))
		if err != nil {
			c.t.Error(err)
			return
		}
		var chosen corev1.EventList
		for _, e := range c.objects()["events"].(*corev1.EventList).Items {
			if selector.Matches(fields.Set{"involvedObject.kind": e.InvolvedObject.Kind, "involvedObject.name": e.InvolvedObject.Name, "type": e.Type}) {
				chosen.Items = append(chosen.Items, e)
			}
		}
		answer = chosen
	}
	if err := json.NewEncoder(w).Encode(answer); err != nil {
		c.t.Error(err)
	}
}

// TestBundleSaysWhatWaits compares the file waiting.json of a bundle with the output
// of `explain --waiting` for the same cluster.
func TestBundleSaysWhatWaits(t *testing.T) {
	for name, row := range map[string]struct {
		forbidden string
		unread    []string
		without   string // the kind that the bundle leaves out, and without which "explain" fails
	}{
		"AllRights":         {},
		"NoRightToVolumes":  {"persistentvolumes", []string{"Left out, because the right is missing: list persistentvolumes."}, ""},
		"NoRightToRequests": {"certificatesigningrequests", []string{"Left out, because the right is missing: list certificatesigningrequests.certificates.k8s.io."}, ""},
		"NoRightToServices": {"services", []string{"Left out, because the right is missing: list services."}, "service"},
		"NoRightToNodes":    {"nodes", []string{"Left out, because the right is missing: list nodes."}, "node"},
	} {
		t.Run(name, func(t *testing.T) {
			inFolder(t)
			c := waitingCluster{t: t, began: metav1.NewTime(time.Now().Add(-10 * time.Minute).Truncate(time.Second))}
			if row.without == "" {
				c.forbidden = row.forbidden // Without the right to list Nodes or Services, "explain" fails.
			}
			explained := explainedOf(t, c)
			c.forbidden = row.forbidden
			text := bundled(t, c)
			var got explain.Waiting
			if err := json.Unmarshal([]byte(text), &got); err != nil {
				t.Fatal(err)
			}
			if strings.Contains(text, planted) || row.without != "node" && !strings.Contains(text, "https://xxxxx@cloud.example/v1?xxxxx") {
				t.Errorf("a secret is there, or its message is not:\n%s", text)
			}
			var want []explain.Answer
			for _, a := range explained.Items {
				if a.Object.Kind != row.without {
					want = append(want, a)
				}
			}
			hidden := strings.NewReplacer("me:"+planted+"@", "xxxxx@", "token="+planted, "xxxxx")
			for i := range want {
				if want[i].Why != nil {
					want[i].Why.Text = hidden.Replace(want[i].Why.Text)
				}
			}
			for kind, reason := range map[string]string{"node": "CloudFailed", "service": "CloudLimited"} {
				is := func(a explain.Answer) bool {
					return a.Object.Kind == kind && a.Why != nil && a.Why.Reason == reason && a.Why.Text != ""
				}
				if kind != row.without && !slices.ContainsFunc(got.Items, is) {
					t.Errorf("no %s that waits with %s", kind, reason)
				}
			}
			if d := cmp.Diff(want, got.Items); d != "" || len(want) == 0 {
				t.Errorf("-explain +bundle:\n%s", d)
			}
			if d := cmp.Diff(row.unread, got.Unread); d != "" {
				t.Errorf("left out (-want +got):\n%s", d)
			}
			if d := cmp.Diff(explained.Daemon.Leader, got.Daemon.Leader); d != "" || got.Daemon.Problem != "" {
				t.Errorf("daemon %+v", got.Daemon)
			}
		})
	}
}

// serve starts a server and writes a kubeconfig file for it.
func serve(t *testing.T, c waitingCluster) {
	t.Helper()
	server := httptest.NewServer(c)
	t.Cleanup(server.Close)
	text := fmt.Sprintf(`{"apiVersion":"v1","kind":"Config","current-context":"c","contexts":[{"name":"c","context":{"cluster":"c"}}],"clusters":[{"name":"c","cluster":{"server":%q}}]}`, server.URL)
	if err := os.WriteFile("kubeconfig", []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func explainedOf(t *testing.T, c waitingCluster) (w explain.Waiting) {
	t.Helper()
	serve(t, c)
	out := run(t, versions.Version{}, "explain --waiting -o json --kubeconfig=kubeconfig")
	if err := json.Unmarshal([]byte(out), &w); err != nil {
		t.Fatalf("%v:\n%s", err, out)
	}
	return w
}

// bundled makes a bundle and returns its file waiting.json.
func bundled(t *testing.T, c waitingCluster) string {
	t.Helper()
	serve(t, c)
	out := run(t, versions.Version{}, "doctor --bundle=bundle.tar.gz --kubeconfig=kubeconfig")
	file, err := os.Open("bundle.tar.gz")
	if err != nil {
		t.Fatalf("%v:\n%s", err, out)
	}
	defer func() { _ = file.Close() }()
	zipped, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	for archive := tar.NewReader(zipped); ; {
		h, err := archive.Next()
		if errors.Is(err, io.EOF) {
			t.Fatal("the bundle does not say what waits")
		}
		if err != nil {
			t.Fatal(err)
		}
		if h.Name == "fairlead-doctor/waiting.json" {
			text, err := io.ReadAll(archive)
			if err != nil {
				t.Fatal(err)
			}
			return string(text)
		}
	}
}
