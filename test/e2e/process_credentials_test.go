package e2e

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"

	"github.com/fairlead-k8s/fairlead/simulator"
	"github.com/fairlead-k8s/fairlead/test/internal/bed"
	"github.com/fairlead-k8s/fairlead/test/internal/daemon"
	"github.com/fairlead-k8s/fairlead/test/internal/expect"
	"github.com/fairlead-k8s/fairlead/test/internal/lbservice"
	"github.com/fairlead-k8s/fairlead/test/internal/replicas"
)

// The file in --cloud-config changes while two replicas run. Their provider is not a
// provider.Reloader. A wrong file is not used, and an event reports it. The standby
// uses a correct file at once. The leader releases its lease and exits.
func TestCredentialsAreRotated(t *testing.T) {
	b := onShared(t)
	before, after := b.NewCloud(t), anotherCloud(t, b)
	leader, standby := replicas.Pair(t, b, before, daemon.Setup{Provider: "modern", Flags: []string{"--cloud-config-watch-period=100ms"}})
	joins(t, b, before, expect.Soon)
	change := func(r replicas.Replica, endpoint string) {
		t.Helper()
		bed.WriteFile(t, r.ConfigFile(t), "endpoint: "+endpoint+"\nprovider: modern\n")
	}

	for _, r := range []replicas.Replica{leader, standby} {
		change(r, "nowhere")
		expect.Within(t, expect.Soon, func(ctx context.Context) error {
			status, body := r.Ask(ctx, t, "/readyz?verbose", "")
			if status != 200 || !strings.Contains(body, "[i]cloud-config: the files have changed and were refused") {
				return fmt.Errorf("/readyz?verbose answers %d: %s", status, body)
			}
			return nil
		})
		r.AwaitLogged(t, "The provider refused its new configuration", "endpoint: must be a URL")
	}
	awaitLeaseEvent(t, b, "CloudConfigRefused")
	b.AwaitMetric(t, leader.Daemon, "fairlead_cloud_config_stale 1")
	joins(t, b, before, expect.Soon) // The leader continues with the old configuration.

	began := time.Now()
	change(standby, after.URL)
	standby.AwaitLogged(t, "The provider works with the new configuration") // Once it leads, it could not use the file.
	change(leader, after.URL)
	if code := leader.AwaitExit(t, expect.Soon); code != 75 {
		t.Errorf("the leader has ended with code %d, want 75, that of a planned restart", code)
	}
	leader.AwaitLogged(t, "Released the lease")
	joins(t, b, after, expect.Soon)
	t.Logf("the other replica worked with the new configuration after %v", time.Since(began).Round(time.Millisecond))
	awaitLeaseEvent(t, b, "CloudConfigChanged")
	awaitLeaseEvent(t, b, "CloudConfigApplied")
}

// anotherCloud returns a cloud whose next instances have other provider IDs than the first
// ones of a new cloud.
func anotherCloud(t *testing.T, b *bed.Bed) *bed.Cloud {
	t.Helper()
	c := b.NewCloud(t)
	for range 9 {
		c.Instance(t, simulator.Instance{Name: b.Name("unused")})
	}
	return c
}

// The file in --cloud-config changes, and the provider is a provider.Reloader. The leader
// uses a correct file and keeps running.
func TestCredentialsAreTakenByTheLeader(t *testing.T) {
	b := onShared(t)
	before, after := b.NewCloud(t), anotherCloud(t, b)
	d := b.Daemon(t, daemon.Setup{Cloud: before.URL, Flags: []string{"--cloud-config-watch-period=100ms"}})
	joins(t, b, before, expect.Soon)
	for _, step := range []struct {
		endpoint, said string
		works          *bed.Cloud
	}{
		{"nowhere", "The provider refused its new configuration", before},
		{after.URL, "The provider works with the new configuration", after},
	} {
		bed.WriteFile(t, d.ConfigFile(t), "endpoint: "+step.endpoint+"\n")
		d.AwaitLogged(t, step.said)
		joins(t, b, step.works, expect.Soon)
	}
	b.AwaitMetric(t, d, `fairlead_cloud_config_changes_total{result="applied"} 1`)
}

// The file in --cloud-config changes, and the provider's factory works only once in a
// process. After a wrong file, the leader keeps running. After a correct file, it exits.
// The other replica then leads, and exits when its own file changes.
func TestCredentialsOfAFactoryThatWorksOnce(t *testing.T) {
	b := onShared(t)
	before, after := b.NewCloud(t), anotherCloud(t, b)
	setup := daemon.Setup{Provider: "modern", Flags: []string{"--cloud-provider=test-once", "--cloud-config-watch-period=100ms"}}
	leader, other := replicas.Pair(t, b, before, setup)
	joins(t, b, before, expect.Soon)
	change := func(r replicas.Replica, endpoint string) {
		t.Helper()
		bed.WriteFile(t, r.ConfigFile(t), "endpoint: "+endpoint+"\nprovider: modern\n")
	}

	change(leader, "nowhere")
	leader.AwaitLogged(t, "The provider refused its new configuration", "endpoint: must be a URL")
	b.AwaitMetric(t, leader.Daemon, "fairlead_cloud_config_stale 1")
	joins(t, b, before, expect.Soon) // The leader continues with the old configuration.

	for _, r := range []replicas.Replica{leader, other} {
		change(r, after.URL)
		if code := r.AwaitExit(t, expect.Soon); code != 75 {
			t.Errorf("a replica has ended with code %d, want 75, that of a planned restart", code)
		}
		r.AwaitLogged(t, "Only a new process can use the new configuration", "a separate process has made the provider")
		r.AwaitLogged(t, "Released the lease")
		if r == leader {
			joins(t, b, before, expect.Soon) // The other replica leads.
		}
	}
	replicas.New(t, b, after, setup) // in a cluster, the kubelet would start the container again
	joins(t, b, after, expect.Soon)
}

// awaitLeaseEvent waits for an event on the daemon's Lease.
func awaitLeaseEvent(t *testing.T, b *bed.Bed, reason string) {
	t.Helper()
	expect.Within(t, expect.Soon, func(ctx context.Context) error {
		list, err := b.Admin.CoreV1().Events(metav1.NamespaceSystem).List(ctx, metav1.ListOptions{FieldSelector: fields.Set{
			"involvedObject.kind": "Lease", "involvedObject.name": daemon.LeaseName, "reason": reason,
		}.String()})
		if err == nil && len(list.Items) == 0 {
			err = errors.New("no event " + reason)
		}
		return err
	})
}

// With --enable-leader-migration, the daemon has a second lease. It holds both
// leases while it works, and releases them when it ends.
func TestLeaderMigration(t *testing.T) {
	b := onShared(t)
	b.UseRightsOf(t, migration)
	cloud := b.NewCloud(t)
	leader, _ := replicas.Pair(t, b, cloud, daemon.Setup{Flags: []string{"--enable-leader-migration"}})
	const second = "cloud-provider-extraction-migration"
	holderOf := func(ctx context.Context, name string) (string, error) {
		lease, err := b.Admin.CoordinationV1().Leases(metav1.NamespaceSystem).Get(ctx, name, metav1.GetOptions{})
		if err != nil || lease.Spec.HolderIdentity == nil {
			return "", err
		}
		return *lease.Spec.HolderIdentity, nil
	}
	expect.Within(t, expect.Soon, func(ctx context.Context) error {
		got, err := holderOf(ctx, second)
		if err == nil && got == "" || !leader.Logged("Controller runs", "service-lb-controller") {
			err = fmt.Errorf("the second lease is held by %q: %w", got, err)
		}
		return err
	})
	joins(t, b, cloud, expect.Soon)
	awaitAddress(t, b, lbservice.On(b).Balanced(t, "migrated"))
	main, err := holderOf(t.Context(), daemon.LeaseName)
	if err != nil {
		t.Fatal(err)
	}
	if err := leader.Stop(); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{daemon.LeaseName, second} {
		if now, err := holderOf(t.Context(), name); err != nil || now == main {
			t.Errorf("lease %s is still held by %q, who has ended; error %v", name, now, err)
		}
	}
}
