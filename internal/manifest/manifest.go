// Package manifest reads manifests and applies them to a cluster. The playground
// and the tests use it to give the daemon the rights in the chart's manifest.
package manifest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
)

// Objects returns the objects of a manifest.
func Objects(manifest string) ([]*unstructured.Unstructured, error) {
	var objects []*unstructured.Unstructured
	for decoder := yaml.NewYAMLOrJSONDecoder(strings.NewReader(manifest), 4096); ; {
		o := &unstructured.Unstructured{}
		err := decoder.Decode(&o.Object)
		switch {
		case errors.Is(err, io.EOF):
			return objects, nil
		case err != nil:
			return nil, fmt.Errorf("object %d of the manifest: %w", len(objects), err)
		case o.Object != nil: // a document that has only comments has no object
			objects = append(objects, o)
		}
	}
}

// asUser is the suffix that Access adds to the names of roles and bindings.
const asUser = "-as-user"

// Access returns the roles of a manifest and their bindings. It changes the bindings,
// so that they give the roles to the user. The exception is a binding that names one of
// the accounts in the last arguments: its accounts do not change. Access also changes
// the names of roles and bindings, so that the manifest itself can be applied, too.
func Access(manifest, user string, others ...string) ([]*unstructured.Unstructured, error) {
	objects, err := Objects(manifest)
	if err != nil {
		return nil, err
	}
	objects = slices.DeleteFunc(objects, func(o *unstructured.Unstructured) bool { return o.GroupVersionKind().Group != rbacv1.GroupName })
	roles := map[any]bool{} // by name
	for _, o := range objects {
		if _, isRole := o.Object["rules"]; isRole {
			roles[o.GetName()] = true
		}
		o.SetName(o.GetName() + asUser)
	}
	for _, o := range objects {
		subjects, _ := o.Object["subjects"].([]any)
		if len(subjects) == 0 {
			continue
		}
		if !slices.ContainsFunc(subjects, func(s any) bool { return isOneOf(s, others) }) {
			o.Object["subjects"] = []any{map[string]any{"kind": rbacv1.UserKind, "apiGroup": rbacv1.GroupName, "name": user}}
		}
		if to, ok := o.Object["roleRef"].(map[string]any); ok && roles[to["name"]] {
			to["name"] = to["name"].(string) + asUser
		}
	}
	return objects, nil
}

func isOneOf(subject any, names []string) bool {
	s, _ := subject.(map[string]any)
	name, _ := s["name"].(string)
	return slices.Contains(names, name)
}

// Cluster is a cluster to which objects are applied.
type Cluster struct {
	client dynamic.Interface
	mapper meta.RESTMapper
}

// In returns the Cluster for a client configuration.
func In(config *rest.Config) (Cluster, error) {
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return Cluster{}, err
	}
	kinds, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return Cluster{}, err
	}
	return Cluster{client, restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(kinds))}, nil
}

// Apply writes the fields of o to the object in the cluster. If the object does not
// exist, Apply creates it. Apply takes over fields that others have written.
func (c Cluster) Apply(ctx context.Context, o *unstructured.Unstructured) error {
	return c.apply(ctx, o)
}

// DryRun returns an error if the API server would not accept the object.
func (c Cluster) DryRun(ctx context.Context, o *unstructured.Unstructured) error {
	return c.apply(ctx, o, metav1.DryRunAll)
}

func (c Cluster) apply(ctx context.Context, o *unstructured.Unstructured, dryRun ...string) error {
	body, err := o.MarshalJSON()
	if err != nil {
		return err
	}
	kind := o.GroupVersionKind()
	mapping, err := c.mapper.RESTMapping(kind.GroupKind(), kind.Version)
	if err != nil {
		return fmt.Errorf("%s %s: %w", kind.Kind, o.GetName(), err)
	}
	_, err = c.client.Resource(mapping.Resource).Namespace(o.GetNamespace()).Patch(ctx, o.GetName(), types.ApplyPatchType, body, metav1.PatchOptions{
		DryRun: dryRun, Force: new(true), FieldManager: "fairlead-manifest", FieldValidation: metav1.FieldValidationStrict,
	})
	if err != nil {
		return fmt.Errorf("%s %s: %w", kind.Kind, o.GetName(), err)
	}
	return nil
}
