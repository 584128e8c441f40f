package nodelifecycle

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-k8s/fairlead/internal/controller/nodefact"
)

func (l *Controller) remember(name string, m removalMemory) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if m.isEmpty() {
		delete(l.memories, name)
		return
	}
	l.memories[name] = m
}

// isEmpty tells whether there is nothing to remember: so it is of most Nodes.
func (m removalMemory) isEmpty() bool {
	e := m.evidence
	return e.said == unknown && e.lookedAt.IsZero() && m.holding.reason == "" && m.holding.told == nil && m.deleted == ""
}

// forget drops what is remembered under the name of a Node that is gone.
func (l *Controller) forget(name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.memories, name)
}

// forgetSightings drops what the cloud has said of a Node that is gone.
func (l *Controller) forgetSightings(uid types.UID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.sightings, subject{uid, false})
	delete(l.sightings, subject{uid, true})
}

// postpone lets some time pass before the next last look at this Node, whatever
// this one has come to.
func (l *Controller) postpone(name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	m, ok := l.memories[name]
	if earliest := l.clock.Now().Add(soonest); ok && m.notLast.Before(earliest) {
		m.notLast = earliest
		l.memories[name] = m
	}
}

func (l *Controller) countDeleted(node *corev1.Node) {
	if nodefact.IsAnnounced(node) {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.deleted = append(l.deleted, l.clock.Now())
}

// hand gives a Node to the serial step; until it is handed back no other look
// asks about it.
func (l *Controller) hand(name string) {
	l.mu.Lock()
	l.handed[name] = true
	l.mu.Unlock()
	l.deletions.Add(name)
}

func (l *Controller) handBack(name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.handed, name)
}

func (l *Controller) isHanded(name string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.handed[name]
}
