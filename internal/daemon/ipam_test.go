package daemon

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/fairlead-k8s/fairlead/internal/kube"
)

// An event that is about no Node is on the Lease of this process.
func TestCIDRsOfAnotherAllocatorAreReportedOnTheLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		client := fake.NewClientset()
		p := parsed(t, "--controllers=node-ipam-controller --allocate-node-cidrs --cluster-cidr=10.0.0.0/16")
		d := deps{client: client, informers: kube.NewInformerFactory(client, 0, nil), lease: types.NamespacedName{Namespace: "kube-system", Name: "ccm"}, recorder: kube.NewRecorder(ctx, client, "ccm")}
		c, err := startIPAM(p.Settings.IPAM, p.Settings.Ownership.Claim())(ctx, d)
		if err != nil {
			t.Fatal(err)
		}
		d.informers.StartWithContext(ctx)
		ended := make(chan error)
		go func() { ended <- c.Run(ctx) }()
		for i := range 2 {
			synctest.Wait()
			n, err := client.CoreV1().Nodes().Create(ctx, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("n", i), UID: types.UID(fmt.Sprint("u", i)), CreationTimestamp: metav1.Now()}}, metav1.CreateOptions{})
			if err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Second)
			n.Spec.PodCIDRs = []string{fmt.Sprintf("10.0.%d.0/24", i)}
			if _, err := client.CoreV1().Nodes().Update(ctx, n, metav1.UpdateOptions{}); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Second)
		}
		events, err := client.CoreV1().Events("kube-system").List(ctx, metav1.ListOptions{})
		if err != nil || len(events.Items) != 1 || events.Items[0].InvolvedObject.Kind != "Lease" || events.Items[0].InvolvedObject.Name != "ccm" {
			t.Errorf("events %+v, error %v, want one on the Lease", events, err)
		}
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		d.informers.Shutdown()
	})
}
