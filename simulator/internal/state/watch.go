package state

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fairlead-k8s/fairlead/simulator/wire"
)

// Watch says which changes of instances a caller waits for.
type Watch struct {
	// Since is a place in the log of changes. If it is empty, the caller gets the
	// present place at once, and no changes.
	Since string
	// Wait is the maximum time to wait for a change.
	Wait time.Duration
}

// WatchInstances waits until an instance has changed, and returns the instances that have
// changed. It returns no instances if none has changed within w.Wait, or before the
// context ends.
func (s *Store) WatchInstances(ctx context.Context, w Watch, v Distortions) (wire.InstanceChanges, error) {
	end := s.clock.Now().Add(w.Wait)
	for {
		found, next, err := s.changesSince(ctx, w.Since, v)
		remaining := end.Sub(s.clock.Now())
		if err != nil || w.Since == "" || len(found.Changed) > 0 || remaining <= 0 || ctx.Err() != nil {
			return found, err
		}
		if !next.move.IsZero() {
			remaining = min(remaining, next.move.Sub(s.clock.Now()))
		}
		timer := s.clock.NewTimer(remaining)
		select {
		case <-next.changed:
		case <-timer.C():
		case <-ctx.Done():
		}
		timer.Stop()
	}
}

// expected has the two events after which to look again: a call has changed something, or
// something changes by itself.
type expected struct {
	changed <-chan struct{}
	move    time.Time // when it will change by itself; zero if it will not
}

func (s *Store) changesSince(ctx context.Context, since string, v Distortions) (wire.InstanceChanges, expected, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.settle(ctx)
	next := expected{s.changed, s.nextMove}
	// A place is valid only for this process, because each process has its own
	// log.
	process := strconv.FormatInt(s.began.UnixNano(), 36)
	found := wire.InstanceChanges{Changed: []wire.InstanceRef{}, Resume: process + "." + strconv.FormatInt(s.Instances.changes, 10)}
	if since == "" {
		return found, next, nil
	}
	of, place, _ := strings.Cut(since, ".")
	n, err := strconv.ParseInt(place, 10, 64)
	changes, known := s.Instances.since(n)
	if err != nil || of != process || !known {
		return wire.InstanceChanges{}, next, &wire.APIError{StatusCode: http.StatusGone, Code: wire.CodeExpired, Message: "changes since " + strconv.Quote(since) + " are no longer known"}
	}
	seen := map[string]bool{}
	for _, c := range slices.Backward(changes) {
		row := s.Instances.row(c.id)
		if row == nil {
			row = c.before
		}
		if row == nil || seen[c.id] || v.leavesOut(row.identity()) {
			continue
		}
		seen[c.id] = true
		found.Changed = append(found.Changed, wire.InstanceRef{ID: c.id, Name: row.Name, Region: row.Region})
	}
	slices.Reverse(found.Changed)
	return found, next, nil
}
