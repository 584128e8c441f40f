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
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/fairlead-k8s/fairlead/internal/cloud"
	"github.com/fairlead-k8s/fairlead/internal/daemon/provider/providertest"
	"github.com/fairlead-k8s/fairlead/internal/kube"
)

// An event that is about no object is on the Lease of this process.
func TestEventsAboutNoObjectAreOnTheLease(t *testing.T) {
	for name, tt := range map[string]struct {
		args   string
		start  func(*Program) start
		happen func(*testing.T, kubernetes.Interface)
	}{
		"AnotherAllocator": {
			"--controllers=node-ipam-controller --allocate-node-cidrs --cluster-cidr=10.0.0.0/16",
			func(p *Program) start { return startIPAM(p.Settings.IPAM, p.Settings.Ownership.Claim()) },
			twoNodesGetCIDRsElsewhere,
		},
		"ManyStrayRoutes": {
			"--configure-cloud-routes --cluster-cidr=10.0.0.0/16",
			func(p *Program) start { return startRoutes(p.Settings.Route, p.Settings.Ownership.Claim()) },
			func(*testing.T, kubernetes.Interface) { time.Sleep(3 * time.Minute) },
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { tellsTheLease(t, tt.start(parsed(t, tt.args)), tt.happen) })
		})
	}
}

// tellsTheLease runs a controller, and fails the test unless the only event is on the
// Lease.
func tellsTheLease(t *testing.T, start start, happen func(*testing.T, kubernetes.Interface)) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	client := fake.NewClientset()
	d := deps{client: client, informers: kube.NewInformerFactory(client, 0, nil), lease: types.NamespacedName{Namespace: "kube-system", Name: "ccm"}, recorder: kube.NewRecorder(ctx, client, "ccm")}
	var err error
	if d.gateway, err = providertest.Made(t, cloudOfStrayRoutes()).Open(ctx, cloud.Config{}); err != nil {
		t.Fatal(err)
	}
	c, err := start(ctx, d)
	if err != nil {
		t.Fatal(err)
	}
	d.informers.StartWithContext(ctx)
	ended := make(chan error)
	go func() { ended <- c.Run(ctx) }()
	happen(t, client)
	events, err := client.CoreV1().Events("kube-system").List(ctx, metav1.ListOptions{})
	if err != nil || len(events.Items) != 1 || events.Items[0].InvolvedObject.Kind != "Lease" || events.Items[0].InvolvedObject.Name != "ccm" {
		t.Errorf("events %+v, error %v, want one on the Lease", events, err)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	d.informers.Shutdown()
}

// cloudOfStrayRoutes returns a cloud with more stray routes than the budget allows.
func cloudOfStrayRoutes() *tracedCloud {
	c := newTracedCloud(&trace{})
	for i := range 10 {
		cidr := fmt.Sprintf("10.0.%d.0/24", i)
		c.routes[cidr] = &cloudprovider.Route{Name: cidr, TargetNode: "gone", DestinationCIDR: cidr}
	}
	return c
}

func twoNodesGetCIDRsElsewhere(t *testing.T, client kubernetes.Interface) {
	t.Helper()
	for i := range 2 {
		synctest.Wait()
		n, err := client.CoreV1().Nodes().Create(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("n", i), UID: types.UID(fmt.Sprint("u", i)), CreationTimestamp: metav1.Now()}}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		n.Spec.PodCIDRs = []string{fmt.Sprintf("10.0.%d.0/24", i)}
		if _, err := client.CoreV1().Nodes().Update(t.Context(), n, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
	}
}
