package explain

import (
	"net/netip"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	certificatesv1 "k8s.io/api/certificates/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	api "k8s.io/cloud-provider/api"

	"github.com/fairlead-k8s/fairlead/internal/controller/message"
	"github.com/fairlead-k8s/fairlead/internal/controller/service"
	"github.com/fairlead-k8s/fairlead/internal/controller/step"
)

var (
	noon    = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	created = metav1.NewTime(noon.Add(-20 * time.Minute))
	shownAt = metav1.NewTime(noon.Add(-10 * time.Minute))
	cidr    = netip.MustParsePrefix("10.244.3.0/24")
)

// all returns the reasons of the daemon.
func all() Reasons { return AllReasons() }

// working returns the view of a daemon that leads and has just renewed its Lease.
func working() daemonView {
	holder, seconds := "worker-1_6f1d", int32(15)
	at := metav1.NewMicroTime(noon.Add(-2 * time.Second))
	since := metav1.NewMicroTime(noon.Add(-time.Hour))
	return daemonView{name: "kube-system/cloud-controller-manager", lease: &coordinationv1.Lease{Spec: coordinationv1.LeaseSpec{
		HolderIdentity: &holder, LeaseDurationSeconds: &seconds, RenewTime: &at, AcquireTime: &since,
	}}}
}

// aNode returns a Node that waits to be initialised and has no CIDR.
func aNode() *corev1.Node {
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "worker-9", UID: "u9", CreationTimestamp: created},
		Spec:       corev1.NodeSpec{Taints: []corev1.Taint{{Key: api.TaintExternalCloudProvider, Effect: corev1.TaintEffectNoSchedule}}},
		Status:     corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionUnknown}}},
	}
}

func aService() *corev1.Service {
	return &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "u1", CreationTimestamp: created, Finalizers: []string{service.Finalizer}},
		Spec:       corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer},
	}
}

// aVolume returns a PersistentVolume without a zone.
func aVolume() *corev1.PersistentVolume {
	return &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "disk-1", UID: "u2", CreationTimestamp: created}}
}

// aRequest returns an undecided request of the kubelet of worker-9.
func aRequest() *certificatesv1.CertificateSigningRequest {
	return &certificatesv1.CertificateSigningRequest{
		ObjectMeta: metav1.ObjectMeta{Name: "csr-1", UID: "u3", CreationTimestamp: created},
		Spec: certificatesv1.CertificateSigningRequestSpec{
			SignerName: certificatesv1.KubeletServingSignerName, Username: "system:node:worker-9", Groups: []string{"system:nodes"},
		},
	}
}

func ofVolume(p *corev1.PersistentVolume, events ...corev1.Event) subject {
	return aSubject(kindVolume, p.Name, p, events)
}

func ofRequest(r *certificatesv1.CertificateSigningRequest, events ...corev1.Event) subject {
	return aSubject(kindRequest, r.Name, r, events)
}

func ofNode(n *corev1.Node, events ...corev1.Event) subject {
	return aSubject(kindNode, n.Name, n, events)
}

func ofService(s *corev1.Service, events ...corev1.Event) subject {
	return aSubject(kindService, s.Namespace+"/"+s.Name, s, events)
}

func aSubject(kind, key string, of metav1.Object, events []corev1.Event) subject {
	return subject{Object: identified(Object{Kind: kind, Key: key}, of), of: of, events: events, daemon: working(), now: noon}
}

// ofRoute returns the route to the pods of these Nodes.
func ofRoute(owners []*corev1.Node, events ...corev1.Event) subject {
	s := subject{Object: Object{Kind: kindRoute, Key: cidr.String()}, events: events, daemon: working(), now: noon}
	var nodes []corev1.Node
	for _, n := range owners {
		n.Spec.PodCIDR = cidr.String()
		nodes = append(nodes, *n)
	}
	return s.owned(nodes)
}

func anEvent(r message.Reason, text string) corev1.Event {
	return corev1.Event{ReportingController: "cloud-node-controller", Type: r.Type, Reason: r.Name, Message: text, Count: 3, FirstTimestamp: shownAt, LastTimestamp: metav1.NewTime(noon.Add(-time.Minute))}
}

// statusOf returns the status of a condition whose reason is r.
func statusOf(r message.Reason) metav1.ConditionStatus {
	isGood := slices.Contains([]string{"Ready", "Provisioned", "Initialized", "InstanceFound", "KubeletReports", "RouteCreated"}, r.Name)
	isReversed := r.Condition == service.ConditionServing || r.Condition == "CloudInitialized" // False is bad
	if isGood == isReversed {
		return metav1.ConditionTrue
	}
	return metav1.ConditionFalse
}

// subjectsWith returns objects on which the daemon has written the reason.
func subjectsWith(r message.Reason) []subject {
	text := r.When
	if begins[r.Name] != "" { // the text of the event begins with a reason
		inner := map[string]string{"CloudInitFailed": "InstanceNotFound", "NodeDeletionHeld": "TooManyAbsent", "NodeDeletionCanceled": "InstanceFound", "ServingCertificateHeld": "IdentityUnproven"}[r.Name]
		text = inner + ": " + text
	}
	switch {
	case r.On == "Node" && r.Condition == "":
		n := aNode()
		if strings.HasPrefix(r.Name, "NodeDeletion") || r.Name == "Synced" {
			n.Spec.Taints, n.Spec.ProviderID = nil, "acme://9"
		}
		return []subject{ofNode(n, anEvent(r, text))}
	case r.On == "Node":
		n := aNode()
		if r.Condition != "CloudInitialized" || r.Name == "Initialized" {
			n.Spec.Taints, n.Spec.ProviderID, n.Spec.PodCIDRs = nil, "acme://9", []string{cidr.String()}
		}
		n.Status.Conditions = append(n.Status.Conditions, corev1.NodeCondition{
			Type: corev1.NodeConditionType(r.Condition), Status: corev1.ConditionStatus(statusOf(r)), Reason: r.Name, Message: text, LastTransitionTime: shownAt,
		})
		all := []subject{ofNode(n)}
		if r.Condition == string(corev1.NodeNetworkUnavailable) {
			all = append(all, ofRoute([]*corev1.Node{n}))
		}
		return all
	case r.On == "Service" && r.Condition == "":
		return []subject{ofService(aService(), anEvent(r, text))}
	case r.On == "Service":
		s := aService()
		s.Status.Conditions = []metav1.Condition{{Type: r.Condition, Status: statusOf(r), Reason: r.Name, Message: text, LastTransitionTime: shownAt}}
		if r.Condition == service.ConditionCleanupHeld {
			s.DeletionTimestamp = &created
		}
		return []subject{ofService(s)}
	case r.On == "Lease":
		n := aNode()
		n.Spec.Taints, n.Spec.ProviderID = nil, "acme://9"
		v := ofNode(n)
		v.daemon.events = []corev1.Event{anEvent(r, text)}
		return []subject{v}
	case r.On == "PersistentVolume":
		return []subject{ofVolume(aVolume(), anEvent(r, text))}
	case r.Condition == "Approved" || r.Condition == "Denied":
		q := aRequest()
		q.Status.Conditions = []certificatesv1.CertificateSigningRequestCondition{{
			Type: certificatesv1.RequestConditionType(r.Condition), Status: corev1.ConditionTrue, Reason: r.Name, Message: text, LastTransitionTime: shownAt,
		}}
		return []subject{ofRequest(q)}
	default: // a reason why a request waits
		held := message.Reason{Name: heldRequest, Type: corev1.EventTypeWarning}
		return []subject{ofRequest(aRequest(), anEvent(held, r.Name+": "+text+" The request is csr-1."))}
	}
}

// TestEveryReason checks the answer for each reason that the daemon can write. If the
// answer says that the object waits, it has the daemon's message word for word.
func TestEveryReason(t *testing.T) {
	for _, r := range all() {
		for _, s := range subjectsWith(r) {
			a := all().explain(s)
			text := a.text(noon)
			if a.State == Waits && a.Why == nil {
				t.Errorf("%s %s: it waits and does not say why", r.On, r.Name)
			}
			isNews := r.Condition != "" && a.State == Waits || r.Type == corev1.EventTypeWarning
			if isNews && !strings.Contains(text, r.When) {
				t.Errorf("%s %s: the message is not in\n%s", r.On, r.Name, text)
			}
			if isNews && r.Condition != "" && (strings.TrimSuffix(a.Why.Text, " The request is csr-1.") != r.When || a.Why.Reason != r.Name || a.Why.Do != r.Do) {
				t.Errorf("%s %s: why is %+v", r.On, r.Name, a.Why)
			}
		}
	}
}

func TestText(t *testing.T) {
	n := aNode()
	n.Status.Conditions = append(n.Status.Conditions,
		nodeCondition("CloudInitialized", corev1.ConditionFalse, "InstanceNotFound"), nodeCondition(corev1.NodeNetworkUnavailable, corev1.ConditionTrue, "NoRouteCreated"))
	n.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "ccm", Time: &shownAt, FieldsV1: metav1.NewFieldsV1(`{"f:spec":{"f:taints":{}}}`)}}
	others := by("kubelet", "kubelet", eventAt(time.Minute, corev1.EventTypeNormal, "NodeExcluded", "It is."))
	s := ofNode(n, eventAt(time.Minute, corev1.EventTypeWarning, "CloudUpdateFailed", "Forbidden."), others)
	const want = `node/worker-9: It waits to be initialised. Until then no ordinary pod is scheduled to it.
  since       2026-11-22T11:40:00Z, for 20m
  why         InstanceNotFound: InstanceNotFound.
              (condition CloudInitialized=False, 10m ago)
              What to do: Check that the Node has the name or the provider ID of its instance, and that the credentials are for the right account.
  also        NoRouteCreated: NoRouteCreated.
              (condition NetworkUnavailable=True, 10m ago)
              What to do: Read the event FailedToCreateRoute of the Node.
  reported    CloudUpdateFailed: Forbidden.
              (event, 60s ago)
              What to do: Check the RBAC rules of the cloud-controller-manager, the admission policies and the webhooks.
  by others   NodeExcluded: It is.
              (event by kubelet, 60s ago)
  written by  spec.taints: ccm, 10m ago
  daemon      worker-1_6f1d leads, since 2026-11-22T11:00:00Z; it renewed its Lease 2s ago
  source      offline: what is written in the API server
  next        kubectl describe node worker-9
`
	if d := cmp.Diff(want, all().explain(s).text(noon)); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
}

// TestReference compares the names of the fields with those on the reference page.
func TestReference(t *testing.T) {
	page, err := os.ReadFile("../../docs/reference/explain.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, value := range []any{Answer{}, Object{}, Cause{}, Writer{}, Daemon{}, Waiting{}, step.Memory{}, step.Evidence{}} {
		kind := reflect.TypeOf(value)
		for f := range kind.Fields() {
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if name == "" || !strings.Contains(string(page), "`"+name+"`") {
				t.Errorf("docs/reference/explain.md does not have `%s` of %s", name, kind.Name())
			}
		}
	}
	for _, state := range []State{Unknown, Ready, Waits, Deleting, LeftAlone} {
		if !strings.Contains(string(page), "| `"+string(state)+"` |") {
			t.Errorf("docs/reference/explain.md does not have the state %s", state)
		}
	}
}
