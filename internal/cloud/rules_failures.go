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
	times          int       // how many more calls were refused than answered
}

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

// wait returns how long a call for the tenant has to wait. For a minute after a refusal,
// calls for the tenant do not begin together.
func (f *failures) wait(tenant string, now time.Time) time.Duration {
	p := f.paused[tenant]
	wait := p.until.Sub(now)
	if wait <= 0 && now.Sub(p.refused) < lately {
		p.until = now.Add(slow)
		f.paused[tenant] = p
	}
	return wait
}

// pause records a refused call for a tenant, which says nothing about others.
func (f *failures) pause(tenant string, after time.Duration, now time.Time) {
	if f.paused == nil || len(f.paused) >= maxObjects {
		f.paused = map[string]paused{}
	}
	times := f.paused[tenant].times
	f.paused[tenant] = paused{now.Add(min(max(after, moment<<min(times, few)), recently)), now, times + 1}
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
		p.times = max(p.times-1, 0)
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
