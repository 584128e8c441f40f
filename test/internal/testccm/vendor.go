package main

import (
	"fmt"
	"os"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/klog/v2"

	"github.com/fairlead-k8s/fairlead/internal/sleep"
)

// Initialize implements cloudprovider.Interface. With the setting writes, it starts a
// controller as vendors do: it writes to a Node all the time, and knows of no lease.
func (c *cloud) Initialize(clients cloudprovider.ControllerClientBuilder, stop <-chan struct{}) {
	c.Interface.Initialize(clients, stop)
	if c.writes == "" {
		return
	}
	nodes, ctx := clients.ClientOrDie("vendor").CoreV1().Nodes(), wait.ContextForChannel(stop)
	go func() {
		for n := 0; sleep.For(ctx, 100*time.Millisecond); n++ {
			patch := fmt.Appendf(nil, `{"metadata":{"annotations":{"vendor":"%d of %d"}}}`, n, os.Getpid())
			if _, err := nodes.Patch(ctx, c.writes, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
				klog.FromContext(ctx).Error(err, "The vendor's controller could not write")
			}
		}
	}()
}
