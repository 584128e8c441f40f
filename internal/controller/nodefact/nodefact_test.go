package nodefact

import (
	"reflect"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cloud-provider/api"
)

func TestHasLabel(t *testing.T) {
	for name, c := range map[string]struct {
		labels map[string]string
		want   bool
	}{
		"NoLabel":               {nil, false},
		"LabelWithoutValue":     {map[string]string{"a": ""}, true},
		"LabelThatSaysTrue":     {map[string]string{"a": "true"}, true},
		"LabelThatSaysFalse":    {map[string]string{"a": "False"}, false},
		"LabelWithAnotherValue": {map[string]string{"a": "mine"}, true},
		"AnotherLabel":          {map[string]string{"b": ""}, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := HasLabel(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Labels: c.labels}}, "a"); got != c.want {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}

func TestTaints(t *testing.T) {
	for key, want := range map[string]bool{api.TaintExternalCloudProvider: true, "node.kubernetes.io/not-ready": false, "": false} {
		t.Run(key, func(t *testing.T) {
			node := &corev1.Node{Spec: corev1.NodeSpec{Taints: []corev1.Taint{{Key: "first"}, {Key: key, Value: "1"}}}}
			if got := IsUninitialized(node); got != want {
				t.Errorf("IsUninitialized: got %v, want %v", got, want)
			}
		})
	}
}

func TestIsAnnouncedByCondition(t *testing.T) {
	for name, c := range map[string]struct {
		shown corev1.NodeCondition
		want  bool
	}{
		"Drained":               {corev1.NodeCondition{Type: "Drained", Status: corev1.ConditionTrue}, true},
		"MaintenanceInProgress": {corev1.NodeCondition{Type: "MaintenanceInProgress", Status: corev1.ConditionTrue}, true},
		"NotDrained":            {corev1.NodeCondition{Type: "Drained", Status: corev1.ConditionFalse}, false},
		"PerhapsDrained":        {corev1.NodeCondition{Type: "Drained", Status: corev1.ConditionUnknown}, false},
		"DrainInProgress":       {corev1.NodeCondition{Type: "DrainInProgress", Status: corev1.ConditionTrue}, false},
		"MaintenancePlanned":    {corev1.NodeCondition{Type: "MaintenancePlanned", Status: corev1.ConditionTrue}, false},
		"NoCondition":           {},
	} {
		t.Run(name, func(t *testing.T) {
			node := &corev1.Node{Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}, c.shown}}}
			if got := IsAnnouncedByCondition(node); got != c.want {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}

func TestScheme(t *testing.T) {
	for id, want := range map[string]string{
		"":                    "",
		"i-1":                 "",
		"aws:///eu-1a/i-1":    "aws",
		"hcloud://1":          "hcloud",
		"a://b://c":           "a",
		"openstack:///a-b-c":  "openstack",
		"://nothing-names-me": "",
	} {
		if got := Scheme(&corev1.Node{Spec: corev1.NodeSpec{ProviderID: id}}); got != want {
			t.Errorf("Scheme(%q) = %q, want %q", id, got, want)
		}
	}
}

func TestCondition(t *testing.T) {
	node := &corev1.Node{Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{
		{Type: corev1.NodeReady, Reason: "one"}, {Type: corev1.NodeDiskPressure, Reason: "two"},
	}}}
	if got := Condition(node, corev1.NodeDiskPressure); got == nil || got.Reason != "two" {
		t.Errorf("got %v, want the second condition", got)
	}
	if got := Condition(node, corev1.NodeNetworkUnavailable); got != nil {
		t.Errorf("got %v, want none", got)
	}
}

// SameCondition and SameTaints compare each field. If a later version of Kubernetes
// adds a field, the test fails until they compare that field, too.
func TestSame(t *testing.T) {
	fill := func(field reflect.Value) {
		switch now := metav1.Now(); field.Interface().(type) {
		case metav1.Time:
			field.Set(reflect.ValueOf(now))
		case *metav1.Time:
			field.Set(reflect.ValueOf(&now))
		default:
			field.SetString("x")
		}
	}
	for i := range reflect.TypeFor[corev1.NodeCondition]().NumField() {
		var a, b corev1.NodeCondition
		if fill(reflect.ValueOf(&b).Elem().Field(i)); SameCondition(&a, &b) || !SameCondition(&b, b.DeepCopy()) {
			t.Errorf("%v and %v: the same is %v", a, b, SameCondition(&a, &b))
		}
	}
	for i := range reflect.TypeFor[corev1.Taint]().NumField() {
		var a, b corev1.Taint
		if fill(reflect.ValueOf(&b).Elem().Field(i)); SameTaints([]corev1.Taint{a}, []corev1.Taint{b}) || !SameTaints([]corev1.Taint{b}, []corev1.Taint{*b.DeepCopy()}) {
			t.Errorf("%v and %v: the same is %v", a, b, SameTaints([]corev1.Taint{a}, []corev1.Taint{b}))
		}
	}
	if !SameCondition(nil, nil) || SameCondition(nil, &corev1.NodeCondition{}) || !SameTaints(nil, []corev1.Taint{}) {
		t.Error("None is the same as none, and nothing else.")
	}
}
