package election

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientv1 "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/tools/leaderelection/resourcelock"

	"github.com/fairlead-k8s/fairlead/internal/daemon/election/electiontest"
	"github.com/fairlead-k8s/fairlead/internal/lease"
)

// storage has one Lease, and gives versions as etcd does.
type storage struct {
	clientv1.LeasesGetter
	clientv1.LeaseInterface

	mu      sync.Mutex
	version int                   // of the newest write to any object; guarded by mu
	lease   *coordinationv1.Lease // nil: does not exist; guarded by mu
	stale   *coordinationv1.Lease // what reads return in place of the lease; guarded by mu
}

func (s *storage) Leases(string) clientv1.LeaseInterface { return s }

func (s *storage) Get(context.Context, string, metav1.GetOptions) (*coordinationv1.Lease, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.stale != nil:
		return s.stale.DeepCopy(), nil
	case s.lease == nil:
		return nil, apierrors.NewNotFound(coordinationv1.Resource("leases"), "lease")
	default:
		return s.lease.DeepCopy(), nil
	}
}

func (s *storage) Create(_ context.Context, l *coordinationv1.Lease, _ metav1.CreateOptions) (*coordinationv1.Lease, error) {
	return s.write(l, "")
}

func (s *storage) Update(_ context.Context, l *coordinationv1.Lease, _ metav1.UpdateOptions) (*coordinationv1.Lease, error) {
	return s.write(l, l.ResourceVersion)
}

func (s *storage) write(l *coordinationv1.Lease, base string) (*coordinationv1.Lease, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lease == nil && base != "" || s.lease != nil && s.lease.ResourceVersion != base {
		return nil, apierrors.NewConflict(coordinationv1.Resource("leases"), "lease", errors.New("changed"))
	}
	s.version++
	s.lease = l.DeepCopy()
	s.lease.ResourceVersion = strconv.Itoa(s.version)
	return s.lease.DeepCopy(), nil
}

// backup returns a function that restores what the storage holds now.
func (s *storage) backup() (restore func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	version, saved := s.version, s.lease
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.version, s.lease = version, saved
	}
}

// heldBy returns a copy of the Lease that names this holder.
func (s *storage) heldBy(holder string) *coordinationv1.Lease {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.lease.DeepCopy()
	l.Spec.HolderIdentity = &holder
	return l
}

// set puts this Lease in the place of the one that is stored. nil deletes it.
func (s *storage) set(l *coordinationv1.Lease) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lease = l
}

// show makes reads return this Lease. nil means the one that is stored.
func (s *storage) show(l *coordinationv1.Lease) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stale = l
}

// others writes other objects, which give the storage newer versions.
func (s *storage) others(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.version += n
}

func TestStorageThatGoesBackEndsTheProcess(t *testing.T) {
	// Between two renewals, which come every two seconds.
	later := func(after time.Duration, do func()) { time.AfterFunc(after+500*time.Millisecond, do) }
	for _, tc := range []struct {
		name   string
		happen func(s *storage)
		want   error // nil: this replica goes on
	}{
		{"RestoredFromABackup", func(s *storage) {
			later(time.Minute, func() { later(time.Minute, s.backup()) })
		}, ErrWentBack},
		{"RestoredFromABackupWithoutTheLease", func(s *storage) {
			restore := s.backup()
			s.others(10)
			later(time.Minute, restore)
		}, ErrWentBack},
		{"RestoredFromABackupOfAnotherLeader", func(s *storage) {
			later(time.Minute, func() {
				restore := s.backup()
				later(time.Minute, func() {
					restore()
					s.set(s.heldBy("b"))
				})
			})
		}, ErrWentBack},
		{"RestoredWithNewerVersions", func(s *storage) {
			later(time.Minute, func() {
				restore := s.backup()
				later(time.Minute, func() { restore(); s.others(1000) })
			})
		}, nil},
		{"OldAnswerOfACache", func(s *storage) {
			later(time.Minute, func() {
				old := s.heldBy("a")
				later(time.Minute, func() {
					// Somebody annotates the Lease, so the next write conflicts and the Lease is read.
					now := s.heldBy("a")
					_, _ = s.write(now, now.ResourceVersion)
					s.show(old)
					later(5*time.Second, func() { s.show(nil) })
				})
			})
		}, nil},
		{"LeaseIsDeleted", func(s *storage) { later(time.Minute, func() { s.set(nil) }) }, nil},
		{"LeaseIsTaken", func(s *storage) {
			later(time.Minute, func() {
				taken := s.heldBy("b")
				_, _ = s.write(taken, taken.ResourceVersion)
			})
		}, ErrLeaseLost},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &storage{}
				e, err := New(electiontest.Config(), &resourcelock.LeaseLock{
					LeaseMeta: metav1.ObjectMeta{Name: "lease"}, Client: s, LockConfig: resourcelock.ResourceLockConfig{Identity: "a"},
				})
				if err != nil {
					t.Fatal(err)
				}
				tc.happen(s)
				ctx, stop := context.WithTimeout(t.Context(), time.Hour)
				defer stop()
				ended := false
				err = e.Run(ctx, func(ctx context.Context) {
					<-ctx.Done()
					ended = lease.Await(ctx) != nil
				})
				synctest.Wait()
				if !errors.Is(err, tc.want) || tc.want != nil && ctx.Err() != nil {
					t.Errorf("got %v after %v, want %v", err, ctx.Err(), tc.want)
				}
				if !ended {
					t.Error("changes may still begin")
				}
			})
		})
	}
}

func TestVersionsAreCompared(t *testing.T) {
	for _, tc := range []struct {
		a, b string
		want bool
	}{{"9", "10", true}, {"10", "9", false}, {"9", "9", false}, {"", "9", false}, {"9", "", false}, {"x", "9", false}, {"18446744073709551616", "18446744073709551617", true}} {
		if got := isBefore(tc.a, tc.b); got != tc.want {
			t.Errorf("isBefore(%q, %q) = %v", tc.a, tc.b, got)
		}
	}
}
