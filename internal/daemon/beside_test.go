package daemon

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/controller-manager/pkg/clientbuilder"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/ktesting"

	"github.com/fairlead-k8s/fairlead/internal/cluster"
	"github.com/fairlead-k8s/fairlead/internal/daemon/provider/providertest"
)

// besideServer is an API server with one Lease and one Node. Its fields describe the
// Lease, the Node and the daemon's rights.
type besideServer struct {
	mayList string // the resources that the daemon may list
	lease   string // the name of a Lease that somebody renews
	writer  string // the field manager that has written the Node
	refused bool   // whether every request is refused

	mu       sync.Mutex
	requests []string // guarded by mu
	events   []string // the messages; guarded by mu
}

// RoundTrip implements http.RoundTripper.
func (s *besideServer) RoundTrip(r *http.Request) (*http.Response, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	resource := r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:]
	if resource != "events" {
		s.requests = append(s.requests, resource)
	}
	now := metav1.NewMicroTime(time.Now())
	var body any
	switch {
	case s.refused:
		return failure(r, http.StatusForbidden, metav1.StatusReasonForbidden), nil
	case resource == "events":
		var e corev1.Event
		if err := json.NewDecoder(r.Body).Decode(&e); err != nil {
			return nil, err
		}
		s.events = append(s.events, e.InvolvedObject.Kind+" "+e.Type+" "+e.Reason+": "+e.Message)
		body = e
	case resource == "selfsubjectrulesreviews":
		body = authorizationv1.SelfSubjectRulesReview{Status: authorizationv1.SubjectRulesReviewStatus{
			ResourceRules: []authorizationv1.ResourceRule{{Verbs: []string{"list"}, APIGroups: []string{"*"}, Resources: strings.Fields(s.mayList)}},
		}}
	case resource == "nodes":
		body = corev1.NodeList{Items: []corev1.Node{{ObjectMeta: metav1.ObjectMeta{Name: "n", ManagedFields: []metav1.ManagedFieldsEntry{{Manager: s.writer, Time: &metav1.Time{Time: now.Time}}}}}}}
	case resource == "leases":
		body = coordinationv1.LeaseList{Items: []coordinationv1.Lease{{
			ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: s.lease}, Spec: coordinationv1.LeaseSpec{HolderIdentity: new("x"), RenewTime: &now},
		}}}
	default:
		body = metav1.PartialObjectMetadataList{}
	}
	text, err := json.Marshal(body)
	return answer(r, http.StatusOK, io.NopCloser(strings.NewReader(string(text)))), err
}

func (s *besideServer) seen() (requests, events []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests), slices.Clone(s.events)
}

// TestAnotherManagerIsReported checks the requests, the log and the events of
// lookBeside (promise V5).
func TestAnotherManagerIsReported(t *testing.T) {
	for name, row := range map[string]struct {
		server *besideServer
		args   []string
		log    string // "": nothing
		event  string
		asked  string
	}{
		"AnotherLeaseIsRenewed": {
			server: &besideServer{mayList: "nodes leases", lease: "old-ccm"},
			log:    "Warning: another manager is at work",
			event:  "Lease Warning AnotherManagerAtWork: 2 managers work at once: the holder of Lease kube-system/old-ccm; this daemon (Lease kube-system/cloud-controller-manager). Each overwrites",
			asked:  "selfsubjectrulesreviews nodes leases",
		},
		"OnlyOurLease":           {server: &besideServer{mayList: "nodes leases", lease: "cloud-controller-manager"}, asked: "selfsubjectrulesreviews nodes leases"},
		"AnotherHasWrittenANode": {server: &besideServer{mayList: "nodes", writer: "hcloud-cloud-controller-manager"}, log: "Warning: another manager may be at work", asked: "selfsubjectrulesreviews nodes"},
		"FlagsDivideTheObjects":  {server: &besideServer{mayList: "leases", lease: "old-ccm"}, args: []string{"--load-balancer-class=a"}, asked: "selfsubjectrulesreviews leases"},
		"WithoutAnElection":      {server: &besideServer{mayList: "leases", lease: "cloud-controller-manager"}, args: []string{"--leader-elect=false"}, log: "Warning: another manager is at work", event: "Lease Warning AnotherManagerAtWork: 2 managers work at once: the holder of Lease kube-system/cloud-controller-manager; this daemon (no Lease). Each overwrites", asked: "selfsubjectrulesreviews leases"},
		"NoRights":               {server: &besideServer{}, asked: "selfsubjectrulesreviews"},
		"EveryRequestIsRefused":  {server: &besideServer{refused: true}, asked: "selfsubjectrulesreviews"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				logger := ktesting.NewLogger(t, ktesting.NewConfig(ktesting.BufferLogs(true), ktesting.Verbosity(0)))
				p, _ := newTestProcess(t, &providertest.Cloud{}, nil)
				parse(t, p.Program, row.args...)
				config := &rest.Config{Host: "http://apiserver", Transport: row.server, QPS: -1}
				config.ContentType = runtime.ContentTypeJSON
				builder := clientbuilder.SimpleControllerClientBuilder{ClientConfig: config}
				p.clients = clients{own: builder, each: builder}
				ctx, stop := context.WithCancel(klog.NewContext(t.Context(), logger))
				lasting, end := context.WithCancel(klog.NewContext(t.Context(), logger))
				wait := p.lookBeside(ctx, lasting)
				time.Sleep(cluster.BesideAfter - time.Second)
				if requests, _ := row.server.seen(); len(requests) > 0 {
					t.Errorf("requests at once: %v", requests)
				}
				time.Sleep(time.Hour) // lookBeside searches only once.
				stop()
				wait()
				end()
				synctest.Wait()
				requests, events := row.server.seen()
				if got := strings.Join(requests, " "); got != row.asked {
					t.Errorf("requests %q, want %q", got, row.asked)
				}
				if got := strings.Join(events, "\n"); !strings.HasPrefix(got, row.event) || row.event == "" && got != "" {
					t.Errorf("events %q, want %q", got, row.event)
				}
				text := logger.GetSink().(ktesting.Underlier).GetBuffer().String()
				if !strings.Contains(text, row.log) || row.log == "" && text != "" || strings.Count(text, "\n") > 1 {
					t.Errorf("log %q, want one line with %q", text, row.log)
				}
			})
		})
	}
}

// In TestNobodyWaitsForTheLook a daemon ends before it has searched for another
// manager. It must not wait for the search.
func TestNobodyWaitsForTheLook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, _ := newTestProcess(t, &providertest.Cloud{}, nil)
		ctx, stop := context.WithCancel(t.Context())
		began, wait := time.Now(), p.lookBeside(ctx, ctx)
		stop()
		wait()
		if took := time.Since(began); took > 0 {
			t.Errorf("the end took %v", took)
		}
	})
}
