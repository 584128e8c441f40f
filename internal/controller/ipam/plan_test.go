package ipam

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/fairlead-k8s/fairlead/internal/kube"
)

// A dry run shows the steps of a new leader, and writes nothing.
func TestPlan(t *testing.T) {
	const toldFull = "event Warning CIDRNotAvailable"
	for _, tt := range []struct {
		name  string
		nodes []*corev1.Node
		of    string
		want  string
	}{
		{"NodeWithCIDRs", []*corev1.Node{named("a", "10.0.0.0/24")}, "a", "none"},
		{"NodeWithout", []*corev1.Node{named("a", "10.0.0.0/24"), named("b")}, "b", "update: annotation fairlead.dev/pod-cidr-fence set, podCIDRs set"},
		{"OneOfTwoWithout", []*corev1.Node{named("a"), named("b")}, "b", "update: annotation fairlead.dev/pod-cidr-fence set, podCIDRs set"},
		{"AllTaken", []*corev1.Node{named("a", "10.0.0.0/23"), named("b")}, "b", "wait CIDRNotAvailable: annotation fairlead.dev/pod-cidr-fence set, " + toldFull},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var objects []runtime.Object
				for _, n := range tt.nodes {
					n.CreationTimestamp = metav1.Now()
					objects = append(objects, n)
				}
				time.Sleep(time.Hour) // The Nodes have waited.
				ctx, cancel := context.WithCancel(t.Context())
				cluster := fake.NewClientset(objects...)
				informers := kube.NewInformerFactory(cluster, time.Hour, nil)
				informer := informers.Core().V1().Nodes()
				c := New(Deps{Nodes: kube.NewNodes(ctx, cluster, informer), Informer: informer}, Config{Families: []Family{family("10.0.0.0/23", 24)}})
				_, stop, err := c.Follow(ctx)
				if err != nil {
					t.Fatal(err)
				}
				defer func() {
					cancel()
					stop()
					_ = c.loop.Run(ctx) // ends its queue
					informers.Shutdown()
				}()
				informers.StartWithContext(ctx)
				synctest.Wait()
				steps, err := c.Plan(ctx, tt.of)
				if err != nil || len(steps) != 1 {
					t.Fatalf("steps %v, error %v", steps, err)
				}
				s := steps[0]
				var writes []string
				for _, w := range s.Writes {
					writes = append(writes, strings.SplitN(w, ": ", 2)[0])
				}
				got := strings.TrimSpace(string(s.Effect) + " " + s.Reason)
				if len(writes) > 0 {
					got += ": " + strings.Join(writes, ", ")
				}
				if diff := cmp.Diff(tt.want, got); diff != "" {
					t.Errorf("-want +got:\n%s", diff)
				}
				for _, a := range cluster.Actions() {
					if v := a.GetVerb(); v != "list" && v != "watch" {
						t.Errorf("the dry run has made a request: %v", a)
					}
				}
			})
		})
	}
}
