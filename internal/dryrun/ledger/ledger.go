package ledger

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"github.com/fairlead-k8s/fairlead/internal/controller/step"
)

// maxDifferences is the maximum number of Deleted and Initialized differences that
// are remembered.
const maxDifferences = 1000

// Difference is an object whose fate differs from this daemon's decision. Its JSON
// is part of the report: fields may be added, and none is renamed.
type Difference struct {
	What What      `json:"what"`
	At   time.Time `json:"at"`
	// Decision is the step that this daemon would have taken.
	Decision step.Step `json:"decision"`
}

// Look is what a controller has decided about one key at one time, with the facts
// behind the decision.
type Look struct {
	Controller, Key string
	At              time.Time
	Facts           Facts
	// Steps are the steps that the controller would take. There are none for an
	// object that is gone.
	Steps []step.Step
}

// News has the decisions and the differences that a Look has added to the ledger.
type News struct {
	Decided []step.Step
	Differs []Difference
	// Keys is the number of the controller's keys that the ledger knows now.
	Keys int
}

// place is a controller and one of its keys.
type place struct{ controller, key string }

// object is one of the objects that a Look is about.
type object struct {
	place

	name string
}

// Ledger remembers the decisions of each controller for each of its keys. It also
// remembers the differences.
type Ledger struct {
	mu        sync.Mutex
	decisions map[place]map[string]decision // by object; guarded by mu
	keys      map[string]int                // number of keys in decisions, by controller; guarded by mu
	happened  []Difference                  // Deleted and Initialized differences; guarded by mu
	dropped   int                           // number of differences that had no room in happened; guarded by mu
	last      map[object]Difference         // differences about decisions that nobody has carried out yet; guarded by mu
}

// New returns an empty ledger.
func New() *Ledger {
	return &Ledger{decisions: map[place]map[string]decision{}, keys: map[string]int{}, last: map[object]Difference{}}
}

// Note records a Look, and returns its News.
func (l *Ledger) Note(look Look) News {
	l.mu.Lock()
	defer l.mu.Unlock()
	at := place{look.Controller, look.Key}
	before := l.decisions[at]
	now, news := l.decide(look, before)
	news.Differs = append(news.Differs, l.gone(look, before, now)...)
	news.Differs = append(news.Differs, l.lasting(look, now)...)
	if len(before) > 0 {
		l.keys[at.controller]--
	}
	if l.decisions[at] = now; len(now) == 0 {
		delete(l.decisions, at)
	} else {
		l.keys[at.controller]++
	}
	news.Keys = l.keys[at.controller]
	return news
}

// decide returns the decisions of a Look, and the News about them.
func (l *Ledger) decide(look Look, before map[string]decision) (now map[string]decision, news News) {
	now = map[string]decision{}
	for _, s := range gravest(look.Steps) {
		d, known := before[s.Object]
		known = known && d.facts.UID == look.Facts.UID // If the UIDs differ, another object has the name.
		if known && d.initialized(look.Facts) {
			news.Differs = append(news.Differs, l.happens(Difference{Initialized, look.At, d.step}))
		}
		if !known || changed(d.step, s) {
			d.since = look.At
			if known || s.Effect != step.None {
				news.Decided = append(news.Decided, s)
			}
		}
		now[s.Object] = decision{s, look.Facts, d.since}
	}
	return now, news
}

// order lists the effects. The gravest is the last.
var order = []step.Effect{step.None, step.Update, step.Wait, step.Create, step.Delete}

// gravest returns the gravest step of each object. A CIDR with two routes may have
// two steps: one route stays, and the other goes.
func gravest(steps []step.Step) (all []step.Step) {
	at := map[string]int{}
	for _, s := range steps {
		n, known := at[s.Object]
		switch {
		case !known:
			at[s.Object] = len(all)
			all = append(all, s)
		case slices.Index(order, s.Effect) > slices.Index(order, all[n].Effect):
			all[n] = s
		}
	}
	return all
}

// gone returns a difference for each object that this daemon would have kept, but
// that has been deleted since the previous Look.
func (l *Ledger) gone(look Look, before, now map[string]decision) (found []Difference) {
	for name, d := range before {
		if after, still := now[name]; still && after.facts.UID == d.facts.UID {
			continue
		}
		delete(l.last, object{place{look.Controller, look.Key}, name})
		if d.lost() {
			found = append(found, l.happens(Difference{Deleted, look.At, d.step}))
		}
	}
	return found
}

// lasting returns the new differences about decisions that nobody has carried out
// within LastsAfter. It also forgets the differences that are over.
func (l *Ledger) lasting(look Look, now map[string]decision) (found []Difference) {
	for name, d := range now {
		at := object{place{look.Controller, look.Key}, name}
		what, ok := d.lasting(look.At)
		switch known, is := l.last[at]; {
		case !ok:
			delete(l.last, at)
		case !is || known.What != what:
			l.last[at] = Difference{what, look.At, d.step}
			found = append(found, l.last[at])
		}
	}
	return found
}

func (l *Ledger) happens(d Difference) Difference {
	if len(l.happened) < maxDifferences {
		l.happened = append(l.happened, d)
	} else {
		l.dropped++
	}
	return d
}

// Report lists the differences. Its JSON is stable: fields may be added, and none is
// renamed.
type Report struct {
	Since time.Time `json:"since"`
	// Differences has the differences of the kinds Deleted and Initialized, at most
	// maxDifferences. It also has those of the other kinds that still exist.
	Differences []Difference `json:"differences"`
	// Dropped is the number of Deleted and Initialized differences that are not in
	// Differences.
	Dropped int `json:"dropped,omitempty"`
	// Idle lists the controllers that decide nothing, with the reasons.
	Idle []string `json:"idle,omitempty"`
	// Refused lists the requests and calls of the provider that were refused because
	// they would have changed something.
	Refused []string `json:"refused,omitempty"`
}

// Report returns the differences so far.
func (l *Ledger) Report() Report {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := append([]Difference{}, l.happened...)
	for _, d := range l.last {
		all = append(all, d)
	}
	slices.SortFunc(all, func(a, b Difference) int {
		return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.Decision.Object, b.Decision.Object), cmp.Compare(a.What, b.What))
	})
	return Report{Differences: all, Dropped: l.dropped}
}

// Count returns the number of remembered differences of a kind.
func (l *Ledger) Count(what What) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := 0
	for _, d := range l.happened {
		if d.What == what {
			n++
		}
	}
	for _, d := range l.last {
		if d.What == what {
			n++
		}
	}
	return n
}
