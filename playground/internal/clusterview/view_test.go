package clusterview

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var now = time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)

func ago(d time.Duration) metav1.Time { return metav1.NewTime(now.Add(-d)) }

func aNode(conditions ...corev1.NodeCondition) corev1.Node {
	return corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "node-1", CreationTimestamp: ago(time.Hour)},
		Status:     corev1.NodeStatus{Conditions: conditions},
	}
}

func is(kind string, status corev1.ConditionStatus) corev1.NodeCondition {
	return corev1.NodeCondition{Type: corev1.NodeConditionType(kind), Status: status, Reason: "Why", Message: "Because.", LastTransitionTime: ago(time.Minute)}
}

func said(reason, message string, d time.Duration) corev1.Event {
	return corev1.Event{
		InvolvedObject: corev1.ObjectReference{Kind: "Node", Name: "node-1"}, Reason: reason, Message: message,
		Source: corev1.EventSource{Component: "cloud-node-lifecycle-controller"}, LastTimestamp: ago(d), Count: 1,
	}
}

func TestHeldNodes(t *testing.T) {
	silent := is("Ready", corev1.ConditionUnknown)
	held := said(deletionHeld, "CloudDenied: The cloud denies access.", 10*time.Second)
	byEvent := []Held{{"Node", "node-1", "CloudDenied", "The cloud denies access.", now.Add(-10 * time.Second)}}
	byCondition := []Held{{"Node", "node-1", "Why", "Because.", now.Add(-time.Minute)}}
	for name, row := range map[string]struct {
		node   corev1.Node
		events []corev1.Event
		want   []Held
	}{
		"NodeWithoutConditions":       {node: aNode()},
		"EventHolds":                  {node: aNode(silent), events: []corev1.Event{held}, want: byEvent},
		"NewerEventEndsIt":            {node: aNode(silent), events: []corev1.Event{held, said(deletionCanceled, "InstanceFound: It exists.", 5*time.Second)}},
		"OlderEventDoesNotEndIt":      {node: aNode(silent), events: []corev1.Event{held, said(deletionCanceled, "InstanceFound: It exists.", time.Minute)}, want: byEvent},
		"ResumedDeletionDoesNotWait":  {node: aNode(silent), events: []corev1.Event{held, said(deletionResumed, "Goes on.", time.Second)}},
		"KubeletReports":              {node: aNode(is("Ready", corev1.ConditionTrue)), events: []corev1.Event{held}},
		"EventOfAnEarlierNode":        {node: aNode(silent), events: []corev1.Event{said(deletionHeld, "CloudDenied: Text.", 2*time.Hour)}},
		"ConditionCountsMore":         {node: aNode(silent, is(instanceMissing, corev1.ConditionTrue)), events: []corev1.Event{held}, want: byCondition},
		"UnknownConditionHolds":       {node: aNode(silent, is(instanceMissing, corev1.ConditionUnknown)), want: byCondition},
		"FalseConditionDoesNotHold":   {node: aNode(silent, is(instanceMissing, corev1.ConditionFalse))},
		"EventAfterAFalseConditionIs": {node: aNode(silent, is(instanceMissing, corev1.ConditionFalse)), events: []corev1.Event{held}, want: byEvent},
	} {
		t.Run(name, func(t *testing.T) {
			if row.want == nil {
				row.want = []Held{}
			}
			diff(t, row.want, describe(observed{nodes: []corev1.Node{row.node}, events: row.events, now: now}).Held)
		})
	}
}

func TestServices(t *testing.T) {
	plain := corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "plain"}}
	web := corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"},
		Spec:       corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer},
		Status: corev1.ServiceStatus{
			LoadBalancer: corev1.LoadBalancerStatus{Ingress: []corev1.LoadBalancerIngress{{IP: "127.64.1.1"}, {Hostname: "web.example"}}},
			Conditions:   []metav1.Condition{{Type: serving, Status: metav1.ConditionTrue, Reason: "Ready"}, {Type: provisioning, Status: metav1.ConditionTrue, Reason: "CloudDenied", Message: "The cloud denies access."}},
		},
	}
	seen := describe(observed{services: []corev1.Service{plain, web}, now: now})
	diff(t, []Object{{
		Name: "default/web", Addresses: []string{"127.64.1.1", "web.example"},
		Conditions: []Condition{{Type: serving, Status: "True", Reason: "Ready", Good: true}, {Type: provisioning, Status: "True", Reason: "CloudDenied", Message: "The cloud denies access."}},
	}}, seen.Services)
	diff(t, []Held{}, seen.Held)

	deleted := ago(time.Second)
	web.DeletionTimestamp = &deleted
	seen = describe(observed{services: []corev1.Service{web}, now: now})
	diff(t, []Held{{"Service", "default/web", "CloudDenied", "The cloud denies access.", deleted.Time}}, seen.Held)

	web.Status.Conditions = append([]metav1.Condition{{Type: cleanupHeld, Status: metav1.ConditionTrue, Reason: "ClassNotServed"}}, web.Status.Conditions...)
	diff(t, "ClassNotServed", describe(observed{services: []corev1.Service{web}, now: now}).Held[0].Reason)

	web.Status.Conditions, web.Finalizers, web.Spec.Type = nil, []string{cleanup}, corev1.ServiceTypeClusterIP
	diff(t, []Held{{"Service", "default/web", "", "", deleted.Time}}, describe(observed{services: []corev1.Service{web}, now: now}).Held)
}

func TestNodes(t *testing.T) {
	n := aNode(is("MemoryPressure", corev1.ConditionFalse), is("Ready", corev1.ConditionTrue), is("DiskPressure", corev1.ConditionTrue), is("NetworkUnavailable", corev1.ConditionFalse))
	n.Spec.Taints, n.Spec.ProviderID = []corev1.Taint{{Key: "a", Effect: corev1.TaintEffectNoSchedule}}, "simulated://sim-1/i-00000001"
	at := now.Add(-time.Minute)
	diff(t, []Object{{
		Name: "node-1", ID: "simulated://sim-1/i-00000001", Taints: []string{"a:NoSchedule"},
		Conditions: []Condition{
			{Type: "DiskPressure", Status: "True", Reason: "Why", Message: "Because.", Since: at},
			{Type: "NetworkUnavailable", Status: "False", Reason: "Why", Message: "Because.", Good: true, Since: at},
			{Type: "Ready", Status: "True", Reason: "Why", Message: "Because.", Good: true, Since: at},
		},
	}}, describe(observed{nodes: []corev1.Node{n}, now: now}).Nodes)
}

func TestEvents(t *testing.T) {
	theirs := said("Scheduled", "By others.", 0)
	theirs.Source.Component = "default-scheduler"
	series := said("Synced", "Again.", time.Hour)
	series.Series = &corev1.EventSeries{LastObservedTime: metav1.NewMicroTime(now)}
	series.InvolvedObject.Namespace = "default"
	newer := said("Synced", "New form.", 0)
	newer.LastTimestamp, newer.Count, newer.Source = metav1.Time{}, 0, corev1.EventSource{}
	newer.EventTime, newer.ReportingController = metav1.NewMicroTime(now.Add(-time.Second)), "service-controller"
	diff(t, []Event{
		{Time: now, Kind: "Node", Name: "default/node-1", Reason: "Synced", Message: "Again.", Count: 1},
		{Time: now.Add(-time.Second), Kind: "Node", Name: "node-1", Reason: "Synced", Message: "New form.", Count: 1},
	}, describe(observed{events: []corev1.Event{theirs, newer, series}, now: now}).Events)

	var many []corev1.Event
	for range mostEvents + 1 {
		many = append(many, newer)
	}
	diff(t, mostEvents, len(describe(observed{events: many, now: now}).Events))
}

func TestDaemon(t *testing.T) {
	lease := func(holder string, renewed time.Duration) *coordinationv1.Lease {
		at, since := metav1.NewMicroTime(now.Add(-renewed)), metav1.NewMicroTime(now.Add(-time.Hour))
		return &coordinationv1.Lease{Spec: coordinationv1.LeaseSpec{HolderIdentity: &holder, RenewTime: &at, AcquireTime: &since, LeaseDurationSeconds: new(int32(15))}}
	}
	since := now.Add(-time.Hour)
	for name, row := range map[string]struct {
		lease *coordinationv1.Lease
		want  Daemon
	}{
		"NoLease":      {nil, Daemon{}},
		"EmptyLease":   {&coordinationv1.Lease{}, Daemon{}},
		"Leads":        {lease("me", 2*time.Second), Daemon{Leads: true, Leader: "me", Since: since}},
		"ExpiredLease": {lease("me", 16*time.Second), Daemon{Leader: "me", Since: since}},
		"NobodyLeads":  {lease("", time.Second), Daemon{Since: since}},
	} {
		t.Run(name, func(t *testing.T) { diff(t, row.want, describe(observed{lease: row.lease, now: now}).Daemon) })
	}
}

// TestNamesAreThoseOfTheReference checks that the daemon knows the conditions and reasons that this package looks for.
func TestNamesAreThoseOfTheReference(t *testing.T) {
	page, err := os.ReadFile("../../../docs/reference/events.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{instanceMissing, initialized, serving, provisioning, cleanupHeld, deletionHeld, deletionResumed, deletionCanceled} {
		if !strings.Contains(string(page), "`"+name+"`") {
			t.Errorf("docs/reference/events.md does not have %s", name)
		}
	}
}

func diff(t *testing.T, want, got any) {
	t.Helper()
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}
