package cloud

import (
	"maps"
	"slices"
	"time"
)

// failures remembers for which objects calls of a class fail. Only the first failure of an
// object says something about others: if its calls go on failing, the reason may be its
// own. The zero value is ready to use.
type failures struct {
	objects map[string]failed    // by object, until a call for the object is answered
	refused map[string]refusedAt // since the class was last limited
	paused  map[string]paused    // by tenant
}

// paused says until when no calls are made for a tenant, because the cloud has refused its
// calls, and those of nobody else.
type paused struct {
	until, refused time.Time // refused is when it last was
	times          int       // how many more calls were refused than answered; below 0: the answers since
	waiting        int       // grows with each call that is not made, and is halved when one is
}

// gap is the time between the beginnings of two calls. It shrinks with the answers, because
// all objects of the class may have the same tenant, and the quota may allow more.
func (p paused) gap() time.Duration { return slow * few / time.Duration(few+max(-p.times, 0)) }

type failed struct {
	first, last time.Time // zero first: no call has failed, but one was held back
	says        meaning   // what the first failure said
}

type refusedAt struct {
	when time.Time
	weak bool // the error could only be recognised by words, or not at all
}

// knows reports whether a call for the object has failed or was held back.
func (f *failures) knows(object string, now time.Time) bool {
	o, ok := f.objects[object]
	return ok && now.Sub(o.last) <= anHour
}

// hasFailed reports whether a call for the object has failed.
func (f *failures) hasFailed(object string, now time.Time) bool {
	return f.knows(object, now) && !f.objects[object].first.IsZero()
}

// add records that a call for the object has failed, or was held back.
func (f *failures) add(object string, o failed) {
	if f.objects == nil || len(f.objects) >= maxObjects {
		f.objects = map[string]failed{}
	}
	if f.hasFailed(object, o.last) {
		o.first, o.says = f.objects[object].first, f.objects[object].says
	}
	f.objects[object] = o
}

// since returns the objects whose first failure came after the given time, and said one of
// these things.
func (f *failures) since(after time.Time, says ...meaning) []string {
	var all []string
	for object, o := range f.objects {
		if o.first.After(after) && slices.Contains(says, o.says) {
			all = append(all, object)
		}
	}
	return all
}

// wait returns how long a call for the tenant has to wait, without counting it.
func (f *failures) wait(tenant string, now time.Time) time.Duration {
	return max(f.paused[tenant].until.Sub(now), 0)
}

// turn returns how long a call for the tenant has to wait; 0 means that it begins. For a
// minute after a refusal, calls for the tenant do not begin together, and those that have
// to wait are spread by luck, a number from 0 to 1.
func (f *failures) turn(tenant string, luck float64, now time.Time) time.Duration {
	wait := f.wait(tenant, now)
	p, ok := f.paused[tenant]
	switch {
	case !ok:
		return 0
	case wait > 0:
		wait += time.Duration(luck * float64(min(time.Duration(p.waiting)*p.gap(), recently)))
		p.waiting++
	case now.Sub(p.refused) < lately:
		p.until = now.Add(p.gap())
		p.waiting /= 2
	}
	f.paused[tenant] = p
	return wait
}

// pause records a refused call for a tenant, which says nothing about others.
func (f *failures) pause(tenant string, after time.Duration, now time.Time) {
	if f.paused == nil || len(f.paused) >= maxObjects {
		f.paused = map[string]paused{}
	}
	p := f.paused[tenant]
	if now.Sub(p.refused) >= moment { // Otherwise the call probably began before the last refusal.
		p.times = max(p.times, 0) + 1
	}
	p.until, p.refused = now.Add(min(max(after, moment<<min(max(p.times-1, 0), few)), recently)), now
	f.paused[tenant] = p
}

// answer records an answer about the object.
func (f *failures) answer(object string, now time.Time) {
	delete(f.objects, object)
	p, ok := f.paused[object]
	switch {
	case !ok:
	case now.Sub(p.refused) >= lately:
		delete(f.paused, object)
	default:
		p.times = max(p.times-1, -mostSamples)
		f.paused[object] = p
	}
}

// refuse records a refused call, and reports whether the refusals since the last time say
// something about the whole class: those of two objects, of three if the errors are weak
// and calls are not limited yet, or of a call about all objects.
func (f *failures) refuse(c call, weak, limited bool, now time.Time) bool { //nolint:revive // flag-parameter: these are facts, not modes
	maps.DeleteFunc(f.refused, func(_ string, r refusedAt) bool { return now.Sub(r.when) > recently })
	if f.refused == nil {
		f.refused = map[string]refusedAt{}
	}
	f.refused[c.object()] = refusedAt{now, weak}
	strong := 0
	for _, r := range f.refused {
		if !r.weak || limited {
			strong++
		}
	}
	if len(f.refused) < few && strong < few-1 && (weak || !c.isOfAll()) {
		return false
	}
	f.refused = nil
	return true
}
