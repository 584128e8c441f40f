package doctor

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/utils/clock"

	"github.com/fairlead-k8s/fairlead/internal/cluster/clustertest"
	"github.com/fairlead-k8s/fairlead/internal/inspect"
)

// apiServerOf is an API server. It answers a request with the object whose key is
// the last part of the path.
type apiServerOf struct {
	objects map[string]runtime.Object
	codes   map[string]int // the status codes of paths that fail
	endless string         // a list that always has one more page
	moved   time.Duration  // how far the server's clock is ahead

	mu    sync.Mutex
	asked map[string]int // guarded by mu
}

func (s *apiServerOf) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path := r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:]
	s.mu.Lock()
	s.asked[path]++
	s.mu.Unlock()
	w.Header().Set("Date", noon.Add(s.moved).Format(http.TimeFormat))
	w.Header().Set("Content-Type", "application/json")
	var answer any = s.objects[path]
	switch code := s.codes[path]; {
	case code != 0:
		w.WriteHeader(code)
		reason := metav1.StatusReasonInternalError
		if code == http.StatusForbidden {
			reason = metav1.StatusReasonForbidden
		}
		answer = metav1.Status{Status: metav1.StatusFailure, Reason: reason, Message: "refused", Code: int32(code)}
	case path == "version":
		answer = version.Info{Major: "1", Minor: "37", GitVersion: "v1.37.1"}
	case path == "subjectaccessreviews":
		answer = authorizationv1.SubjectAccessReview{Status: authorizationv1.SubjectAccessReviewStatus{Allowed: isNeeded(r.Body)}}
	case path == s.endless:
		answer = metav1.PartialObjectMetadataList{ListMeta: metav1.ListMeta{Continue: "more"}}
	case s.objects[path] == nil:
		answer = metav1.PartialObjectMetadataList{}
	}
	_ = json.NewEncoder(w).Encode(answer)
}

// isNeeded reports whether a review is about a resource that managers need.
func isNeeded(review io.Reader) bool {
	body, err := io.ReadAll(review)
	hasGroups := bytes.Contains(body, []byte("system:serviceaccounts:kube-system"))
	return err == nil && hasGroups && slices.ContainsFunc([]string{"nodes", "leases", "events", "services"}, func(resource string) bool { return bytes.Contains(body, []byte(resource)) })
}

// quickClock is a clock that begins at noon. A wait returns at once, and moves
// the clock forward.
type quickClock struct {
	clock.Clock
	now  time.Time
	wait func() // called before each wait
}

func (c *quickClock) Now() time.Time { return c.now }

func (c *quickClock) After(d time.Duration) <-chan time.Time {
	if c.wait != nil {
		c.wait()
	}
	c.now = c.now.Add(d)
	at := make(chan time.Time, 1)
	at <- c.now
	return at
}

// diagnose runs the command against the server.
func diagnose(t *testing.T, s *apiServerOf, c *quickClock, args ...string) (output string, err error) {
	t.Helper()
	s.asked = map[string]int{}
	server := httptest.NewServer(s)
	defer server.Close()
	file := filepath.Join(t.TempDir(), "kubeconfig")
	text := fmt.Sprintf(`{"apiVersion":"v1","kind":"Config","current-context":"c","contexts":[{"name":"c","context":{"cluster":"c"}}],"clusters":[{"name":"c","cluster":{"server":%q}}]}`, server.URL)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	command := newCommand(c)
	command.SilenceErrors, command.SilenceUsage = true, true
	var out bytes.Buffer
	command.SetOut(&out)
	command.SetArgs(append(args, "--kubeconfig="+file))
	err = command.ExecuteContext(t.Context())
	return out.String(), err
}

// aCluster has a manager and a Node.
func aCluster() map[string]runtime.Object {
	at := metav1.NewMicroTime(noon)
	selector := &metav1.LabelSelector{MatchLabels: map[string]string{"app": "ccm"}}
	pod := corev1.PodSpec{
		DNSPolicy: corev1.DNSDefault, ServiceAccountName: "ccm", Tolerations: []corev1.Toleration{{Operator: corev1.TolerationOpExists}},
		Containers: []corev1.Container{{Name: "ccm", Args: []string{"--cloud-provider=acme"}}},
	}
	return map[string]runtime.Object{
		"nodes":  &corev1.NodeList{Items: []corev1.Node{clustertest.NodeOf("a")}},
		"leases": &coordinationv1.LeaseList{Items: []coordinationv1.Lease{{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "cloud-controller-manager"}, Spec: coordinationv1.LeaseSpec{HolderIdentity: new("r"), RenewTime: &at}}}},
		"deployments": &appsv1.DeploymentList{Items: []appsv1.Deployment{{
			ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "ccm"}, Spec: appsv1.DeploymentSpec{Selector: selector, Template: corev1.PodTemplateSpec{Spec: pod}},
			Status: appsv1.DeploymentStatus{Replicas: 1, UpdatedReplicas: 1, ReadyReplicas: 1},
		}}},
	}
}

func TestCommand(t *testing.T) {
	stale := func(objects map[string]runtime.Object) map[string]runtime.Object {
		old := metav1.NewMicroTime(noon.Add(-time.Hour))
		objects["leases"].(*coordinationv1.LeaseList).Items[0].Spec.RenewTime = &old
		return objects
	}
	everything := map[string]int{}
	for _, path := range []string{"nodes", "services", "leases", "deployments", "daemonsets", "statefulsets", "pods", "events", "certificatesigningrequests", "endpointslices"} {
		everything[path] = http.StatusForbidden
	}
	for name, row := range map[string]struct {
		server *apiServerOf
		args   string
		code   int
		want   string // a part of the output or of the error
	}{
		"Healthy":           {&apiServerOf{objects: aCluster()}, "--strict", 0, "0 errors, 0 warnings, 4 unknown"},
		"Error":             {&apiServerOf{objects: stale(aCluster())}, "", inspect.Failed, "FL301 lease/kube-system/cloud-controller-manager: Nobody leads."},
		"Warning":           {&apiServerOf{objects: aCluster(), moved: 30 * time.Second}, "", 0, "! FL502 The clock of this machine is 30s behind that of the API server."},
		"StrictWarning":     {&apiServerOf{objects: aCluster(), moved: -time.Minute}, "--strict", inspect.Warned, "! FL502 The clock of this machine is 59s ahead of that of the API server."},
		"NoRights":          {&apiServerOf{codes: everything}, "", inspect.CannotLook, "needs list nodes, list leases.coordination.k8s.io"},
		"NoRightToReview":   {&apiServerOf{objects: aCluster(), codes: map[string]int{"subjectaccessreviews": http.StatusForbidden}}, "", 0, "FL401 FL403 unknown: needs create subjectaccessreviews.authorization.k8s.io"},
		"ListFails":         {&apiServerOf{objects: aCluster(), codes: map[string]int{"services": http.StatusTeapot}}, "", 0, "needs list services (the server responded with the status code 418"},
		"ServerFails":       {&apiServerOf{codes: map[string]int{"version": http.StatusInternalServerError}}, "", inspect.CannotLook, "the API server: an error on the server"},
		"MoreThanIsRead":    {&apiServerOf{objects: aCluster(), endless: "certificatesigningrequests"}, "", 0, "not all certificatesigningrequests.certificates.k8s.io were read"},
		"ChosenNode":        {&apiServerOf{objects: aCluster()}, "--node=a --only=nodes", 0, "nodes"},
		"NodeThatIsNot":     {&apiServerOf{objects: aCluster()}, "--node=b", inspect.CannotLook, `--node: there is no Node "b"`},
		"WrongCategory":     {&apiServerOf{}, "--only=node", inspect.Failed, `--only: "node" is not one of`},
		"WrongCode":         {&apiServerOf{}, "--skip=FL1", inspect.Failed, `--skip: there is no check "FL1"`},
		"BundleThatIsThere": {&apiServerOf{objects: aCluster()}, "--bundle=" + os.DevNull, inspect.Failed, "--bundle: "},
		"JSON":              {&apiServerOf{objects: stale(aCluster())}, "-o=json", inspect.Failed, `"docs": "docs/reference/doctor.md#fl301"`},
		"Markdown":          {&apiServerOf{objects: stale(aCluster())}, "-o=markdown", inspect.Failed, "| error | FL301 | lease/kube-system/cloud-controller-manager |"},
	} {
		t.Run(name, func(t *testing.T) {
			out, err := diagnose(t, row.server, &quickClock{now: noon}, strings.Fields(row.args)...)
			if got := inspect.Code(err); got != row.code {
				t.Errorf("code %d, want %d", got, row.code)
			}
			if text := out + fmt.Sprint(err); !strings.Contains(text, row.want) {
				t.Errorf("no %q in:\n%s", row.want, text)
			}
		})
	}
}

// TestWait checks that the command repeats the checks until there is no error, or
// until the time is over.
func TestWait(t *testing.T) {
	for name, row := range map[string]struct {
		healAfter int // the number of waits after which there is no error any more
		code      int
		waited    time.Duration
	}{
		"Healthy": {0, 0, 0},
		"Heals":   {2, 0, 2 * againAfter},
		"Stays":   {100, inspect.Failed, time.Minute - againAfter},
	} {
		t.Run(name, func(t *testing.T) {
			s := &apiServerOf{objects: aCluster(), codes: map[string]int{}}
			lease := s.objects["leases"]
			waits := 0
			heal := func() {
				delete(s.objects, "leases")
				if waits >= row.healAfter {
					s.objects["leases"] = lease
				}
				waits++
			}
			heal()
			c := &quickClock{now: noon, wait: heal}
			_, err := diagnose(t, s, c, "--wait=1m", "--older-than=0s")
			if got := inspect.Code(err); got != row.code || c.now.Sub(noon) != row.waited {
				t.Errorf("code %d after %v, want %d after %v", got, c.now.Sub(noon), row.code, row.waited)
			}
		})
	}
}

// TestStaticPods checks managers that are static Pods.
func TestStaticPods(t *testing.T) {
	objects := aCluster()
	delete(objects, "deployments")
	objects["pods"] = &corev1.PodList{Items: []corev1.Pod{{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "kube-system", Name: "ccm-a", Labels: map[string]string{"component": "cloud-controller-manager"},
			Annotations: map[string]string{corev1.MirrorPodAnnotationKey: "hash"},
		},
		Spec:   corev1.PodSpec{HostNetwork: true, Containers: []corev1.Container{{Name: "cloud-controller-manager", Command: []string{"ccm", "--leader-elect-resource-name=other"}}}},
		Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{Name: "cloud-controller-manager", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}}}}},
	}}}
	out, err := diagnose(t, &apiServerOf{objects: objects}, &quickClock{now: noon}, "--only=daemon")
	for _, want := range []string{"FL301 pod/kube-system/ccm-a: Its Lease kube-system/other does not exist", "FL302 pod/kube-system/ccm-a", "FL310 pod/kube-system/ccm-a: 0 of 1 replicas are ready."} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in:\n%s (error %v)", want, out, err)
		}
	}
}

// TestEnvironmentIsNotInTheBundle plants secrets in a Deployment: in an annotation, the
// environment, arguments and a probe.
func TestEnvironmentIsNotInTheBundle(t *testing.T) {
	objects := aCluster()
	d := &objects["deployments"].(*appsv1.DeploymentList).Items[0]
	d.Annotations = map[string]string{"kubectl.kubernetes.io/last-applied-configuration": planted}
	c := &d.Spec.Template.Spec.Containers[0]
	c.Env = []corev1.EnvVar{{Name: "TOKEN", Value: planted}}
	c.Args = append(c.Args, "--api-token="+planted, "--api-password", planted)
	c.LivenessProbe = &corev1.Probe{ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{HTTPHeaders: []corev1.HTTPHeader{{Name: "Authorization", Value: planted}}}}}
	s := &apiServerOf{objects: objects}
	files, out := bundled(t, s)
	if strings.Contains(out, planted) {
		t.Errorf("a secret is in:\n%s", out)
	}
	for name, text := range files {
		if strings.Contains(text, planted) {
			t.Errorf("%s has a secret:\n%s", name, text)
		}
	}
	if !strings.Contains(files["fairlead-doctor/workloads.json"], "--api-token=xxxxx") {
		t.Errorf("the workload is not there: %s", files["fairlead-doctor/workloads.json"])
	}
	for _, never := range []string{"secrets", "configmaps", "proxy", "configz"} {
		if s.asked[never] > 0 {
			t.Errorf("%s were read", never)
		}
	}
}
