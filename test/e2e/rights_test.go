package e2e

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/fairlead-k8s/fairlead/test/internal/audit"
	"github.com/fairlead-k8s/fairlead/test/internal/bed"
	"github.com/fairlead-k8s/fairlead/test/internal/expect"
	"github.com/fairlead-k8s/fairlead/test/internal/rights"
)

const (
	serviceAccounts = "charts/fairlead/ci/service-accounts.golden.yaml"
	migration       = "charts/fairlead/ci/migration.golden.yaml"
	volumeLabels    = "charts/fairlead/ci/volumes.golden.yaml"
	chosenBackends  = "charts/fairlead/ci/backends.golden.yaml"
	// ownAccounts is the manifest with the roles of all controllers' service accounts.
	ownAccounts = "charts/fairlead/ci/own-accounts.golden.yaml"
)

// ownAccountFlag lets each controller act as its service account.
const ownAccountFlag = "--use-service-account-credentials"

func needing(all audit.Requests, r rights.Right) audit.Requests { return all.Where(r.Covers) }

// The chart grants exactly the rights that the daemon uses. The test takes each
// right away, and checks that this is noticed. Every other test also fails if the
// daemon lacks a right that it needs in that test (see bed.Check).
func TestRights(t *testing.T) {
	skipWithoutPrograms(t)
	t.Parallel()
	b := unchecked(t)
	// Streaming lists are off, so the daemon uses the right to list, as with an older API
	// server.
	b.Environment = []string{"KUBE_FEATURE_WatchListClient=false"}
	tried := map[rights.Right]bool{}
	for _, way := range []struct {
		name, manifest string
		flags          []string
	}{
		{"Default", rights.Chart, nil},
		{"Migration", migration, []string{"--enable-leader-migration"}},
		{"VolumeLabels", volumeLabels, []string{labelsVolumes}},
		{"ServiceBackends", chosenBackends, []string{ofEndpoints}},
		{"ServingCertificates", certificates, []string{approvesCertificates}},
		{"ServiceAccounts", ownAccounts, []string{labelsVolumes + ",kubelet-serving-csr-controller", ownAccountFlag}},
	} {
		t.Run(way.name, func(t *testing.T) {
			all, err := b.AccessIn(way.manifest)
			if err != nil {
				t.Fatal(err)
			}
			granted := slices.DeleteFunc(all.Rights(), takesLong)
			b.UseRights(t, all)
			t.Run("With", func(t *testing.T) { exactlyUsed(t, b, granted, way.flags) }) // Its Nodes go before the next daemon runs.
			for _, less := range granted {
				if tried[less] {
					continue
				}
				tried[less] = true
				t.Run("Without/"+strings.NewReplacer(" ", "-", "/", "-").Replace(less.String()), func(t *testing.T) {
					b.UseRights(t, all.Without(less))
					isMissed(t, b, less, way.flags)
				})
			}
		})
	}
}

// takesLong reports whether a controller uses the right only after ten minutes or more.
// That is the right to patch events: a controller uses it to repeat an event about an
// object, and waits that long before it does.
func takesLong(r rights.Right) bool { return strings.HasPrefix(r.String(), "patch events as ") }

// With the roles that the AWS provider publishes for its own daemon, our daemon can
// do everything. No request is refused. (A test of examples/aws compares the copies
// with the published roles.)
func TestRightsOfAnotherVendor(t *testing.T) {
	for _, published := range []struct {
		name, manifest string
		flags          []string
		unread         bool // The role has no right to ask the API server who may read metrics.
	}{
		{"Chart", "test/e2e/testdata/cloud-provider-aws.yaml", nil, false},
		{"Base", "test/e2e/testdata/cloud-provider-aws-base.yaml", []string{ownAccountFlag}, true},
	} {
		t.Run(published.name, func(t *testing.T) {
			b := onShared(t)
			b.UseRightsOf(t, published.manifest)
			s := newScene(t, b, published.flags, func() bool { return false })
			s.unread = published.unread
			s.accounts(t) // Where the daemon of AWS has run, these accounts exist.
			s.play(t)
			nothingRefused(t, s.requests(t))
		})
	}
}

// exactlyUsed checks that the daemon uses all these rights, and needs no others.
func exactlyUsed(t *testing.T, b *bed.Bed, granted []rights.Right, flags []string) {
	t.Helper()
	s := newScene(t, b, flags, func() bool { return false })
	s.play(t)
	if err := s.daemon.Stop(); err != nil { // The audit log shows a watch only when it has ended.
		t.Fatal(err)
	}
	var seen audit.Requests
	expect.Within(t, expect.Soon, func(context.Context) error { // The API server notices the end of a watch a little later.
		seen = s.requests(t)
		return unused(granted, ours(seen))
	})
	nothingRefused(t, seen)
	if !slices.Contains(flags, ownAccountFlag) {
		return
	}
	for _, name := range slices.Concat(audit.ControllerAccounts, audit.OptionalAccounts) {
		if !slices.ContainsFunc(seen.OfControllers(), func(q audit.Request) bool { return q.User.Username == audit.Account(name) && q.Writes() }) {
			t.Errorf("%s has written nothing", name)
		}
	}
}

// unused returns an error that names each right that none of the requests needs.
func unused(granted []rights.Right, seen audit.Requests) error {
	var errs []error
	for _, r := range granted {
		if len(needing(seen, r)) == 0 {
			errs = append(errs, fmt.Errorf("nothing uses the right to %s", r))
		}
	}
	return errors.Join(errs...)
}

// ours returns the requests of the daemon and of its controllers' accounts.
func ours(all audit.Requests) audit.Requests {
	return slices.Concat(all.OfDaemons(), all.OfControllers())
}

// nothingRefused checks that no request of the daemon or of its controllers' accounts
// was refused.
func nothingRefused(t *testing.T, all audit.Requests) {
	t.Helper()
	for _, q := range ours(all).Forbidden() {
		t.Errorf("a right is missing: %s as %s", q, q.User.Username)
	}
}

// isMissed checks that, without this right, a request of the daemon is refused, and that
// other tests would notice the refusal.
func isMissed(t *testing.T, b *bed.Bed, less rights.Right, flags []string) {
	t.Helper()
	var s *scene
	refused := func() bool { return len(needing(ours(s.requests(t)).Forbidden(), less)) > 0 }
	s = newScene(t, b, flags, refused)
	s.play(t)
	expect.Within(t, expect.Soon, func(context.Context) error { // A refusal can be in the log a little later.
		if !refused() {
			return fmt.Errorf("the daemon does all that it does without the right to %s", less)
		}
		return nil
	})
	if found := ours(s.requests(t)).OutsideEnvelope(func(q audit.Request) bool { return b.May(t, q) }); len(found) == 0 {
		t.Error("other tests would not find it")
	}
}
