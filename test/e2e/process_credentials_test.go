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
)

// configFile is the daemon's own.
func (d *daemon) configFile(t *testing.T) string {
	t.Helper()
	for _, arg := range d.argv {
		if file, ok := strings.CutPrefix(arg, "--cloud-config="); ok {
			return file
		}
	}
	t.Fatal("the daemon has no --cloud-config")
	return ""
}

// The file in --cloud-config changes under two replicas, whose provider is no
// provider.Reloader. What is wrong is not taken and is told. What is right is
// taken by the standby at once; the leader hands its lease over and ends.
func TestCredentialsAreRotated(t *testing.T) {
	b := onShared(t)
	before, after := b.bareCloud(t), b.bareCloud(t)
	leader, standby := b.pairOfReplicas(t, before, setup{program: testCCM, provider: "modern", flags: []string{"--cloud-config-watch-period=100ms"}})
	b.joins(t, before, soon)
	change := func(endpoint string) {
		t.Helper()
		for _, r := range []replica{leader, standby} {
			write(t, r.configFile(t), "endpoint: "+endpoint+"\nprovider: modern\n")
		}
	}

	change("nowhere")
	for _, r := range []replica{leader, standby} {
		await(t, soon, func(ctx context.Context) error {
			status, body := r.ask(ctx, t, "/readyz?verbose", "")
			if status != 200 || !strings.Contains(body, "[i]cloud-config: the files have changed and were refused") {
				return fmt.Errorf("/readyz?verbose answers %d: %s", status, body)
			}
			return nil
		})
		if !r.says("The provider refuses its new configuration", "endpoint: must be a URL") {
			t.Error("the log does not say why")
		}
	}
	b.awaitLeaseEvent(t, "CloudConfigRefused")
	b.awaitMetric(t, leader.daemon, "fairlead_cloud_config_stale 1")
	b.joins(t, before, soon) // The leader goes on with what it had.

	began := time.Now()
	change(after.url)
	if code := leader.exited(t, soon); code != 1 {
		t.Errorf("the leader has ended with code %d, want 1", code)
	}
	if !leader.says("Gave the lease back") {
		t.Error("the leader has not given its lease back")
	}
	b.joins(t, after, soon)
	t.Logf("the other replica worked with the new configuration after %v", time.Since(began).Round(time.Millisecond))
	if !standby.says("The provider works with the new configuration") {
		t.Error("the standby has not taken the new configuration")
	}
	b.awaitLeaseEvent(t, "CloudConfigChanged")
	b.awaitLeaseEvent(t, "CloudConfigApplied")
}

// The same under a provider that is a provider.Reloader: the leader takes what
// is right and goes on.
func TestCredentialsAreTakenByTheLeader(t *testing.T) {
	b := onShared(t)
	before, after := b.bareCloud(t), b.bareCloud(t)
	d := b.daemon(t, setup{cloud: before.url, flags: []string{"--cloud-config-watch-period=100ms"}})
	b.joins(t, before, soon)
	for _, step := range []struct {
		endpoint, said string
		works          *cloud
	}{
		{"nowhere", "The provider refuses its new configuration", before},
		{after.url, "The provider works with the new configuration", after},
	} {
		write(t, d.configFile(t), "endpoint: "+step.endpoint+"\n")
		await(t, soon, func(context.Context) error {
			if !d.says(step.said) {
				return fmt.Errorf("the log does not say %q", step.said)
			}
			return nil
		})
		b.joins(t, step.works, soon)
	}
	b.awaitMetric(t, d, `fairlead_cloud_config_changes_total{result="applied"} 1`)
}

// awaitLeaseEvent waits for an event on the daemon's Lease.
func (b *bed) awaitLeaseEvent(t *testing.T, reason string) {
	t.Helper()
	await(t, soon, func(ctx context.Context) error {
		list, err := b.admin.CoreV1().Events(metav1.NamespaceSystem).List(ctx, metav1.ListOptions{FieldSelector: fields.Set{
			"involvedObject.kind": "Lease", "involvedObject.name": leaseName, "reason": reason,
		}.String()})
		if err == nil && len(list.Items) == 0 {
			err = errors.New("no event " + reason)
		}
		return err
	})
}

// With a second lease for controllers that move, both are held while the
// daemon works and given back when it ends.
func TestLeaderMigration(t *testing.T) {
	b := onShared(t)
	b.withThoseOf(t, migration)
	cloud := b.bareCloud(t)
	leader, _ := b.pairOfReplicas(t, cloud, setup{flags: []string{"--enable-leader-migration"}})
	const second = "cloud-provider-extraction-migration"
	holderOf := func(ctx context.Context, name string) (string, error) {
		lease, err := b.admin.CoordinationV1().Leases(metav1.NamespaceSystem).Get(ctx, name, metav1.GetOptions{})
		if err != nil || lease.Spec.HolderIdentity == nil {
			return "", err
		}
		return *lease.Spec.HolderIdentity, nil
	}
	await(t, soon, func(ctx context.Context) error {
		got, err := holderOf(ctx, second)
		if err == nil && got == "" || !leader.says("Controller runs", "service-lb-controller") {
			err = fmt.Errorf("the second lease is held by %q: %w", got, err)
		}
		return err
	})
	b.joins(t, cloud, soon)
	b.awaitAddress(t, b.services().balanced(t, "migrated"))
	main, err := holderOf(t.Context(), leaseName)
	if err != nil {
		t.Fatal(err)
	}
	if err := leader.Stop(); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{leaseName, second} {
		if now, err := holderOf(t.Context(), name); err != nil || now == main {
			t.Errorf("lease %s is still held by %q, who has ended; error %v", name, now, err)
		}
	}
}
