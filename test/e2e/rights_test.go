package e2e

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
)

const (
	deployment      = "deploy/deployment.yaml"
	serviceAccounts = "charts/fairlead/ci/service-accounts.golden.yaml"
	migration       = "charts/fairlead/ci/migration.golden.yaml"
)

func (all requests) needing(r right) requests { return all.where(r.covers) }

func (all requests) forbidden() requests {
	return all.where(request.isForbidden)
}

// The chart grants what the daemon uses, and nothing else; and whatever is
// taken away is missed. Each right that is used here is one without which every
// other test in which the daemon needs it fails too: see bed.check.
func TestRights(t *testing.T) {
	skipWithoutPrograms(t)
	// An API server that is older than streaming lists is asked for them in the old way.
	t.Setenv("KUBE_FEATURE_WatchListClient", "false")
	b, err := newBed(t.Context(), shared.programs)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.close(); err != nil {
			t.Error(err)
		}
	})
	tried := map[right]bool{}
	for _, way := range []struct {
		name, manifest string
		flags          []string
	}{
		{"Default", deployment, nil},
		{"ServiceAccounts", serviceAccounts, []string{"--use-service-account-credentials"}},
		{"Migration", migration, []string{"--enable-leader-migration"}},
	} {
		t.Run(way.name, func(t *testing.T) {
			all, err := accessOf(way.manifest)
			if err != nil {
				t.Fatal(err)
			}
			granted := all.rights()
			b.with(t, all)
			b.exactlyUsed(t, granted, way.flags)
			for _, less := range granted {
				if tried[less] {
					continue
				}
				tried[less] = true
				t.Run("Without/"+strings.NewReplacer(" ", "-", "/", "-").Replace(less.String()), func(t *testing.T) {
					b.with(t, all.without(less))
					b.isMissed(t, less, way.flags)
				})
			}
		})
	}
}

// With the roles that the provider of AWS publishes for its daemon this one does
// all that it does, and is refused nothing. (examples/aws holds the copies
// against what is published.)
func TestRightsOfAnotherVendor(t *testing.T) {
	for _, published := range []struct {
		name, manifest string
		flags          []string
		unread         bool // The role has no right to ask who reads metrics.
	}{
		{"Chart", "test/e2e/testdata/cloud-provider-aws.yaml", nil, false},
		{"Base", "test/e2e/testdata/cloud-provider-aws-base.yaml", []string{"--use-service-account-credentials"}, true},
	} {
		t.Run(published.name, func(t *testing.T) {
			b := onShared(t)
			b.withThoseOf(t, published.manifest)
			s := b.scene(t, published.flags, func() bool { return false })
			s.unread = published.unread
			s.accounts(t) // Where their daemon has been, they exist.
			s.play(t)
			s.requests(t).nothingRefused(t)
		})
	}
}

// exactlyUsed lets the daemon do all that it does.
func (b *bed) exactlyUsed(t *testing.T, granted []right, flags []string) {
	t.Helper()
	s := b.scene(t, flags, func() bool { return false })
	s.play(t)
	if err := s.daemon.Stop(); err != nil { // The API server writes a watch down when it has ended.
		t.Fatal(err)
	}
	seen := s.requests(t)
	for _, r := range granted {
		if len(seen.ours().needing(r)) == 0 {
			t.Errorf("nothing uses the right to %s", r)
		}
	}
	seen.nothingRefused(t)
	if slices.Contains(flags, "--use-service-account-credentials") {
		for _, name := range controllerAccounts {
			if !slices.ContainsFunc(seen.ofControllers(), func(q request) bool { return strings.HasSuffix(q.User.Username, ":"+name) && q.writes() }) {
				t.Errorf("%s has written nothing", name)
			}
		}
	}
}

// nothingRefused to the daemon, or to its controllers' accounts.
func (all requests) nothingRefused(t *testing.T) {
	t.Helper()
	for _, q := range slices.Concat(all.ours(), all.ofControllers()).forbidden() {
		t.Errorf("a right is missing: %s as %s", q, q.User.Username)
	}
}

// isMissed shows that the daemon is refused something and that this is found.
func (b *bed) isMissed(t *testing.T, less right, flags []string) {
	t.Helper()
	var s *scene
	refused := func() bool { return len(s.requests(t).ours().forbidden().needing(less)) > 0 }
	s = b.scene(t, flags, refused)
	s.play(t)
	if !refused() {
		t.Fatalf("the daemon does all that it does without the right to %s", less)
	}
	if found := s.requests(t).ours().outsideEnvelope(nil); len(found) == 0 {
		t.Error("other tests would not find it")
	}
}

// usage is in which tests the daemon has used which right, whatever of.
type usage struct {
	mu    sync.Mutex
	tests map[right][]string // guarded by mu
}

var used = usage{tests: map[right][]string{}}

func (u *usage) record(test string, all requests) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, q := range all {
		r := right{verb: q.Verb, group: q.Object.Group, resource: q.Object.Resource, subresource: q.Object.Subresource}
		if q.Status.Code < http.StatusBadRequest && !slices.Contains(u.tests[r], test) {
			u.tests[r] = append(u.tests[r], test)
		}
	}
}

// String has a line for each right: without it, these tests fail.
func (u *usage) String() string {
	u.mu.Lock()
	defer u.mu.Unlock()
	var lines []string
	for r, tests := range u.tests {
		slices.Sort(tests)
		lines = append(lines, fmt.Sprintf("e2e: the right to %s is used in %d tests: %s\n", r, len(tests), strings.Join(tests[:min(len(tests), 3)], ", ")))
	}
	slices.Sort(lines)
	return strings.Join(lines, "")
}
