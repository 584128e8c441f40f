package opaque

import (
	"errors"
	"net/http/httptest"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/fairlead-k8s/fairlead/simulator"
)

func TestErrors(t *testing.T) {
	for _, row := range []struct {
		provider string
		hasText  bool
	}{{Text, true}, {Unreadable, false}} {
		t.Run(row.provider, func(t *testing.T) {
			cloud, err := simulator.New(simulator.Config{})
			if err != nil {
				t.Fatal(err)
			}
			server := httptest.NewServer(cloud)
			t.Cleanup(server.Close)
			theirs, err := cloudprovider.GetCloudProvider(row.provider, strings.NewReader("endpoint: "+server.URL))
			if err != nil {
				t.Fatal(err)
			}
			v2, _ := theirs.InstancesV2()
			node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-1"}}
			if _, err := v2.InstanceMetadata(t.Context(), node); !errors.Is(err, cloudprovider.InstanceNotFound) {
				t.Errorf("%v, want the sentinel", err)
			}
			operator := simulator.NewClient(server.URL).Operator()
			if err := operator.SetFault(t.Context(), simulator.Fault{Name: "down", Kind: simulator.FaultOutage}); err != nil {
				t.Fatal(err)
			}
			_, err = v2.InstanceMetadata(t.Context(), node)
			var typed *simulator.APIError
			if err == nil || errors.As(err, &typed) || strings.Contains(err.Error(), "503") != row.hasText {
				t.Errorf("%T: %v", err, err)
			}
			balancers, _ := theirs.LoadBalancer()
			err = balancers.EnsureLoadBalancerDeleted(t.Context(), "cluster", &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "web", UID: "1"}})
			if err == nil || errors.As(err, &typed) || strings.Contains(err.Error(), "503") != row.hasText {
				t.Errorf("load balancer: %T: %v", err, err)
			}
		})
	}
}
