package demo

import (
	"context"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const autopsyTimeout = 10 * time.Second

// autopsy returns a text that helps to find out why a scene has failed: the objects in the API
// server, and the ends of the logs of the children. If an error occurs meanwhile, the text contains
// that error.
func (d *demo) autopsy(ctx context.Context, children []string) string {
	// The scene's own context may have ended.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), autopsyTimeout)
	defer cancel()
	var b strings.Builder
	if d.cluster.Client() != nil {
		d.describe(ctx, &b)
	}
	for _, name := range children {
		fmt.Fprintf(&b, "The end of the log of %s:\n%s\n\n", name, d.session.Children.LogTail(name))
	}
	return b.String()
}

// describe writes a short form of what `kubectl describe` prints.
func (d *demo) describe(ctx context.Context, b *strings.Builder) {
	core := d.cluster.Client().CoreV1()
	nodes, err := core.Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		fmt.Fprintf(b, "The API server does not answer: %v\n\n", err)
		return
	}
	for _, n := range nodes.Items {
		fmt.Fprintf(b, "Node %s: provider ID %q, addresses [%s], taints %v\n", n.Name, n.Spec.ProviderID, nodeAddresses(n), taintKeys(n))
		for _, c := range n.Status.Conditions {
			fmt.Fprintf(b, "  %s=%s %s: %s\n", c.Type, c.Status, c.Reason, c.Message)
		}
	}
	if pod, err := d.pod(ctx); err == nil {
		fmt.Fprintf(b, "%s\n", podLine(pod))
	}
	events, err := core.Events(metav1.NamespaceAll).List(ctx, metav1.ListOptions{})
	if err != nil {
		fmt.Fprintf(b, "Events: %v\n", err)
		return
	}
	fmt.Fprintln(b, "Events:")
	for _, e := range events.Items {
		fmt.Fprintf(b, "  %s %s %s: %s\n", strings.ToLower(e.InvolvedObject.Kind), e.InvolvedObject.Name, e.Reason, e.Message)
	}
	fmt.Fprintln(b)
}

func taintKeys(n corev1.Node) []string {
	var keys []string
	for _, t := range n.Spec.Taints {
		keys = append(keys, t.Key)
	}
	return keys
}
