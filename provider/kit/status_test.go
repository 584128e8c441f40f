package kit_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/cloud-provider/api"

	"github.com/fairlead-k8s/fairlead/provider/kit"
)

func TestStatus(t *testing.T) {
	vip := new(corev1.LoadBalancerIPModeVIP)
	for _, row := range []struct {
		addresses []string
		want      []corev1.LoadBalancerIngress
		refused   bool
	}{
		{addresses: nil},
		{addresses: []string{"", ""}},
		{addresses: []string{"203.0.113.1"}, want: []corev1.LoadBalancerIngress{{IP: "203.0.113.1", IPMode: vip}}},
		{
			addresses: []string{"203.0.113.1", "2001:DB8::1", "203.0.113.1", ""},
			want:      []corev1.LoadBalancerIngress{{IP: "203.0.113.1", IPMode: vip}, {IP: "2001:db8::1", IPMode: vip}},
		},
		{addresses: []string{"lb-1.example.com"}, want: []corev1.LoadBalancerIngress{{Hostname: "lb-1.example.com"}}},
		{addresses: []string{"fe80::1%eth0"}, refused: true},
		{addresses: []string{"203.0.113.1/32"}, refused: true},
		{addresses: []string{"203.0.113.1", "not a name"}, refused: true},
	} {
		got, err := kit.Status(corev1.LoadBalancerIPModeVIP, row.addresses...)
		if (err != nil) != row.refused {
			t.Errorf("%q: %v", row.addresses, err)
		}
		if err == nil {
			if d := cmp.Diff(row.want, got.Ingress); d != "" {
				t.Errorf("%q (-want +got):\n%s", row.addresses, d)
			}
		}
	}
}

func TestPending(t *testing.T) {
	err := fmt.Errorf("wrapped: %w", kit.Pending(5*time.Second, "load balancer %s is %s", "lb-1", "creating"))
	retry, ok := errors.AsType[*api.RetryError](err)
	if !ok || retry.RetryAfter() != 5*time.Second || retry.Error() != "load balancer lb-1 is creating" {
		t.Errorf("got %v", err)
	}
}
