package e2e

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-k8s/fairlead/test/internal/bed"
	"github.com/fairlead-k8s/fairlead/test/internal/daemon"
	"github.com/fairlead-k8s/fairlead/test/internal/expect"
	"github.com/fairlead-k8s/fairlead/test/internal/lbservice"
)

// charts lists command lines from public charts and manifests of other
// cloud-controller-managers. Each command line names the simulated provider in place of
// the original one.
var charts = []struct {
	name string
	args []string
}{
	// releases/v0.1.71.yml, which has no --cloud-provider, because its program
	// sets the provider.
	{"digitalocean", []string{"--leader-elect=false", "--cloud-provider=simulated"}},
	// chart v1.20, default values with one replica.
	{"hcloud", []string{"--allow-untagged-cloud", "--cloud-provider=simulated", "--route-reconciliation-period=30s", "--webhook-secure-port=0", "--leader-elect=false"}},
	// the same chart with networking.enabled
	{"hcloud-network", []string{
		"--allow-untagged-cloud", "--cloud-provider=simulated", "--route-reconciliation-period=30s", "--webhook-secure-port=0",
		"--allocate-node-cidrs=true", "--cluster-cidr=10.244.0.0/16", "--leader-elect=false",
	}},
	// chart 0.0.8, default values
	{"aws", []string{"--v=2", "--cloud-provider=simulated"}},
	// flags that the README of the AWS chart adds, and flags that kops renders
	{"aws-kops", []string{
		"--v=2", "--cloud-provider=simulated", "--use-service-account-credentials=true", "--allocate-node-cidrs=true", "--cluster-cidr=10.128.0.0/9",
		"--cluster-name=minimal.example.com", "--configure-cloud-routes=false", "--leader-elect=true",
	}},
}

// The daemon runs with the flags of a manifest for another cloud-controller-manager: it
// initialises nodes and gives Services their load balancers. The test adds only the
// things that a pod would have anyway: credentials, the provider's file and a free
// port.
func TestChartsOfOthers(t *testing.T) {
	for _, chart := range charts {
		t.Run(chart.name, func(t *testing.T) {
			b := onShared(t)
			if slices.Contains(chart.args, "--use-service-account-credentials=true") {
				b.UseRightsOf(t, serviceAccounts)
			}
			err := b.Admin.CoordinationV1().Leases(metav1.NamespaceSystem).Delete(t.Context(), daemon.LeaseName, metav1.DeleteOptions{})
			if err != nil && !apierrors.IsNotFound(err) {
				t.Fatal(err)
			}
			cloud := b.NewCloud(t)
			d := b.Run(t, slices.Concat([]string{b.Programs.Path("cloud-controller-manager")}, chart.args, []string{
				"--kubeconfig=" + b.Cluster.CCMKubeconfig,
				"--cloud-config=" + bed.WriteFile(t, filepath.Join(t.TempDir(), "cloud.yaml"), "endpoint: "+cloud.URL),
			}))
			joins(t, b, cloud, expect.Soon)
			awaitAddress(t, b, lbservice.On(b).Balanced(t, "chart"))
			if status, body := d.Ask(t.Context(), t, "/healthz", ""); status != http.StatusOK {
				t.Errorf("/healthz answers %d: %s", status, body)
			}
			expect.Within(t, expect.Soon, func(ctx context.Context) error { // The API server may take longer than this check allows.
				status, body, err := d.Request(ctx, "/readyz", "")
				if err == nil && status != http.StatusOK {
					err = fmt.Errorf("/readyz answers %d: %s", status, body)
				}
				return err
			})
		})
	}
}

// awaitAddress waits until the Service shows an address.
func awaitAddress(t *testing.T, b *bed.Bed, service string) {
	t.Helper()
	expect.Within(t, expect.Soon, func(ctx context.Context) error {
		s, err := b.Admin.CoreV1().Services(metav1.NamespaceDefault).Get(ctx, service, metav1.GetOptions{})
		if err == nil && len(s.Status.LoadBalancer.Ingress) == 0 {
			err = errors.New("no address")
		}
		if err != nil {
			return fmt.Errorf("service %s: %w", service, err)
		}
		return nil
	})
}
