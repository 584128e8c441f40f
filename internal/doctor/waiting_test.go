package doctor

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-k8s/fairlead/internal/cluster/clustertest"
	"github.com/fairlead-k8s/fairlead/internal/explain"
)

// bundled makes a bundle, and returns its files and the output of the command.
func bundled(t *testing.T, s *apiServerOf) (files map[string]string, out string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "out.tar.gz")
	out, err := diagnose(t, s, &quickClock{now: noon}, "--older-than=1000h", "--bundle="+file)
	if err != nil {
		t.Error(err)
	}
	bundle, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = bundle.Close() }()
	return unpack(t, bundle), out
}

// TestBundleSaysWhatWaits checks the file waiting.json, which has what explain --waiting
// says of the objects that were read.
func TestBundleSaysWhatWaits(t *testing.T) {
	event := func(kind, namespace, name, reason string, age time.Duration) corev1.Event {
		e := corev1.Event{ReportingController: "service-controller", Reason: reason, Type: corev1.EventTypeWarning, Message: "Why.", FirstTimestamp: ago(age), LastTimestamp: ago(age)}
		if reason == "EnsuredLoadBalancer" {
			e.Type = corev1.EventTypeNormal
		}
		e.InvolvedObject = corev1.ObjectReference{Kind: kind, Namespace: namespace, Name: name}
		return e
	}
	n := clustertest.NodeOf("n")
	tainted(&n)
	shows("CloudInitialized", corev1.ConditionFalse, "CloudFailed")(&n)
	n.Status.Conditions[0].Message = "Get https://me:" + planted + "@lb.example/v1: EOF"
	objects := aCluster()
	objects["nodes"] = &corev1.NodeList{Items: []corev1.Node{n}}
	objects["services"] = &corev1.ServiceList{Items: []corev1.Service{clustertest.ServiceOf("waits"), clustertest.ServiceOf("served")}}
	objects["persistentvolumes"] = &corev1.PersistentVolumeList{Items: []corev1.PersistentVolume{{ObjectMeta: metav1.ObjectMeta{Name: "disk"}}}}
	objects["events"] = &corev1.EventList{Items: []corev1.Event{
		event("Service", "web", "waits", "SyncLoadBalancerFailed", time.Minute), event("PersistentVolume", "", "disk", "VolumeTopologyUnknown", time.Minute),
		event("Service", "web", "served", "SyncLoadBalancerFailed", time.Hour), event("Service", "web", "served", "EnsuredLoadBalancer", time.Minute),
	}}
	for forbidden, want := range map[string]string{
		"":                  "node/n CloudFailed, service/web/served -, service/web/waits SyncLoadBalancerFailed, volume/disk VolumeTopologyUnknown",
		"services":          "node/n CloudFailed, volume/disk VolumeTopologyUnknown; Left out, because the right is missing: list services.",
		"persistentvolumes": "node/n CloudFailed, service/web/served -, service/web/waits SyncLoadBalancerFailed; Left out, because the right is missing: list persistentvolumes.",
	} {
		files, _ := bundled(t, &apiServerOf{objects: objects, codes: map[string]int{forbidden: http.StatusForbidden}})
		var w explain.Waiting
		if err := json.Unmarshal([]byte(files["fairlead-doctor/waiting.json"]), &w); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, a := range w.Items {
			reason := "-"
			if a.Why != nil {
				reason = a.Why.Reason
			}
			got = append(got, a.Object.Kind+"/"+a.Object.Key+" "+reason)
		}
		slices.Sort(got)
		if d := cmp.Diff(want, strings.Join(append([]string{strings.Join(got, ", ")}, w.Unread...), "; ")); d != "" || w.Daemon.Leader != "r" {
			t.Errorf("without %q, led by %q, -want +got:\n%s", forbidden, w.Daemon.Leader, d)
		}
		if text := files["fairlead-doctor/waiting.json"]; strings.Contains(text, planted) || !strings.Contains(text, "https://xxxxx@lb.example/v1") {
			t.Errorf("a secret is there, or its message is not:\n%s", text)
		}
	}
}

// TestOnlyABundleNeedsMore counts the requests for volumes and events. The checks
// need warnings, and events about Leases. They do not need volumes or other
// events.
func TestOnlyABundleNeedsMore(t *testing.T) {
	for name, row := range map[string]struct {
		bundle          bool
		codes           map[string]int
		volumes, events int // the number of requests
	}{
		"NoBundle":         {false, nil, 0, 3},
		"Bundle":           {true, nil, 1, 6},
		"NoRightToVolumes": {true, map[string]int{"persistentvolumes": http.StatusForbidden}, 1, 6},
		"NoRightToEvents":  {true, map[string]int{"events": http.StatusForbidden}, 1, 3},
	} {
		t.Run(name, func(t *testing.T) {
			s := &apiServerOf{objects: aCluster(), codes: row.codes}
			var args []string
			if row.bundle {
				args = []string{"--bundle=" + filepath.Join(t.TempDir(), "out.tar.gz")}
			}
			if _, err := diagnose(t, s, &quickClock{now: noon}, args...); err != nil {
				t.Error(err)
			}
			if s.asked["persistentvolumes"] != row.volumes || s.asked["events"] != row.events {
				t.Errorf("%d requests for volumes and %d for events, want %d and %d", s.asked["persistentvolumes"], s.asked["events"], row.volumes, row.events)
			}
		})
	}
}
