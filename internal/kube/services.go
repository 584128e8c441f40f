package kube

import (
	"context"
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	informersv1 "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/kubernetes"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/cache"
)

// Services reads and patches Services.
type Services struct {
	client typedcorev1.ServicesGetter
	newest cache.MutationCache
	served Served
}

// NewServices returns a Services that reads from informer and writes with client. The
// parameter served is that of the informer's factory.
func NewServices(ctx context.Context, client kubernetes.Interface, informer informersv1.ServiceInformer, served Served) *Services {
	return &Services{
		client: client.CoreV1(),
		newest: newest(ctx, informer.Informer().GetStore()),
		served: served,
	}
}

// Cached returns the Service from the informer. If our own last write has not reached
// the informer yet, Cached returns the result of that write. The caller must not change
// the Service. If the Service does not exist, Cached returns an error that
// apierrors.IsNotFound recognises.
func (s *Services) Cached(key string) (*corev1.Service, error) {
	obj, exists, err := s.newest.GetByKey(key)
	if err != nil {
		return nil, fmt.Errorf("service %s in the cache: %w", key, err)
	}
	if !exists {
		return nil, apierrors.NewNotFound(corev1.Resource("services"), key)
	}
	return obj.(*corev1.Service), nil
}

// Live reads the whole Service from the API server instead of a cache. If the Service
// does not exist, or if another Service now has its name, Live returns an error that
// apierrors.IsNotFound recognises.
//
// Live makes a list of one Service, because upstream's roles do not include the right to
// get a Service.
func (s *Services) Live(ctx context.Context, service *corev1.Service) (*corev1.Service, error) {
	key := service.Namespace + "/" + service.Name
	list, err := s.client.Services(service.Namespace).List(ctx, metav1.ListOptions{FieldSelector: fields.OneTermEqualSelector(metav1.ObjectNameField, service.Name).String()})
	if err != nil {
		return nil, fmt.Errorf("read service %s: %w", key, err)
	}
	for i := range list.Items {
		if live := &list.Items[i]; live.UID == service.UID {
			return live, nil
		}
	}
	return nil, apierrors.NewNotFound(corev1.Resource("services"), key)
}

// ServicePatch is a change of a Service. A field with its zero value changes
// nothing. All fields are written through the status subresource, even the
// finalizer, because upstream's roles allow no other write.
type ServicePatch struct {
	// UID identifies the Service. Another Service with the same name is not
	// changed.
	UID types.UID
	// AddFinalizer, if not empty, is the finalizer to add, and RemoveFinalizer is the
	// one to remove.
	AddFinalizer, RemoveFinalizer string
	// Annotation, if not empty, is the key of an annotation, and Value is its new
	// value. An empty Value removes the annotation.
	Annotation, Value string
	// Ingress, if not nil, replaces status.loadBalancer.ingress.
	Ingress *[]corev1.LoadBalancerIngress
	// Conditions replace the conditions of the same types. DropConditions has the
	// types of conditions to remove.
	Conditions     []metav1.Condition
	DropConditions []string
}

// PatchStatus changes the Service and returns the changed Service. IsStale
// reports whether an error means that another Service now has this name.
func (s *Services) PatchStatus(ctx context.Context, namespace, name string, p ServicePatch) (*corev1.Service, error) {
	data, err := json.Marshal(p.body())
	if err != nil {
		return nil, fmt.Errorf("encode patch of service %s/%s: %w", namespace, name, err)
	}
	var service *corev1.Service
	err = write(ctx, "patch service "+namespace+"/"+name, func(ctx context.Context) error {
		var err error
		service, err = s.client.Services(namespace).Patch(ctx, name, types.StrategicMergePatchType, data, metav1.PatchOptions{}, "status")
		return err
	})
	if err != nil {
		return nil, err
	}
	s.newest.Mutation(TrimService(service, s.served))
	return service, nil
}

func (p ServicePatch) body() object {
	metadata := object{"uid": p.UID}
	if p.AddFinalizer != "" {
		metadata["finalizers"] = []string{p.AddFinalizer}
	}
	if p.RemoveFinalizer != "" {
		metadata["$deleteFromPrimitiveList/finalizers"] = []string{p.RemoveFinalizer}
	}
	if p.Annotation != "" {
		var value any // null removes the annotation
		if p.Value != "" {
			value = p.Value
		}
		metadata["annotations"] = object{p.Annotation: value}
	}
	body, status := object{"metadata": metadata}, object{}
	if p.Ingress != nil {
		var ingress any // null removes the field
		if len(*p.Ingress) > 0 {
			ingress = *p.Ingress
		}
		status["loadBalancer"] = object{"ingress": ingress}
	}
	var conditions []any
	for _, c := range p.Conditions {
		conditions = append(conditions, c)
	}
	for _, kind := range p.DropConditions {
		conditions = append(conditions, object{"$patch": "delete", "type": kind})
	}
	if conditions != nil {
		status["conditions"] = conditions
	}
	if len(status) > 0 {
		body["status"] = status
	}
	return body
}
