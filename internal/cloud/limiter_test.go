package cloud

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// What the ends of calls do to their class and to others: in each row, calls end one after
// the other. A word is the method's class, the object, and the kind of the error, or none
// for an answer; a number is a pause in seconds.
func TestEndsOfCalls(t *testing.T) {
	const (
		i503, j503, k503 = "metadata a 503", "metadata b 503", "metadata c 503"
		exists           = "exists d "
	)
	// refuted has errors that are taken for those of a used-up quota, until they go on.
	refuted := []string{"metadata e", "metadata a E", "metadata b E", "metadata c E", "metadata a E", "metadata b E", "metadata c E"}
	for _, tt := range []struct {
		name string
		ends []string
		want string // the classes that are held back, and those that are limited
	}{
		{"RefusalOfOneObjectActsOnIt", []string{"metadata a", "metadata a 429", "metadata a 429", "metadata a 429"}, ""},
		{"RefusalOfAllObjectsActsAtOnce", []string{"routes", "routes 429"}, "limited: list of routes"},
		{"RefusalBeforeAnyAnswerHoldsBack", []string{"routes 429"}, "held: list of routes"},
		{"RefusalsOfTwoObjectsActOnTheClass", []string{"metadata a", "metadata a 429", "metadata b 429"}, "limited: instances"},
		{"RefusalsOfOneTenantActOnNobody", []string{"balancer shop/a", "balancer shop/a 429", "balancer shop/b 429", "balancer shop/c 429"}, ""},
		{"RefusalsOfTwoTenantsActOnTheClass", []string{"balancer shop/a", "balancer shop/a 429", "balancer bar/b 429"}, "limited: load balancers"},
		{"RefusalsOfANodeAndItsRoutesAreOfOneObject", []string{"route a", "route a 429", "route a 429"}, ""},
		{"UnreadableErrorsOfThreeObjectsMayBeRefusals", []string{"metadata a", "metadata a E", "metadata b E", "metadata c E"}, "limited: instances"},
		{"UnreadableErrorsOfThreeObjectsBeforeAnyAnswerHoldBack", []string{"metadata a E", "metadata b E", "metadata c E"}, "held: instances"},
		{"TwoObjectsThatFailHoldNobodyBack", []string{i503, j503}, ""},
		{"ThreeObjectsThatFailHoldTheClassBack", []string{i503, j503, k503}, "held: instances"},
		{"FailuresJustAfterAnAnswerSayNothing", []string{"metadata e", i503, j503, k503}, ""},
		{"ManyFailuresJustAfterAnAnswerHoldBack", slices.Concat([]string{"metadata e"}, numbered("metadata %d 503", 31), []string{"exists e", "metadata a 503"}), "held: instances"},
		{"FewerFailuresJustAfterAnAnswerSayNothing", slices.Concat([]string{"metadata e"}, numbered("metadata %d 503", 31)), ""},
		{"ManyFailuresOfTwoClassesJustAfterAnAnswerHoldBoth", slices.Concat([]string{"metadata e", "exists e"}, numbered("metadata a%d 503", 16), numbered("exists b%d 503", 16)), "held: instances, existence"},
		{"UnreadableErrorsAreNoFailures", []string{"metadata e", "1", "metadata a E", "metadata b E", "exists f", "metadata c 503"}, ""},
		{"FailuresASecondAfterAnAnswerHoldBack", []string{"metadata e", "1", i503, j503, k503}, "held: instances"},
		{"FailuresJustAfterAHoldHoldBackAgain", []string{i503, j503, k503, "2", "metadata e", "metadata f 503", "metadata g 503", "metadata h 503"}, "held: instances"},
		{"FailuresAMinuteAfterAHoldSayNothing", []string{i503, j503, k503, "2", "metadata e", "61", "metadata e", "metadata f 503", "metadata g 503", "metadata h 503"}, ""},
		{"AnswerOfAnObjectEndsTheHold", []string{i503, j503, k503, "metadata e"}, ""},
		{"AnswerOfAnotherClassLeavesTheHold", []string{i503, j503, k503, exists}, "held: instances"},
		{"FailuresOfThreeClassesHoldAllBack", []string{i503, exists + "503", "routes 503"}, "held: instances, existence, list of routes"},
		{"RefusalInsteadOfAFailureEndsTheHold", []string{"metadata e", "1", i503, j503, k503, "metadata f 429"}, "limited: instances"},
		{"AnswerOfAnotherClassEndsAHoldOfUnreadableErrors", []string{"metadata a E", "metadata b E", "metadata c E", exists}, ""},
		{"UnreadableErrorsWhileOtherClassesAreAnsweredDoNotHoldBack", []string{"metadata e", "exists e", "1", "metadata a E", "metadata b E", "metadata c E"}, "limited: instances"},
		{"UnreadableErrorsWithoutAnAnswerOnlyPauseALimitedClass", []string{"metadata e", "exists e", "metadata a E", "metadata b E", "metadata c E", "metadata f E", "metadata g E", "metadata h E"}, "limited: instances"},
		{"UnreadableErrorsOfTheSameObjectsEndTheLimit", slices.Concat(refuted), ""},
		{"AnswerBetweenThemKeepsTheLimit", slices.Insert(slices.Clone(refuted), 5, "metadata e"), "limited: instances"},
		{"UnreadableErrorsDoNotLimitAgainForAMinute", slices.Concat(refuted, []string{"2", "metadata f E", "metadata g E", "metadata h E"}), ""},
		{"UnreadableErrorsLimitAgainAfterAMinute", slices.Concat(refuted, []string{"61", "metadata e", "exists e", "metadata f E", "metadata g E", "metadata h E"}), "limited: instances"},
		{"RefusedHoldLeavesALimit", []string{"routes 429", "10", "routes"}, "limited: list of routes"},
		{"ShortHoldOfUnreadableErrorsLeavesALimit", []string{"metadata a E", "metadata b E", "metadata c E", "2", "metadata e"}, "limited: instances"},
		{"LongHoldOfUnreadableErrorsLeavesNone", []string{"metadata a E", "metadata b E", "metadata c E", "5", "metadata e"}, ""},
		{"UnreadableErrorsOfSeveralClassesHoldAllBack", []string{"routes", "2", "metadata a E", "metadata b E", exists + "E"}, "held: instances, existence"},
		{"UnreadableErrorsOfTenantsAreNoFailures", []string{"balancer a/a E", i503, exists + "503"}, ""},
		{"FailureAfterAnAnswerIsAFirstFailure", []string{i503, "metadata a", "1", i503, j503, k503}, "held: instances"},
		{"DenialsHoldBack", []string{"metadata a 403", "metadata b 403", "metadata c 403"}, "held: instances"},
		{"DenialsOfTenantsHoldNobodyBack", []string{"balancer a/a 403", "balancer b/b 403", "balancer c/c 403"}, ""},
		{"FailuresOfTenantsCountAsOne", []string{"balancer a/a 503", "balancer b/b 503", i503}, ""},
		{"FailuresOfTenantsHoldTheirClassBack", []string{"balancer a/a 503", "balancer b/b 503", "balancer c/c 503"}, "held: load balancers"},
		{"UnreadableErrorsOfTenantsHoldNobodyBackWhileOthersAreAnswered", []string{"metadata e", "balancer a/a E", "balancer b/b E", "balancer c/c E"}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var l limiter
				for _, end := range tt.ends {
					endOf(t, &l, end)
				}
				if got := actsOn(&l); got != tt.want {
					t.Errorf("%q, want %q", got, tt.want)
				}
			})
		})
	}
}

// numbered returns n ends of calls for as many objects.
func numbered(format string, n int) []string {
	var all []string
	for object := range n {
		all = append(all, fmt.Sprintf(format, object))
	}
	return all
}

// The log says why calls are limited, once.
func TestWhyCallsAreLimited(t *testing.T) {
	const says, seems = "the cloud says that the request quota is used up", "many objects fail at once, as they would if the request quota of the cloud were used up"
	for _, tt := range []struct {
		name string
		ends []string
		want string // of the last one
	}{
		{"OneObject", []string{"metadata a", "metadata a 429"}, ""},
		{"TwoObjects", []string{"metadata a", "metadata a 429", "metadata b 429"}, says},
		{"UnreadableErrors", []string{"metadata a", "metadata a E", "metadata b E", "metadata c E"}, seems},
		{"WhileCallsAreLimited", []string{"routes", "routes 429", "routes", "routes 429"}, ""},
		{"WhileCallsAreHeldBack", []string{"routes 429", "routes 429"}, ""},
	} {
		synctest.Test(t, func(t *testing.T) {
			var l limiter
			var got effect
			for _, end := range tt.ends {
				got = endOf(t, &l, end)
			}
			if got.changed != tt.want {
				t.Errorf("%s: %q, want %q", tt.name, got.changed, tt.want)
			}
		})
	}
}

// A class that is limited, and has not waited for a moment, may have left a quota that it
// shares to another one. So that one is measured anew when it is answered.
func TestClassBesideOneThatRestsIsMeasuredAnew(t *testing.T) {
	for _, tt := range []struct {
		name   string
		rested time.Duration // of the other class
		again  bool          // it was answered before, too
		want   bool
	}{
		{"OtherClassWaits", moment, false, false},
		{"OtherClassHasRested", 2 * moment, false, true},
		{"OnlyOnceForEachRest", 2 * moment, true, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			var l limiter
			own, other := call{method: "ListRoutes"}, call{method: "ListInstances"}
			now := time.Now()
			l.classOf(own, now).rate = rate{perSecond: 1, refused: now.Add(-time.Hour)}
			l.classOf(other, now).rate = rate{perSecond: 1, waited: now}
			time.Sleep(tt.rested)
			if tt.again {
				l.record(own, time.Now(), nil)
			}
			l.classes[0].rate.answered = 100
			l.record(own, time.Now(), nil)
			if got := l.classes[0].rate.answered == 0; got != tt.want {
				t.Errorf("%s: measured anew: %v, want %v", tt.name, got, tt.want)
			}
		})
	}
}

// endOf ends a call, or waits.
func endOf(t *testing.T, l *limiter, end string) effect {
	t.Helper()
	words := strings.Fields(end)
	if n, err := strconv.Atoi(words[0]); err == nil {
		time.Sleep(time.Duration(n) * time.Second)
		return effect{}
	}
	methods := map[string]string{"metadata": "InstanceMetadata", "exists": "InstanceExists", "balancer": "EnsureLoadBalancer", "route": "CreateRoute", "routes": "ListRoutes"}
	c := call{method: methods[words[0]]}
	kinds := map[string]Kind{"429": Throttled, "503": Unavailable, "403": Denied, "E": Failed}
	last := words[len(words)-1]
	if words[0] != "routes" {
		c.names = words[1:2]
	}
	c.tenant, _, _ = strings.Cut(strings.Join(c.names, ""), "/")
	if words[0] != "balancer" {
		c.tenant = ""
	}
	time.Sleep(time.Millisecond)
	started := time.Now()
	time.Sleep(time.Millisecond)
	if kind, failed := kinds[last]; failed {
		evidence := Typed
		if kind == Failed {
			evidence = Unread
		}
		return l.record(c, started, &Error{Kind: kind, Evidence: evidence, Err: errors.New(last)})
	}
	return l.record(c, started, nil)
}

// actsOn names the classes that are held back, and those that are limited.
func actsOn(l *limiter) string {
	var held, limited, all []string
	for _, c := range l.classes {
		switch {
		case c.hold.isOpen():
			held = append(held, c.key.String())
		case c.rate.perSecond > 0:
			limited = append(limited, c.key.String())
		}
	}
	if len(held) > 0 {
		all = append(all, "held: "+strings.Join(held, ", "))
	}
	if len(limited) > 0 {
		all = append(all, "limited: "+strings.Join(limited, ", "))
	}
	return strings.Join(all, "; ")
}

// down returns a limiter whose calls of this method have just failed for three objects.
func down(err *Error) *limiter {
	l := &limiter{}
	for n := range few {
		l.record(call{method: "InstanceExists", names: []string{strconv.Itoa(n)}}, time.Now(), err)
	}
	return l
}

// Who waits for the next probe after the calls of three objects have failed.
func TestWhoWaitsWhileCallsAreHeldBack(t *testing.T) {
	exists := func(name string, p priority) call {
		return call{method: "InstanceExists", names: []string{name}, priority: p}
	}
	for _, tt := range []struct {
		name string
		kind Kind
		past time.Duration // since the failures
		call call
		want bool
	}{
		{"ObjectWithoutFailureWaits", Unavailable, 0, exists("new", updatePriority), true},
		{"ObjectThatHasFailedComesBack", Unavailable, 0, exists("0", updatePriority), false},
		{"ObjectThatWaitsForTheAnswerWaitsForSeconds", Unavailable, 0, exists("0", highPriority), true},
		{"ObjectThatWaitsForTheAnswerComesBackLater", Unavailable, longestPause, exists("0", highPriority), false},
		{"AllWaitForTheQuota", Throttled, 0, exists("first", updatePriority), true},
		{"DeniedObjectComesBack", Denied, 0, exists("0", highPriority), false},
		{"DeniedObjectWithoutFailureComesBack", Denied, 0, exists("new", highPriority), false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := down(&Error{Kind: tt.kind, Evidence: Typed})
				l.probes.next = time.Now().Add(time.Hour)
				if _, err := l.enter(exists("first", lowPriority)); err != nil && tt.kind != Denied {
					t.Fatal(err)
				}
				time.Sleep(tt.past)
				_, err := l.enter(tt.call)
				if waits := err == nil; waits != tt.want || !waits && KindOf(err) != tt.kind {
					t.Errorf("waits: %v (%v), want %v", waits, err, tt.want)
				}
			})
		})
	}
}

// While the calls of several classes are held back, they share the probes: the calls that
// begin, and when. Each probe fails after 100 ms.
func TestProbesAreShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 15*time.Second)
		defer cancel()
		var l limiter
		down := &Error{Kind: Unavailable, Evidence: Typed, Err: errors.New("down")}
		methods := []string{"InstanceMetadata", "InstanceExists", "ListRoutes"}
		for _, method := range methods {
			l.record(call{method: method}, time.Now(), down)
		}
		start := time.Now()
		begun := make(chan time.Duration, 100)
		for _, method := range methods {
			go func() {
				for n := 0; ctx.Err() == nil; n++ {
					c := call{method: method, names: []string{method + strconv.Itoa(n)}, priority: highPriority}
					of, err := l.wait(ctx, c)
					if err != nil {
						return
					}
					begun <- time.Since(start)
					began := time.Now()
					time.Sleep(tick)
					l.record(c, began, down)
					l.ended(of)
				}
			}()
		}
		<-ctx.Done()
		synctest.Wait()
		close(begun)
		var got []time.Duration
		for at := range begun {
			got = append(got, at)
		}
		if want := []time.Duration{firstPause, 5 * firstPause, 5*firstPause + longestPause}; !slices.Equal(want, got) {
			t.Errorf("calls began %v after the beginning of the outage, want %v", got, want)
		}
	})
}

// Of the calls that wait, only the newest few are kept when a hold has lasted for long.
func TestOnlyAFewWaitInALongHold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := down(&Error{Kind: Unavailable, Evidence: Typed})
		l.probes.next = time.Now().Add(time.Hour)
		var all []*turn
		for n := range 5 {
			own, err := l.enter(call{method: "InstanceExists", names: []string{"new" + strconv.Itoa(n)}, priority: highPriority})
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, own)
		}
		time.Sleep(longestPause)
		l.mu.Lock()
		l.serve()
		l.mu.Unlock()
		var got []bool
		for _, own := range all {
			got = append(got, HeldFor(own.err) > 0)
		}
		if diff := cmp.Diff([]bool{true, true, false, false, false}, got); diff != "" {
			t.Errorf("calls that come back (-want +got):\n%s", diff)
		}
	})
}

// The end of a call while calls are held back: the probe began a second ago.
func TestEndsOfCallsInAHold(t *testing.T) {
	for _, tt := range []struct {
		name     string
		began    time.Duration // since the probe began
		pause    time.Duration // that the cloud asks for
		underWay bool          // the probe
		next     time.Duration // until the next probe
	}{
		{"ProbeFails", 0, 0, false, longestPause - time.Second},
		{"CallThatBeganBeforeTheProbeIsNotTheProbe", -time.Second, 0, true, longestPause - time.Second},
		{"CloudNamesATime", 0, 8 * time.Second, false, 8 * time.Second},
		{"CloudNamesATimeLongAfterwards", 0, 5 * time.Minute, false, 10 * time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			l := down(&Error{Kind: Unavailable, Evidence: Typed})
			of := l.classes[0]
			l.probes.pause = longestPause
			l.probes.begin(&of.hold, time.Now())
			probe := time.Now()
			time.Sleep(time.Second)
			l.record(call{class: of}, probe.Add(tt.began), &Error{Kind: Unavailable, Evidence: Typed, RetryAfter: tt.pause})
			if got := l.probes.delay(&of.hold, time.Now()); l.probes.underWay != tt.underWay || got != tt.next {
				t.Errorf("%s: the probe is under way: %v, the next one after %v, want %v and %v", tt.name, l.probes.underWay, got, tt.underWay, tt.next)
			}
		})
	}
}

// Tenants can write texts into errors. So others do not get them.
func TestErrorOfATenantIsNotShownToOthers(t *testing.T) {
	for tenant, want := range map[string]bool{"": true, "shop": false} {
		l := &limiter{}
		for n, c := range []call{{method: "ListRoutes"}, {method: "InstanceExists"}, {method: "EnsureLoadBalancer", names: []string{"s"}, tenant: tenant}} {
			l.record(c, time.Now(), &Error{Kind: Unavailable, Evidence: Typed, Err: errors.New("text " + strconv.Itoa(n))})
		}
		own, err := l.enter(call{method: "ListRoutes", progress: &progress{}})
		if err != nil {
			t.Fatal(err)
		}
		if got := own.progress.get(); strings.Contains(got.Error(), "text 2") != want {
			t.Errorf("after an error of the tenant %q: %v, want its text: %v", tenant, got, want)
		}
	}
}

// A call that waits learns that calls are held back, and a class that is held back later
// does not begin the pauses between probes anew.
func TestClassIsHeldBackWhileCallsWait(t *testing.T) {
	for _, isHeld := range []bool{false, true} { // another class already
		synctest.Test(t, func(t *testing.T) {
			var l limiter
			now := time.Now()
			pauses := probes{pause: longestPause, next: now.Add(time.Hour)}
			if l.probes = pauses; isHeld {
				l.classOf(call{method: "ListRoutes"}, now).hold.opened = now
			}
			of := l.classOf(call{method: "InstanceExists"}, now)
			own := waiting(highPriority)
			own.progress = &progress{}
			of.turns.add(own)
			l.open(of, hold{kind: Unavailable}, call{}, now)
			if HeldFor(own.progress.get()) == 0 || isHeld != (l.probes == pauses) {
				t.Errorf("waits because of %v for the probe %+v, want that it is held back, and the same probes: %v", own.progress.get(), l.probes, isHeld)
			}
		})
	}
}

// A caller that gives up leaves no call behind.
func TestCallerGivesUp(t *testing.T) {
	for _, tt := range []struct {
		name string
		do   func(l *limiter, own *turn)
	}{
		{"BeforeItsTurn", func(_ *limiter, own *turn) { own.class.turns.add(own) }},
		{"InItsTurn", func(l *limiter, own *turn) { own.class.turns.add(own); l.begin(own.class, at(0)) }},
		{"WhenItIsHeldBack", func(_ *limiter, own *turn) { own.err = errHeld; close(own.begun) }},
	} {
		var l limiter
		own := waiting(highPriority)
		own.class = l.classOf(call{method: "ListRoutes"}, at(0))
		tt.do(&l, own)
		l.leave(own)
		if own.class.underWay != 0 || l.ceiling.underWay != 0 || own.class.turns.count(refreshPriority) != 0 {
			t.Errorf("%s: %d calls are under way and %d wait, want none", tt.name, own.class.underWay, own.class.turns.count(refreshPriority))
		}
	}
}

// The calls for an object that has failed do not go first while calls are held back.
func TestObjectsThatHaveFailed(t *testing.T) {
	for _, tt := range []struct {
		name string
		err  error
		want bool
	}{
		{"Answered", nil, false},
		{"Refused", &Error{Kind: Throttled, Evidence: Typed}, false},
		{"RefusedInWords", &Error{Kind: Throttled, Evidence: Text}, true},
		{"Unreadable", &Error{Kind: Failed}, true},
		{"Unavailable", &Error{Kind: Unavailable, Evidence: Typed}, true},
	} {
		var l limiter
		c := call{method: "InstanceExists", names: []string{"a"}}
		l.record(c, time.Now(), tt.err)
		if got := l.classes[0].failures.hasFailed("a", time.Now()); got != tt.want {
			t.Errorf("%s: has failed: %v, want %v", tt.name, got, tt.want)
		}
	}
}

func TestCallsThatWaitBeginWhenTheHoldEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := down(&Error{Kind: Unavailable, Evidence: Typed})
		own, err := l.enter(call{method: "InstanceExists", names: []string{"new"}})
		if err != nil {
			t.Fatal(err)
		}
		l.record(call{method: "InstanceExists", names: []string{"0"}}, time.Now(), nil)
		select {
		case <-own.begun:
		default:
			t.Error("the call still waits after an answer")
		}
	})
}
