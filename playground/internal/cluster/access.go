package cluster

import (
	"context"
	"fmt"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// ccmUser is the user of the published kubeconfig for a cloud-controller-manager, and the name of its roles.
const ccmUser = "cloud-controller-manager"

// ccmClusterRole is what the community's cloud-controller-manager may do in the whole cluster: its own needs and those
// of its node, service and route controllers. Nothing is added, so that what runs here runs with the manifests that
// people have. Services themselves can be read by list and watch, and only their status written.
func ccmClusterRole() *rbacv1.ClusterRole {
	return &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{Name: ccmUser},
		Rules: []rbacv1.PolicyRule{
			allow("", "events", "create", "patch"),
			allow("", "nodes", "get", "list", "watch", "update", "patch", "delete"),
			allow("", "nodes/status", "update", "patch"),
			allow("", "services", "list", "watch"),
			allow("", "services/status", "update", "patch"),
			allow("", "namespaces", "get"),
			allow("authentication.k8s.io", "tokenreviews", "create"),
			allow("authorization.k8s.io", "subjectaccessreviews", "create"),
			{NonResourceURLs: []string{"/healthz"}, Verbs: []string{"get"}},
		},
	}
}

// ccmRole is what it may do in kube-system beside that.
func ccmRole() *rbacv1.Role {
	configMap := allow("", "configmaps", "get", "list", "watch")
	configMap.ResourceNames = []string{"extension-apiserver-authentication"}
	return &rbacv1.Role{
		ObjectMeta: metav1.ObjectMeta{Name: ccmUser, Namespace: metav1.NamespaceSystem},
		Rules: []rbacv1.PolicyRule{
			allow("coordination.k8s.io", "leases", "get", "create", "update"),
			allow("", "serviceaccounts", "get", "create"),
			allow("", "serviceaccounts/token", "create"),
			configMap,
		},
	}
}

func allow(group, resource string, verbs ...string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{APIGroups: []string{group}, Resources: []string{resource}, Verbs: verbs}
}

// grantAccess gives the user of the cloud-controller-manager its rights.
func grantAccess(ctx context.Context, client kubernetes.Interface) error {
	rbac := client.RbacV1()
	subjects := []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: ccmUser}}
	clusterBinding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: ccmUser},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: ccmUser},
		Subjects:   subjects,
	}
	binding := &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: ccmUser, Namespace: metav1.NamespaceSystem},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: ccmUser},
		Subjects:   subjects,
	}
	var none metav1.CreateOptions
	creations := []func() error{
		func() error { _, err := rbac.ClusterRoles().Create(ctx, ccmClusterRole(), none); return err },
		func() error { _, err := rbac.ClusterRoleBindings().Create(ctx, clusterBinding, none); return err },
		func() error { _, err := rbac.Roles(metav1.NamespaceSystem).Create(ctx, ccmRole(), none); return err },
		func() error {
			_, err := rbac.RoleBindings(metav1.NamespaceSystem).Create(ctx, binding, none)
			return err
		},
	}
	for _, create := range creations {
		// On data of an earlier control plane they exist.
		if err := create(); err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("rights of %s: %w", ccmUser, err)
		}
	}
	return nil
}
