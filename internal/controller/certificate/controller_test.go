package certificate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/textlogger"

	"github.com/fairlead-k8s/fairlead/internal/cloud"
	"github.com/fairlead-k8s/fairlead/internal/kube"
)

// vendor is a provider that looks instances up by name and by provider ID.
type vendor struct {
	cloudprovider.Interface

	mu sync.Mutex
	// instances are the cloud's instances; guarded by mu. The instance with the name
	// n1 has the provider ID "p://n1".
	instances []cloudprovider.InstanceMetadata
	asked     int // guarded by mu
	// If the function answers is not nil, it is called first; guarded by mu.
	answers func(ctx context.Context, node *corev1.Node) (*cloudprovider.InstanceMetadata, error)
}

func (*vendor) ProviderName() string                             { return "p" }
func (*vendor) LoadBalancer() (cloudprovider.LoadBalancer, bool) { return nil, false }

func (*vendor) Routes() (cloudprovider.Routes, bool) { return nil, false }

func (v *vendor) InstancesV2() (cloudprovider.InstancesV2, bool) { return machines{vendor: v}, true }

func (*vendor) Instances() (cloudprovider.Instances, bool) { return nil, false }

func (*vendor) Zones() (cloudprovider.Zones, bool) { return nil, false }

func (*vendor) Clusters() (cloudprovider.Clusters, bool) { return nil, false }
func (*vendor) HasClusterID() bool                       { return true }

type machines struct {
	cloudprovider.InstancesV2

	vendor *vendor
}

// InstanceMetadata answers as the cloud would.
func (m machines) InstanceMetadata(ctx context.Context, n *corev1.Node) (*cloudprovider.InstanceMetadata, error) {
	v := m.vendor
	v.mu.Lock()
	v.asked++
	answers := v.answers
	v.mu.Unlock()
	if answers != nil {
		if got, err := answers(ctx, n); got != nil || err != nil {
			return got, err
		}
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, i := range v.instances {
		if n.Spec.ProviderID == i.ProviderID || n.Spec.ProviderID == "" && i.ProviderID == "p://"+n.Name {
			return &i, nil
		}
	}
	return nil, cloudprovider.InstanceNotFound
}

func (v *vendor) has(id string, list ...string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.instances = slices.DeleteFunc(v.instances, func(i cloudprovider.InstanceMetadata) bool { return i.ProviderID == id })
	v.instances = append(v.instances, cloudprovider.InstanceMetadata{ProviderID: id, NodeAddresses: machine(id, list...).addresses})
}

func (v *vendor) answer(f func(ctx context.Context, node *corev1.Node) (*cloudprovider.InstanceMetadata, error)) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.answers = f
}

func (v *vendor) questions() int {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.asked
}

// life has a cluster, a cloud, and a controller that uses both. It runs in a
// testing/synctest bubble, which has its own time.
type life struct {
	log     lineCount
	t       *testing.T
	cluster *fake.Clientset
	cloud   *vendor
	stop    func()
	limits  Limits
	made    *Controller

	mu     sync.Mutex
	events []string                     // guarded by mu
	before func(verb, sub string) error // called before each request about CSRs; guarded by mu
}

// Node records events as the daemon's recorder does.
func (l *life) Node(n *corev1.Node, _, reason, message string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.events = append(l.events, n.Name+" "+reason+" "+message)
}

func (l *life) said() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.events)
}

func (l *life) onRequest(action clienttesting.Action) (bool, runtime.Object, error) {
	l.mu.Lock()
	before := l.before
	l.mu.Unlock()
	if before != nil {
		if err := before(action.GetVerb(), action.GetSubresource()); err != nil {
			return true, nil, err
		}
	}
	return false, nil, nil
}

func begin(t *testing.T, limits Limits, objects ...runtime.Object) *life {
	t.Helper()
	l := &life{t: t, limits: limits, cloud: &vendor{}, cluster: fake.NewSimpleClientset(objects...)}
	l.cloud.has("p://a", "10.0.0.1")
	l.cluster.PrependReactor("*", "certificatesigningrequests", l.onRequest)
	l.start()
	t.Cleanup(func() { l.stop() })
	return l
}

// lineCount is a log that counts its lines.
type lineCount struct{ lines atomic.Int64 }

func (c *lineCount) Write(line []byte) (int, error) {
	c.lines.Add(1)
	return len(line), nil
}

// start starts a controller, as a new process does.
func (l *life) start() {
	l.t.Helper()
	made, err := cloud.Make(l.t.Context(), func(context.Context) (cloudprovider.Interface, error) { return l.cloud, nil })
	if err != nil {
		l.t.Fatal(err)
	}
	gateway, err := made.Open(l.t.Context(), cloud.Config{ReadTimeout: 20 * time.Second, CallerTimeout: 10 * time.Second})
	if err != nil {
		l.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(klog.NewContext(l.t.Context(), textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(&l.log)))))
	informers := kube.NewInformerFactory(l.cluster, 0, nil)
	nodes := informers.Core().V1().Nodes()
	l.made = New(Deps{
		Requests: kube.NewRequests(l.cluster, certificatesv1.KubeletServingSignerName, 0), Nodes: kube.NewNodes(ctx, l.cluster, nodes),
		Informer: nodes, Services: informers.Core().V1().Services(), Instances: gateway.Instances(), Events: l,
	}, Config{Limits: l.limits})
	informers.StartWithContext(ctx)
	done := make(chan error)
	go func() { done <- l.made.Run(ctx) }()
	l.stop = func() {
		cancel()
		if err := <-done; err != nil {
			l.t.Error(err)
		}
		informers.Shutdown()
		l.stop = func() {}
	}
	time.Sleep(time.Second) // Every 100 ms, the controller checks whether the caches are filled.
	synctest.Wait()
}

func (l *life) create(r *certificatesv1.CertificateSigningRequest) {
	l.t.Helper()
	r.CreationTimestamp = metav1.Now()
	if _, err := l.cluster.CertificatesV1().CertificateSigningRequests().Create(l.t.Context(), r, metav1.CreateOptions{}); err != nil {
		l.t.Fatal(err)
	}
	synctest.Wait()
}

func (l *life) addNode(n *corev1.Node) {
	l.t.Helper()
	if _, err := l.cluster.CoreV1().Nodes().Create(l.t.Context(), n, metav1.CreateOptions{}); err != nil {
		l.t.Fatal(err)
	}
	synctest.Wait()
}

// verdict returns the type and the reason of the request's condition. It returns an
// empty string if the request is undecided.
func (l *life) verdict(name string) string {
	l.t.Helper()
	r, err := l.cluster.CertificatesV1().CertificateSigningRequests().Get(l.t.Context(), name, metav1.GetOptions{})
	if err != nil {
		l.t.Fatal(err)
	}
	var all []string
	for _, c := range r.Status.Conditions {
		all = append(all, string(c.Type)+" "+c.Reason)
	}
	return strings.Join(all, ", ")
}

func (l *life) want(name, verdict string) {
	l.t.Helper()
	if got := l.verdict(name); got != verdict {
		l.t.Errorf("%s is %q, want %q; events %q", name, got, verdict, l.said())
	}
}

const isApproved = "Approved FairleadKubeletServing"

func named(name string) func(*form) {
	return stored(func(r *certificatesv1.CertificateSigningRequest) { r.Name, r.UID = name, types.UID("u-"+name) })
}

func TestRequestOfAKubeletIsApproved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := begin(t, DefaultLimits(), node("a"))
		l.create(csr(t))
		l.want("csr-1", isApproved)
		if n := l.cloud.questions(); n != 2 {
			t.Errorf("%d questions, want one by name and one by ID", n)
		}
		if len(l.said()) > 0 {
			t.Errorf("events %q", l.said())
		}
	})
}

// TestNodeComesAfterItsRequest covers a kubelet that makes its request before it
// registers its Node.
func TestNodeComesAfterItsRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := begin(t, DefaultLimits())
		l.create(csr(t))
		l.want("csr-1", "")
		l.addNode(node("a", providerID("")))
		l.want("csr-1", isApproved)
	})
}

// TestAddressOfTheAPIServer covers an instance to which somebody has given the address
// of the Service default/kubernetes.
func TestAddressOfTheAPIServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := begin(t, DefaultLimits(), node("a"), &corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "kubernetes"},
			Spec:       corev1.ServiceSpec{Type: corev1.ServiceTypeClusterIP, ClusterIP: "10.96.0.1", ClusterIPs: []string{"10.96.0.1"}},
		})
		l.cloud.has("p://a", "10.0.0.1", "10.96.0.1")
		l.create(csr(t, addresses("10.0.0.1", "10.96.0.1")))
		l.want("csr-1", "")
		if said := l.said(); len(said) != 1 || !strings.Contains(said[0], "WrongSubject") {
			t.Errorf("events %q", said)
		}
	})
}

func TestAddressThatTheCloudLearnsLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := node("a")
		l := begin(t, DefaultLimits(), n)
		l.create(csr(t, addresses("10.0.0.2")))
		l.want("csr-1", "")
		if said := l.said(); len(said) != 1 || !strings.Contains(said[0], "a ServingCertificateHeld AddressUnproven: 10.0.0.2 is not an address of p://a (it has: 10.0.0.1)") {
			t.Errorf("events %q", said)
		}
		l.cloud.has("p://a", "10.0.0.2")
		n.Status.Addresses = machine("", "10.0.0.2").addresses
		if _, err := l.cluster.CoreV1().Nodes().UpdateStatus(t.Context(), n, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second) // The pause is longer, but the change ends it.
		synctest.Wait()
		l.want("csr-1", isApproved)
	})
}

// TestCloudThatSaysNothing covers the answers after which nothing is approved.
func TestCloudThatSaysNothing(t *testing.T) {
	type answers = func(context.Context, *corev1.Node) (*cloudprovider.InstanceMetadata, error)
	for _, tt := range []struct {
		name, says string
		answer     answers
	}{
		{"NotFound", "IdentityUnproven", func(context.Context, *corev1.Node) (*cloudprovider.InstanceMetadata, error) {
			return nil, cloudprovider.InstanceNotFound
		}},
		{"NotFoundByName", "IdentityUnproven", func(_ context.Context, n *corev1.Node) (*cloudprovider.InstanceMetadata, error) {
			if n.Spec.ProviderID != "" {
				return nil, nil
			}
			return nil, cloudprovider.InstanceNotFound
		}},
		{"Fails", "CloudFailed", func(context.Context, *corev1.Node) (*cloudprovider.InstanceMetadata, error) {
			return nil, errors.New("no")
		}},
		{"Panics", "ProviderPanicked", func(context.Context, *corev1.Node) (*cloudprovider.InstanceMetadata, error) {
			panic("no")
		}},
		{"Hangs", "CloudSlow", func(ctx context.Context, _ *corev1.Node) (*cloudprovider.InstanceMetadata, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}},
		{"LiesAboutOne", "IdentityUnproven", func(_ context.Context, n *corev1.Node) (*cloudprovider.InstanceMetadata, error) {
			if n.Name == "a" && n.Spec.ProviderID == "" {
				return &cloudprovider.InstanceMetadata{ProviderID: "p://b", NodeAddresses: machine("", "10.0.0.1").addresses}, nil
			}
			return nil, nil
		}},
		{"IsNotImplemented", "IdentityUnproven", func(context.Context, *corev1.Node) (*cloudprovider.InstanceMetadata, error) {
			return nil, cloudprovider.NotImplemented
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := begin(t, DefaultLimits(), node("a"))
				l.cloud.answer(tt.answer)
				l.create(csr(t))
				time.Sleep(15 * time.Second)
				synctest.Wait()
				l.want("csr-1", "")
				if said := strings.Join(l.said(), "\n"); !strings.Contains(said, "a ServingCertificateHeld "+tt.says) {
					t.Errorf("events %q, want %s", said, tt.says)
				}
				l.cloud.answer(nil)
				time.Sleep(5 * time.Minute)
				synctest.Wait()
				l.want("csr-1", isApproved)
			})
		})
	}
}

// TestAnswerThatIsOlderThanTheRequest covers a request that is made while a question is
// under way. The answer has the addresses in the request, but the question is older
// than the request, so the answer must not count.
func TestAnswerThatIsOlderThanTheRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := begin(t, DefaultLimits(), node("a"))
		first := make(chan struct{}, 1)
		first <- struct{}{}
		l.cloud.answer(func(context.Context, *corev1.Node) (*cloudprovider.InstanceMetadata, error) {
			select {
			case <-first:
				time.Sleep(2 * time.Second)
				return &cloudprovider.InstanceMetadata{ProviderID: "p://a", NodeAddresses: machine("", "10.0.0.9").addresses}, nil
			default:
				return nil, nil
			}
		})
		l.create(csr(t, named("old")))
		l.create(asked(csr(t, addresses("10.0.0.9")), "new"))
		time.Sleep(3 * time.Second)
		synctest.Wait()
		l.want("new", "")
	})
}

// asked sets the name and the UID of the request, and returns the request.
func asked(r *certificatesv1.CertificateSigningRequest, name string) *certificatesv1.CertificateSigningRequest {
	r.Name, r.UID = name, types.UID("u-"+name)
	return r
}

func TestNodeWithTheProviderIDOfAnother(t *testing.T) {
	t.Run("BeforeThatNodeExists", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			l := begin(t, DefaultLimits(), node("a", providerID("p://b")))
			l.cloud.has("p://b", "10.0.0.2")
			l.create(csr(t, names("a"), addresses("10.0.0.2")))
			l.want("csr-1", "")
			if said := l.said(); len(said) != 1 || !strings.Contains(said[0], "IdentityUnproven") {
				t.Errorf("events %q", said)
			}
		})
	})
	t.Run("AfterThatNodeExists", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			l := begin(t, DefaultLimits(), node("b"), node("a", providerID("p://b")))
			l.cloud.has("p://b", "10.0.0.2")
			l.create(csr(t, names("a"), addresses("10.0.0.2")))
			l.want("csr-1", "")
			if said := l.said(); len(said) != 2 || !strings.HasPrefix(said[0], "a ServingCertificateHeld IdentityContested") || !strings.HasPrefix(said[1], "b ServingCertificateHeld IdentityContested") {
				t.Errorf("events %q, want one on each", said)
			}
			if n := l.cloud.questions(); n != 0 {
				t.Errorf("%d questions about contested Nodes", n)
			}
			l.create(asB(t, csr(t, named("csr-b"))))
			l.want("csr-b", "")
			if err := l.cluster.CoreV1().Nodes().Delete(t.Context(), "a", metav1.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			l.want("csr-b", isApproved)
			l.want("csr-1", "")
		})
	})
}

// asB returns a request of the Node b with the metadata of r.
func asB(t *testing.T, r *certificatesv1.CertificateSigningRequest) *certificatesv1.CertificateSigningRequest {
	t.Helper()
	b := csr(t, names("b"), addresses("10.0.0.2"), func(f *form) { f.template.Subject.CommonName = "system:node:b" })
	b.ObjectMeta = r.ObjectMeta
	b.Spec.Username = "system:node:b"
	return b
}

// TestFlood covers a kubelet that makes 300 requests, and another kubelet that
// makes one.
func TestFlood(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := begin(t, DefaultLimits(), node("a"), node("b"))
		l.cloud.has("p://b", "10.0.0.2")
		for i := range 300 {
			l.create(csr(t, addresses("10.0.0.9"), named(fmt.Sprintf("csr-%03d", i))))
		}
		if n := l.cloud.questions(); n > 2*questionLimit.Burst+2 {
			t.Errorf("%d questions about one Node", n)
		}
		if said := l.said(); len(said) > 1 {
			t.Errorf("%d events: %q", len(said), said)
		}
		if n := l.log.lines.Load(); n < firstLogged || n > firstLogged+10 {
			t.Errorf("%d lines of the log", n)
		}
		l.create(asB(t, csr(t, named("csr-b"))))
		l.want("csr-b", isApproved)
		time.Sleep(2 * time.Hour)
		synctest.Wait()
		if held := len(l.made.remembered.requests); held != 0 {
			t.Errorf("%d requests are remembered after two hours", held)
		}
	})
}

// A Node is deleted while the cloud is asked about it. What the pass has asked and said of
// it is not kept.
func TestNothingIsRememberedOfANodeThatHasGoneMeanwhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := begin(t, DefaultLimits(), node("a"))
		l.cloud.answer(func(context.Context, *corev1.Node) (*cloudprovider.InstanceMetadata, error) {
			time.Sleep(5 * time.Second)
			return nil, errors.New("E1017")
		})
		l.create(csr(t))
		time.Sleep(time.Second)
		if err := l.cluster.CoreV1().Nodes().Delete(t.Context(), "a", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour)
		synctest.Wait()
		if l.cloud.questions() == 0 || len(l.made.remembered.told)+len(l.made.remembered.questions) > 0 {
			t.Errorf("after %d questions these are remembered: %v, %v", l.cloud.questions(), l.made.remembered.told, l.made.remembered.questions)
		}
	})
}

func TestOldRequestsDoNotKeepANewOneWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := begin(t, DefaultLimits(), node("a"))
		for i := range 4 {
			l.create(csr(t, addresses("10.0.0.9"), named(fmt.Sprintf("csr-%d", i))))
			time.Sleep(time.Second)
		}
		l.create(csr(t, named("csr-new")))
		time.Sleep(time.Second)
		synctest.Wait()
		l.want("csr-new", isApproved)
	})
}

func TestApprovalsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limits := DefaultLimits()
		limits.ApprovalsPerMinute = 2
		l := begin(t, limits, node("a"))
		for i := range 3 {
			l.create(csr(t, named(fmt.Sprintf("csr-%d", i))))
			time.Sleep(time.Second)
		}
		synctest.Wait()
		l.want("csr-1", isApproved)
		l.want("csr-2", "")
		if n := l.cloud.questions(); n != 4 {
			t.Errorf("%d questions about two requests that were approved and one that could not be, want 4", n)
		}
		time.Sleep(31 * time.Second)
		synctest.Wait()
		l.want("csr-2", isApproved)
	})
}

// An approval whose reply is lost counts, because the request may have been approved.
func TestApprovalsWithoutAReplyAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limits := DefaultLimits()
		limits.ApprovalsPerMinute = 2
		l := begin(t, limits, node("a"))
		var tries atomic.Int32
		l.mu.Lock()
		l.before = func(_, sub string) error {
			if sub == "approval" {
				tries.Add(1)
				return apierrors.NewTimeoutError("no reply", 0)
			}
			return nil
		}
		l.mu.Unlock()
		l.create(csr(t))
		time.Sleep(time.Minute)
		if n := int(tries.Load()); n == 0 || n > 2*limits.ApprovalsPerMinute {
			t.Errorf("%d tries to approve in the first minute, want at most %d at once, and as many in a minute", n, limits.ApprovalsPerMinute)
		}
	})
}

// A request can be replaced by one of the same name, of another Node.
func TestReplacedRequestIsForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := begin(t, DefaultLimits())
		was, is := requestOf("a", "csr-1", 0), requestOf("b", "csr-1", 0)
		was.UID, is.UID = "u1", "u2"
		l.made.onRequest("csr-1", nil, was)
		l.made.onRequest("csr-1", was, is)
		l.made.onRequest("csr-1", is, nil)
		if got := slices.Concat(l.made.undecided.newest("a", 3), l.made.undecided.newest("b", 3)); len(got) > 0 {
			t.Errorf("%v are remembered as undecided", got)
		}
	})
}

func TestDeniedOnlyIfSwitchedOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limits := DefaultLimits()
		limits.DenyForeign = true
		l := begin(t, limits, node("a"))
		l.create(csr(t, addresses("10.0.0.9")))
		l.want("csr-1", "Denied AddressUnproven")
	})
}

// TestWhatChangesBeforeTheApproval covers changes that are noticed just before
// the approval is written.
func TestWhatChangesBeforeTheApproval(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(l *life)
		want   string
	}{
		{"RequestIsDenied", func(l *life) {
			r, _ := l.cluster.CertificatesV1().CertificateSigningRequests().Get(l.t.Context(), "csr-1", metav1.GetOptions{})
			r.Status.Conditions = []certificatesv1.CertificateSigningRequestCondition{{Type: certificatesv1.CertificateDenied, Status: corev1.ConditionTrue, Reason: "ByHand"}}
			_ = l.cluster.Tracker().Update(certificatesv1.SchemeGroupVersion.WithResource("certificatesigningrequests"), r, "")
		}, "Denied ByHand"},
		{"NodeIsAnother", func(l *life) {
			n := node("a", providerID("p://b"))
			n.UID = "u-other"
			_ = l.cluster.Tracker().Update(corev1.SchemeGroupVersion.WithResource("nodes"), n, "")
		}, ""},
		{"NodeIsGone", func(l *life) {
			_ = l.cluster.Tracker().Delete(corev1.SchemeGroupVersion.WithResource("nodes"), "", "a")
		}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := begin(t, DefaultLimits(), node("a"))
				l.cloud.has("p://b", "10.0.0.1")
				var once sync.Once
				l.cloud.answer(func(_ context.Context, n *corev1.Node) (*cloudprovider.InstanceMetadata, error) {
					if n.Spec.ProviderID == "p://a" {
						once.Do(func() { tt.change(l) })
					}
					return nil, nil
				})
				l.create(csr(t))
				time.Sleep(time.Second)
				synctest.Wait()
				l.want("csr-1", tt.want)
			})
		})
	}
}

// TestApprovalThatFails covers approvals that the API server refuses.
func TestApprovalThatFails(t *testing.T) {
	conflict := apierrors.NewConflict(certificatesv1.Resource("certificatesigningrequests"), "csr-1", errors.New("changed"))
	for name, err := range map[string]error{
		"Conflict": conflict, "Refused": apierrors.NewForbidden(certificatesv1.Resource("signers"), "kubernetes.io/kubelet-serving", errors.New("no")),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := begin(t, DefaultLimits(), node("a"))
				failures := 2
				l.mu.Lock()
				l.before = func(verb, sub string) error {
					if verb == "update" && sub == "approval" && failures > 0 {
						failures--
						return err
					}
					return nil
				}
				l.mu.Unlock()
				l.create(csr(t))
				l.want("csr-1", "")
				time.Sleep(5 * time.Second)
				synctest.Wait()
				l.want("csr-1", isApproved)
			})
		})
	}
}

func TestRestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := begin(t, DefaultLimits(), node("a"))
		l.cloud.answer(func(context.Context, *corev1.Node) (*cloudprovider.InstanceMetadata, error) {
			return nil, errors.New("no")
		})
		l.create(csr(t))
		l.stop()
		l.cloud.answer(nil)
		l.start()
		l.want("csr-1", isApproved)
	})
}
