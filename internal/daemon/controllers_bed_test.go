package daemon

import (
	"context"
	"crypto/ed25519"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"strconv"
	"strings"
	"sync"
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
	"k8s.io/cloud-provider/api"
	"k8s.io/component-base/metrics"

	"github.com/fairlead-k8s/fairlead/internal/cloud"
	"github.com/fairlead-k8s/fairlead/internal/controller/service"
	"github.com/fairlead-k8s/fairlead/internal/daemon/provider/providertest"
	"github.com/fairlead-k8s/fairlead/internal/kube"
)

// everything has all controllers of Fairlead, a cluster and a cloud. It runs in
// testing/synctest.
type everything struct {
	client   *fake.Clientset
	registry metrics.KubeRegistry
	workers  map[string]Worker

	mu       sync.Mutex
	refused  map[string]bool // whether the last write of a kind was refused; nil: none is; guarded by mu
	versions int             // guarded by mu
}

// runAll starts all controllers with a cloud that answers about objects by their names:
// see moody.
func runAll(t *testing.T) *everything {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	client := fake.NewSimpleClientset() // without managed fields, which would take most of the time
	e := &everything{client: client, registry: metrics.NewKubeRegistry(), workers: map[string]Worker{}}
	e.client.PrependReactor("*", "*", e.serve)
	p := parsed(t, "--controllers=*,node-ipam-controller --allocate-node-cidrs --cluster-cidr=10.0.0.0/21")
	gateway, err := providertest.Made(t, moody{newTracedCloud(&trace{}), time.Now()}).Open(ctx, cloud.Config{})
	if err != nil {
		t.Fatal(err)
	}
	d := deps{
		client: e.client, gateway: gateway, informers: kube.NewInformerFactory(e.client, 0, service.Policy{}.IsServed),
		lease: types.NamespacedName{Namespace: "kube-system", Name: "ccm"}, recorder: kube.NewRecorder(ctx, e.client, "ccm"),
		metrics: newControllerMetrics(e.registry.MustRegister, e.registry.CustomMustRegister),
	}
	var running sync.WaitGroup
	for _, r := range ours() {
		c, err := r.start(p.Settings)(ctx, d)
		if err != nil {
			t.Fatal(r.Name, err)
		}
		e.workers[r.Name] = c.(watched).Worker
	}
	d.informers.StartWithContext(ctx)
	for name, w := range e.workers {
		running.Go(func() {
			if err := w.Run(ctx); err != nil {
				t.Error(name, err)
			}
		})
	}
	t.Cleanup(func() {
		cancel()
		running.Wait()
		gateway.AwaitChanges()
		d.informers.Shutdown()
		time.Sleep(time.Hour) // calls of the gateway end
	})
	return e
}

func (e *everything) after(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// serve answers the writes to objects that are no events: it gives each object a new
// version. If refused is not nil, the first of two equal writes fails.
func (e *everything) serve(action clienttesting.Action) (bool, runtime.Object, error) {
	resource, verb := action.GetResource(), action.GetVerb()
	if resource.Resource == "events" || verb != "patch" && verb != "update" && verb != "delete" {
		return false, nil, nil
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.refused != nil {
		key := verb + " " + action.GetSubresource()
		if named, ok := action.(interface{ GetName() string }); ok {
			key += " " + named.GetName()
		}
		if e.refused[key] = !e.refused[key]; e.refused[key] {
			return true, nil, apierrors.NewInternalError(errors.New("the first of two writes fails"))
		}
	}
	if verb == "delete" {
		return false, nil, nil
	}
	_, obj, err := clienttesting.ObjectReaction(e.client.Tracker())(action)
	if err != nil {
		return true, nil, err
	}
	obj = obj.DeepCopyObject()
	e.versions++
	obj.(metav1.Object).SetResourceVersion(strconv.Itoa(e.versions))
	return true, obj, e.client.Tracker().Update(resource, obj, action.GetNamespace())
}

// objects are the objects of the scenario. The cloud and the cluster have for each
// controller one that comes to its end, and one that waits.
func objects(t *testing.T) []runtime.Object {
	t.Helper()
	var all []runtime.Object
	for _, name := range []string{"dead", "held", "back", "fine-0", "fine-1", "fine-2"} { // with the others one more than the cluster has CIDRs
		n := &corev1.Node{ObjectMeta: named(name), Spec: corev1.NodeSpec{ProviderID: "test://" + name}}
		setReady(n, corev1.ConditionTrue)
		if !strings.HasPrefix(name, "fine") {
			setReady(n, corev1.ConditionUnknown)
		}
		all = append(all, n)
	}
	for _, name := range []string{"fine", "waits", "later"} {
		n, s := &corev1.Node{ObjectMeta: named(name)}, &corev1.Service{ObjectMeta: named(name)}
		n.Spec.Taints = []corev1.Taint{{Key: api.TaintExternalCloudProvider, Value: "true", Effect: corev1.TaintEffectNoSchedule}}
		setReady(n, corev1.ConditionTrue)
		s.Namespace = "ns"
		s.Spec = corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer, Ports: []corev1.ServicePort{{Port: 80, NodePort: 30000}}}
		all = append(all, n, s, &corev1.PersistentVolume{ObjectMeta: named(name)}, request(t, name))
	}
	return all
}

func named(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: name, UID: types.UID("uid-" + name), CreationTimestamp: metav1.Now(), ResourceVersion: "0"}
}

// request returns the kubelet's request for the serving certificate of a Node.
func request(t *testing.T, node string) *certificatesv1.CertificateSigningRequest {
	t.Helper()
	der, err := x509.CreateCertificateRequest(nil, &x509.CertificateRequest{
		Subject: pkix.Name{CommonName: "system:node:" + node, Organization: []string{"system:nodes"}}, DNSNames: []string{node},
	}, ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize)))
	if err != nil {
		t.Fatal(err)
	}
	return &certificatesv1.CertificateSigningRequest{
		ObjectMeta: named(node),
		Spec: certificatesv1.CertificateSigningRequestSpec{
			SignerName: certificatesv1.KubeletServingSignerName, Username: "system:node:" + node, Groups: []string{"system:nodes", "system:authenticated"},
			Usages:  []certificatesv1.KeyUsage{certificatesv1.UsageDigitalSignature, certificatesv1.UsageServerAuth},
			Request: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der}),
		},
	}
}

// moody is a cloud that answers by the name of what it is asked about: all goes well for
// the names that begin with "fine", after some time also for "later", "dead" is absent,
// and the rest fails.
type moody struct {
	*tracedCloud

	began time.Time
}

// recovery is the time after which the cloud answers about "later".
const recovery = 4 * time.Minute

func (m moody) mood(name string) error {
	if strings.HasPrefix(name, "fine") || name == "later" && time.Since(m.began) > recovery {
		return nil
	}
	return errors.New("E1017")
}

func (m moody) InstancesV2() (cloudprovider.InstancesV2, bool)   { return m, true }
func (m moody) LoadBalancer() (cloudprovider.LoadBalancer, bool) { return m, true }
func (m moody) Routes() (cloudprovider.Routes, bool)             { return m, true }

func (m moody) InstanceExists(_ context.Context, n *corev1.Node) (bool, error) {
	if n.Name == "dead" {
		return false, nil
	}
	return true, m.mood(n.Name)
}

func (m moody) InstanceShutdown(_ context.Context, n *corev1.Node) (bool, error) {
	return false, m.mood(n.Name)
}

func (m moody) InstanceMetadata(ctx context.Context, n *corev1.Node) (*cloudprovider.InstanceMetadata, error) {
	m.set(func() { m.instances[n.Name] = "10.1.0.1" })
	metadata, err := m.tracedCloud.InstanceMetadata(ctx, n)
	return metadata, errors.Join(err, m.mood(n.Name))
}

func (m moody) GetLabelsForVolume(_ context.Context, v *corev1.PersistentVolume) (map[string]string, error) {
	return map[string]string{corev1.LabelTopologyZone: "z", corev1.LabelTopologyRegion: "r"}, m.mood(v.Name)
}

func (m moody) EnsureLoadBalancer(_ context.Context, _ string, s *corev1.Service, _ []*corev1.Node) (*corev1.LoadBalancerStatus, error) {
	return balanced("192.0.2.1"), m.mood(s.Name)
}

func (m moody) UpdateLoadBalancer(_ context.Context, _ string, s *corev1.Service, _ []*corev1.Node) error {
	return m.mood(s.Name)
}

func (m moody) CreateRoute(ctx context.Context, cluster, hint string, r *cloudprovider.Route) error {
	if err := m.mood(string(r.TargetNode)); err != nil {
		return err
	}
	return m.tracedCloud.CreateRoute(ctx, cluster, hint, r)
}
