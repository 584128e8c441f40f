package nodelifecycle

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var (
	noon          = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	nodesResource = schema.GroupResource{Resource: "nodes"}
)

func conflict() error { return apierrors.NewConflict(nodesResource, "n1", nil) }

func label(key, value string) func(*corev1.Node) {
	return func(n *corev1.Node) { n.Labels[key] = value }
}
