package explain

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-k8s/fairlead/internal/controller/ownership"
	"github.com/fairlead-k8s/fairlead/internal/controller/service"
)

// eventAt returns an event of the daemon that was recorded at the given time before noon.
func eventAt(ago time.Duration, kind, reason, text string) corev1.Event {
	at := metav1.NewTime(noon.Add(-ago))
	return corev1.Event{ReportingController: "cloud-node-controller", Source: corev1.EventSource{Component: "cloud-node-controller"}, Type: kind, Reason: reason, Message: text, FirstTimestamp: at, LastTimestamp: at}
}

// by returns the event with other sources.
func by(controller, component string, e corev1.Event) corev1.Event {
	e.ReportingController, e.Source.Component = controller, component
	return e
}

// change calls the function with the object, and returns the object.
func change[T any](object *T, f func(*T)) *T {
	f(object)
	return object
}

func nodeCondition(kind corev1.NodeConditionType, status corev1.ConditionStatus, reason string) corev1.NodeCondition {
	return corev1.NodeCondition{Type: kind, Status: status, Reason: reason, Message: reason + ".", LastTransitionTime: shownAt}
}

func initialized(n *corev1.Node) { n.Spec.Taints, n.Spec.ProviderID = nil, "acme://9" }

// heldFor returns the event on a Node that says why a request of its kubelet waits.
func heldFor(request, reason string, ago time.Duration) corev1.Event {
	return eventAt(ago, corev1.EventTypeWarning, heldRequest, reason+": Because. The request is "+request+".")
}

func decidedBy(kind certificatesv1.RequestConditionType, reason string) func(*certificatesv1.CertificateSigningRequest) {
	return func(r *certificatesv1.CertificateSigningRequest) {
		r.Status.Conditions = append(r.Status.Conditions, certificatesv1.CertificateSigningRequestCondition{Type: kind, Status: corev1.ConditionTrue, Reason: reason, Message: "Because."})
	}
}

func TestStates(t *testing.T) {
	initFailed := func(ago time.Duration) corev1.Event {
		return eventAt(ago, corev1.EventTypeWarning, "CloudInitFailed", "CloudDenied: The cloud denies access.")
	}
	for name, row := range map[string]struct {
		view  subject
		state State
		why   string // the reason
		also  []string
	}{
		"NobodyHasSaidWhyANodeWaits": {ofNode(aNode()), Unknown, "", nil},
		"EventSaysWhyANodeWaits":     {ofNode(aNode(), initFailed(time.Minute)), Waits, "CloudDenied", nil},
		"NewestEventCounts": {
			ofNode(aNode(), initFailed(3*time.Minute), eventAt(time.Minute, corev1.EventTypeWarning, "CloudInitFailed", "CloudThrottled: Wait.")), Waits, "CloudThrottled", nil,
		},
		"ConditionCountsMoreThanTheEvent": {
			ofNode(change(aNode(), func(n *corev1.Node) {
				n.Status.Conditions = append(n.Status.Conditions, nodeCondition("CloudInitialized", corev1.ConditionFalse, "CloudTimedOut"))
			}), initFailed(time.Minute)), Waits, "CloudTimedOut", nil,
		},
		"EventOfAWaitThatIsOver": {ofNode(change(aNode(), initialized), initFailed(time.Minute)), Ready, "", nil},
		"SyncedEndsTheWait": {
			ofNode(aNode(), initFailed(3*time.Minute), eventAt(time.Minute, corev1.EventTypeNormal, "Synced", "Node synced successfully")), Unknown, "", nil,
		},
		"SeveralReasons": {
			ofNode(change(aNode(), func(n *corev1.Node) {
				initialized(n)
				n.Status.Conditions = append(n.Status.Conditions, nodeCondition(corev1.NodeNetworkUnavailable, corev1.ConditionTrue, "NoRouteCreated"), nodeCondition("CloudInstanceMissing", corev1.ConditionTrue, "TooManyAbsent"))
			})), Waits, "TooManyAbsent", []string{"NoRouteCreated"},
		},
		"InitialisationComesFirst": {
			ofNode(change(aNode(), func(n *corev1.Node) {
				n.Status.Conditions = append(n.Status.Conditions, nodeCondition(corev1.NodeNetworkUnavailable, corev1.ConditionTrue, "NoRouteCreated"))
			}), initFailed(time.Second)), Waits, "CloudDenied", []string{"NoRouteCreated"},
		},
		"ConditionOfSomebodyElse": {
			ofNode(change(aNode(), func(n *corev1.Node) {
				initialized(n)
				n.Status.Conditions = append(n.Status.Conditions, nodeCondition(corev1.NodeNetworkUnavailable, corev1.ConditionTrue, "CiliumIsDown"))
			})), Ready, "", nil,
		},
		"DeletionThatIsNoLongerHeld": {
			ofNode(change(aNode(), initialized), eventAt(3*time.Minute, corev1.EventTypeWarning, "NodeDeletionHeld", "TooManyAbsent: Many."), eventAt(time.Minute, corev1.EventTypeNormal, "NodeDeletionCanceled", "InstanceFound: It is there.")), Ready, "", nil,
		},
		"ExcludedByLabel": {
			ofNode(change(aNode(), func(n *corev1.Node) {
				initialized(n)
				n.Labels = map[string]string{ownership.LabelExcludeRestricted: "true"}
			})), LeftAlone, "", nil,
		},
		"NeverAskedFor": {ofNode(change(aNode(), func(n *corev1.Node) { n.Spec.Taints = nil })), LeftAlone, "", nil},
		"NodeBeingDeleted": {
			ofNode(change(aNode(), func(n *corev1.Node) { n.DeletionTimestamp = &shownAt })), Deleting, "", nil,
		},
		"WithoutCIDR": {
			ofNode(change(aNode(), initialized), eventAt(2*time.Hour, corev1.EventTypeWarning, "CIDRNotAvailable", "None is left.")), Waits, "CIDRNotAvailable", nil,
		},
		"WithACIDR": {
			ofNode(change(aNode(), func(n *corev1.Node) { initialized(n); n.Spec.PodCIDR = "10.244.3.0/24" }), eventAt(2*time.Hour, corev1.EventTypeWarning, "CIDRNotAvailable", "None is left.")), Ready, "", nil,
		},

		"NobodyHasSaidWhyAServiceWaits": {ofService(aService()), Unknown, "", nil},
		"ServiceOfAnotherType": {
			ofService(change(aService(), func(s *corev1.Service) { s.Finalizers, s.Spec.Type = nil, corev1.ServiceTypeClusterIP })), LeftAlone, "", nil,
		},
		"ServiceBeingDeleted": {
			ofService(change(aService(), func(s *corev1.Service) {
				s.DeletionTimestamp = &shownAt
				s.Status.Conditions = []metav1.Condition{{Type: service.ConditionProvisioning, Status: metav1.ConditionTrue, Reason: "CloudDenied", Message: "Denied."}}
			})), Deleting, "CloudDenied", nil,
		},
		"CauseOfTheCallCountsMost": {
			ofService(change(aService(), func(s *corev1.Service) {
				s.Status.Conditions = []metav1.Condition{
					{Type: service.ConditionServing, Status: metav1.ConditionFalse, Reason: "NotProvisioned", Message: "No."},
					{Type: service.ConditionProvisioning, Status: metav1.ConditionTrue, Reason: "CloudDenied", Message: "Denied."},
				}
			})), Waits, "CloudDenied", []string{"NotProvisioned"},
		},
		"FailureWithoutConditions": {ofService(aService(), eventAt(time.Minute, corev1.EventTypeWarning, "SyncLoadBalancerFailed", "No.")), Waits, "SyncLoadBalancerFailed", nil},
		"ConditionsCountMoreThanAFailure": {
			ofService(change(aService(), func(s *corev1.Service) {
				s.Status.Conditions = []metav1.Condition{{Type: service.ConditionServing, Status: metav1.ConditionTrue, Reason: "Ready", Message: "Yes."}}
			}), eventAt(time.Minute, corev1.EventTypeWarning, "SyncLoadBalancerFailed", "No.")), Ready, "", nil,
		},
		"FailureThatIsOver": {
			ofService(aService(), eventAt(2*time.Minute, corev1.EventTypeWarning, "SyncLoadBalancerFailed", "No."), eventAt(time.Minute, corev1.EventTypeNormal, "EnsuredLoadBalancer", "Ensured")), Unknown, "", nil,
		},

		"NobodyHasSaidWhyAVolumeHasNoLabels": {ofVolume(aVolume()), Unknown, "", nil},
		"EventSaysWhyAVolumeWaits": {
			ofVolume(aVolume(), eventAt(3*time.Minute, corev1.EventTypeWarning, "VolumeTopologyUnknown", "No."), eventAt(time.Minute, corev1.EventTypeWarning, "VolumeLabelsFailed", "No.")), Waits, "VolumeLabelsFailed", nil,
		},
		"EventOfAnEarlierVolumeOfTheSameName": {
			ofVolume(aVolume(), *change(new(eventAt(time.Minute, corev1.EventTypeWarning, "VolumeTopologyUnknown", "No.")), func(e *corev1.Event) { e.InvolvedObject.UID = "u1" })), Unknown, "", nil,
		},
		"VolumeThatHasItsLabels": {
			ofVolume(change(aVolume(), func(p *corev1.PersistentVolume) { p.Labels = map[string]string{corev1.LabelTopologyZone: "a"} }), eventAt(time.Minute, corev1.EventTypeWarning, "VolumeTopologyUnknown", "No.")), Ready, "", nil,
		},
		"VolumeBeingDeleted": {
			ofVolume(change(aVolume(), func(p *corev1.PersistentVolume) { p.DeletionTimestamp = &shownAt }), eventAt(time.Minute, corev1.EventTypeWarning, "VolumeTopologyUnknown", "No.")), Deleting, "", nil,
		},

		"NobodyHasSaidWhyARequestWaits": {ofRequest(aRequest()), Unknown, "", nil},
		"EventOnTheNodeSaysWhyARequestWaits": {
			ofRequest(aRequest(), heldFor("csr-1", "AddressUnproven", 3*time.Minute), heldFor("csr-0", "IdentityUnproven", time.Minute)), Waits, "AddressUnproven", nil,
		},
		"EventAboutAnotherRequestOfTheNode": {ofRequest(aRequest(), heldFor("csr-0", "AddressUnproven", time.Minute)), Unknown, "", nil},
		"EventAboutTheNodeItself":           {ofRequest(aRequest(), initFailed(time.Minute)), Unknown, "", nil},
		"RequestThatNoNodeHasMade": {
			ofRequest(change(aRequest(), func(r *certificatesv1.CertificateSigningRequest) { r.Spec.Username = "mallory" })), Unknown, "", nil,
		},
		"RequestForAnotherSigner": {
			ofRequest(change(aRequest(), func(r *certificatesv1.CertificateSigningRequest) {
				r.Spec.SignerName = certificatesv1.KubeAPIServerClientKubeletSignerName
				decidedBy(certificatesv1.CertificateDenied, "WrongSubject")(r)
			})), LeftAlone, "", nil,
		},
		"RequestThatNoKubeletWaitsFor": {
			ofRequest(change(aRequest(), func(r *certificatesv1.CertificateSigningRequest) {
				r.CreationTimestamp = metav1.NewTime(noon.Add(-time.Hour))
			}), heldFor("csr-1", "AddressUnproven", time.Minute)), LeftAlone, "", nil,
		},
		"ApprovedRequest":         {ofRequest(change(aRequest(), decidedBy(certificatesv1.CertificateApproved, "FairleadKubeletServing")), heldFor("csr-1", "AddressUnproven", time.Minute)), Ready, "FairleadKubeletServing", nil},
		"DeniedRequest":           {ofRequest(change(aRequest(), decidedBy(certificatesv1.CertificateDenied, "WeakKey"))), LeftAlone, "WeakKey", nil},
		"RequestDecidedByAnother": {ofRequest(change(aRequest(), decidedBy(certificatesv1.CertificateApproved, "ApprovedByHand"))), LeftAlone, "", nil},
		"SignerFailed": {
			ofRequest(change(aRequest(), func(r *certificatesv1.CertificateSigningRequest) {
				decidedBy(certificatesv1.CertificateApproved, "FairleadKubeletServing")(r)
				decidedBy(certificatesv1.CertificateFailed, "SignerValidationFailure")(r)
			})), LeftAlone, "FairleadKubeletServing", nil,
		},

		"RouteOfNoNode": {ofRoute(nil), Unknown, "", nil},
		"RouteWhoseFailureTheEventNames": {
			ofRoute([]*corev1.Node{change(aNode(), func(n *corev1.Node) {
				n.Status.Conditions = append(n.Status.Conditions, nodeCondition(corev1.NodeNetworkUnavailable, corev1.ConditionTrue, "NoRouteCreated"))
			})}, eventAt(time.Minute, corev1.EventTypeWarning, "FailedToCreateRoute", "Could not create route u9 10.244.3.0/24 for node worker-9 after 1s: quota")), Waits, "FailedToCreateRoute", []string{"NoRouteCreated"},
		},
		"RouteOfANodeThatSaysNothing": {ofRoute([]*corev1.Node{aNode()}), Unknown, "", nil},
	} {
		t.Run(name, func(t *testing.T) {
			a := all().explain(row.view)
			why := ""
			if a.Why != nil {
				why = a.Why.Reason
			}
			var also []string
			for _, c := range a.Also {
				also = append(also, c.Reason)
			}
			if a.State != row.state || why != row.why || !cmp.Equal(also, row.also) {
				t.Errorf("%s because of %q and %q, want %s because of %q and %q", a.State, why, also, row.state, row.why, row.also)
			}
			if a.State == "" || a.Summary == "" || len(a.Next) == 0 && row.view.of != nil {
				t.Errorf("state %q, summary %q, next %q", a.State, a.Summary, a.Next)
			}
		})
	}
}

func TestSummaries(t *testing.T) {
	younger := change(aNode(), func(n *corev1.Node) {
		n.Name, n.CreationTimestamp.Time = "worker-10", n.CreationTimestamp.Add(time.Minute)
	})
	for name, row := range map[string]struct {
		view subject
		want string
	}{
		"ServiceWithAClass": {
			ofService(change(aService(), func(s *corev1.Service) { s.Spec.LoadBalancerClass = new("acme.example/inner") })),
			"It waits for its load balancer. No daemon has said why. Its class is acme.example/inner: find out which controller serves it.",
		},
		"RouteOfSeveralNodes": {
			ofRoute([]*corev1.Node{younger, aNode()}),
			"It leads to the pods of node/worker-9, the oldest of 2 Nodes that have the CIDR. No daemon has said whether it exists: routes may be switched off (--configure-cloud-routes).",
		},
	} {
		t.Run(name, func(t *testing.T) {
			if got := all().explain(row.view).Summary; got != row.want {
				t.Errorf("%s, want %s", got, row.want)
			}
		})
	}
}

// After a request is decided, the reasons why it waited are not shown any more.
func TestWhatIsReportedOfARequest(t *testing.T) {
	held := heldFor("csr-1", "AddressUnproven", time.Minute)
	if a := all().explain(ofRequest(change(aRequest(), decidedBy(certificatesv1.CertificateApproved, "FairleadKubeletServing")), held)); len(a.Reported) > 0 {
		t.Errorf("of an approved request: %+v", a.Reported)
	}
	if a := all().explain(ofRequest(aRequest(), heldFor("csr-0", "AddressUnproven", time.Minute))); len(a.Reported) != 1 {
		t.Errorf("of a request of which nobody has said anything: %+v", a.Reported)
	}
}

func TestDaemonThatDoesNotWork(t *testing.T) {
	const lease = "kubectl -n kube-system get lease cloud-controller-manager -o yaml"
	for name, row := range map[string]struct {
		change  func(d *daemonView)
		problem string
		next    string
	}{
		"Works":      {func(*daemonView) {}, "", "kubectl describe node worker-9"},
		"NoLease":    {func(d *daemonView) { d.lease = nil }, "There is no Lease kube-system/cloud-controller-manager, so no daemon that takes a Lease has led here. With --leader-elect=false a daemon takes none. If the daemon has another Lease (--leader-elect-resource-name), name it with --lease.", "kubectl -n kube-system get leases"},
		"Unreadable": {func(d *daemonView) { d.lease, d.unread = nil, "forbidden" }, "forbidden", lease},
		"Released":   {func(d *daemonView) { *d.lease.Spec.HolderIdentity = "" }, "Nobody holds the Lease kube-system/cloud-controller-manager, so no daemon works. Look at the daemon's Pods.", lease},
		"Expired": {func(d *daemonView) {
			at := metav1.NewMicroTime(noon.Add(-time.Minute))
			d.lease.Spec.RenewTime = &at
		}, "worker-1_6f1d holds the Lease kube-system/cloud-controller-manager and has not renewed it for 1m0s, so no daemon works. Look at the daemon's Pods.", lease},
	} {
		t.Run(name, func(t *testing.T) {
			v := ofNode(aNode())
			row.change(&v.daemon)
			a := all().explain(v)
			if a.Daemon.Problem != row.problem {
				t.Errorf("problem %q, want %q", a.Daemon.Problem, row.problem)
			}
			if a.Next[0] != row.next {
				t.Errorf("next %q, want %q", a.Next, row.next)
			}
		})
	}
}

func TestCallsThatAreNoLongerLimited(t *testing.T) {
	v := ofNode(aNode())
	v.daemon.events = []corev1.Event{eventAt(3*time.Minute, corev1.EventTypeWarning, "CloudCallsLimited", "They wait.")}
	if a := all().explain(v); len(a.Daemon.Reported) != 1 {
		t.Errorf("reported: %+v", a.Daemon.Reported)
	}
	v.daemon.events = append(v.daemon.events, eventAt(time.Minute, corev1.EventTypeNormal, "CloudCallsNotLimited", "They do not wait."))
	if a := all().explain(v); len(a.Daemon.Reported) != 0 {
		t.Errorf("reported: %+v", a.Daemon.Reported)
	}
}

func TestWriters(t *testing.T) {
	at := metav1.NewTime(noon)
	raw := func(text string) *metav1.FieldsV1 { return metav1.NewFieldsV1(text) }
	n := change(aNode(), func(n *corev1.Node) {
		n.ManagedFields = []metav1.ManagedFieldsEntry{
			{Manager: "k3s", Time: &at, FieldsV1: raw(`{"f:spec":{"f:providerID":{}}}`)},
			{Manager: "fairlead", Time: &at, FieldsV1: raw(`{"f:status":{"f:conditions":{"k:{\"type\":\"CloudInitialized\"}":{".":{}}}}}`)},
			{Manager: "broken", FieldsV1: raw(`{"f:spec":`)},
			{Manager: "empty"},
		}
	})
	want := []Writer{{"spec.providerID", "k3s", noon}, {"condition CloudInitialized", "fairlead", noon}}
	if d := cmp.Diff(want, all().explain(ofNode(n)).Writers); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
}

func TestWhatHasWaitedLongestComesFirst(t *testing.T) {
	old := change(aNode(), func(n *corev1.Node) { n.Name, n.CreationTimestamp = "old", metav1.NewTime(noon.Add(-time.Hour)) })
	views := []subject{ofService(aService()), ofNode(old), ofNode(change(aNode(), initialized))}
	// No daemon has written anything about these volumes.
	views = append(views, ofVolume(aVolume()), ofVolume(change(aVolume(), func(p *corev1.PersistentVolume) { p.DeletionTimestamp = &shownAt })))
	w := all().waiting(views, working(), noon)
	var keys []string
	for _, a := range w.Items {
		keys = append(keys, a.name())
	}
	if d := cmp.Diff([]string{"node/old", "service/shop/web"}, keys); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
	want := `AGE  OBJECT            REASON  MESSAGE
60m  node/old          -       It waits to be initialised. Until then no ordinary pod is scheduled to it. No daemon has said why.
20m  service/shop/web  -       It waits for its load balancer. No daemon has said why.
  daemon      worker-1_6f1d leads, since 2026-11-22T11:00:00Z; it renewed its Lease 2s ago
  source      offline: what is written in the API server
`
	if d := cmp.Diff(want, w.text(noon)); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
}

// Whoever may create events can write events with the daemon's reasons.
func TestNothingFollowsFromEventsOfOthers(t *testing.T) {
	healthy := change(aNode(), func(n *corev1.Node) { initialized(n); n.Spec.PodCIDR = cidr.String() })
	withoutCIDR := change(aNode(), initialized)
	excluded := eventAt(time.Minute, corev1.EventTypeNormal, "NodeExcluded", "It belongs to another manager.")
	excludedFrom := func(source string, ago time.Duration) corev1.Event {
		return by(source, "", eventAt(ago, corev1.EventTypeNormal, "NodeExcluded", "x"))
	}
	cannotWrite := eventAt(time.Minute, corev1.EventTypeWarning, "CIDRAssignmentFailed", "Forbidden.")
	initFailed := eventAt(3*time.Minute, corev1.EventTypeWarning, "CloudInitFailed", "CloudDenied: The cloud denies access.")
	synced := eventAt(time.Minute, corev1.EventTypeNormal, "Synced", "Node synced successfully")
	failed := eventAt(time.Minute, corev1.EventTypeWarning, "SyncLoadBalancerFailed", "No quota.")
	unlabelled := eventAt(time.Minute, corev1.EventTypeWarning, "VolumeTopologyUnknown", "Why.")
	for name, row := range map[string]struct {
		view   subject
		state  State
		others []string // sources
	}{
		"Kubelet":           {ofNode(healthy, by("kubelet", "kubelet", excluded)), Ready, []string{"kubelet"}},
		"NoSource":          {ofNode(healthy, by("", "", excluded)), Ready, []string{"an unknown component"}},
		"ComponentOnly":     {ofNode(healthy, by("", "kubelet", excluded)), Ready, []string{"kubelet"}},
		"TwoSources":        {ofNode(healthy, by("cloud-node-controller", "kubelet", excluded)), Ready, []string{"cloud-node-controller, kubelet"}},
		"OldEventOfADaemon": {ofNode(healthy, by("", "cloud-node-controller", excluded)), LeftAlone, nil},
		"NewEventOfADaemon": {ofNode(healthy, by("cloud-node-controller", "", excluded)), LeftAlone, nil},
		"AllocatorOfKubeControllerManager": {
			ofNode(withoutCIDR, by("cidrAllocator", "cidrAllocator", eventAt(time.Minute, corev1.EventTypeNormal, "CIDRAssignmentFailed", "Node worker-9 status is now: CIDRAssignmentFailed"))), Ready, []string{"cidrAllocator"},
		},
		"RightsAreNotDoubted": {ofNode(withoutCIDR, by("kubelet", "kubelet", cannotWrite)), Ready, []string{"kubelet"}},
		"EndOfAWait":          {ofNode(aNode(), initFailed, by("kubelet", "kubelet", synced)), Waits, []string{"kubelet"}},
		"Service":             {ofService(aService(), by("x", "", failed)), Unknown, []string{"x"}},
		"Volume":              {ofVolume(aVolume(), by("x", "", unlabelled)), Unknown, []string{"x"}},
		"Request":             {ofRequest(aRequest(), by("x", "", heldFor("csr-1", "IdentityUnproven", time.Minute)), by("x", "", excluded)), Unknown, []string{"x"}},
		"NewestOfOthersComeFirst": {
			ofNode(healthy, excludedFrom("c", 3*time.Minute), excludedFrom("f", 6*time.Minute), excludedFrom("a", 1*time.Minute), excludedFrom("d", 4*time.Minute), excludedFrom("b", 2*time.Minute), excludedFrom("e", 5*time.Minute)), Ready, []string{"a", "b", "c", "d", "e"},
		},
		"ReasonThatIsNotOurs":    {ofNode(healthy, by("kubelet", "kubelet", eventAt(time.Minute, corev1.EventTypeWarning, "NodeNotReady", "x"))), Ready, nil},
		"EventBeforeTheLastHour": {ofNode(healthy, by("kubelet", "kubelet", eventAt(2*time.Hour, corev1.EventTypeNormal, "NodeExcluded", "x"))), Ready, nil},
		"EventAboutTheDaemon": {*change(new(ofNode(healthy)), func(v *subject) {
			v.daemon.events = []corev1.Event{by("x", "", eventAt(time.Minute, corev1.EventTypeWarning, "CloudCallsLimited", "They wait."))}
		}), Ready, nil},
		"RouteIsNotFailedByThese": {ofRoute([]*corev1.Node{healthy}, by("x", "", eventAt(time.Minute, corev1.EventTypeWarning, "FailedToCreateRoute", cidr.String()))), Unknown, []string{"x"}},
	} {
		t.Run(name, func(t *testing.T) {
			a := all().explain(row.view)
			var others []string
			for _, c := range a.Others {
				if c.Do != "" {
					t.Errorf("advice follows: %s", c.Do)
				}
				others = append(others, c.By)
			}
			if a.State != row.state || !slices.Equal(others, row.others) || len(a.Daemon.Reported) > 0 {
				t.Errorf("got %s, others %q, daemon %v; want %s, %q", a.State, others, a.Daemon.Reported, row.state, row.others)
			}
		})
	}
}
