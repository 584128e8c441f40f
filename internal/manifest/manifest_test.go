package manifest

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

const both = `# a comment
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: daemon}
---
# another
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: daemon}
rules: [{apiGroups: [""], resources: [nodes], verbs: [get]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: daemon}
subjects: [{kind: ServiceAccount, name: daemon, namespace: kube-system}]
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: daemon}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: reader}
subjects: [{kind: ServiceAccount, name: daemon, namespace: kube-system}]
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: reader}
`

func TestAccess(t *testing.T) {
	all, err := Objects(both)
	if err != nil || len(all) != 4 {
		t.Fatalf("%d objects, %v", len(all), err)
	}
	access, err := Access(both, "somebody")
	if err != nil || len(access) != 3 || access[0].GetKind() != "Role" || access[1].GetKind() != "RoleBinding" {
		t.Fatalf("%v, %v", access, err)
	}
	want := []any{map[string]any{"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": "somebody"}}
	if diff := cmp.Diff(want, access[1].Object["subjects"]); diff != "" {
		t.Errorf("the role is bound to others: %s", diff)
	}
	ref := access[1].Object["roleRef"].(map[string]any)["name"]
	if access[0].GetName() == "daemon" || ref != access[0].GetName() {
		t.Errorf("role %s is bound as %s", access[0].GetName(), ref)
	}
	if ref := access[2].Object["roleRef"].(map[string]any)["name"]; ref != "reader" {
		t.Errorf("a role of the cluster is bound as %s", ref)
	}
}

// An account keeps its role if it is one of the last arguments of Access.
func TestAccessOfAnotherAccount(t *testing.T) {
	access, err := Access(both, "somebody", "daemon")
	if err != nil || len(access) != 3 {
		t.Fatalf("%v, %v", access, err)
	}
	want := []any{map[string]any{"kind": "ServiceAccount", "name": "daemon", "namespace": "kube-system"}}
	if diff := cmp.Diff(want, access[1].Object["subjects"]); diff != "" {
		t.Errorf("the role is bound to others: %s", diff)
	}
	if ref := access[1].Object["roleRef"].(map[string]any)["name"]; ref != access[0].GetName() {
		t.Errorf("role %s is bound as %s", access[0].GetName(), ref)
	}
}

func TestObjectsRefusesWhatIsNoManifest(t *testing.T) {
	if objects, err := Objects("a: [1"); err == nil {
		t.Errorf("got the objects %v", objects)
	}
}
