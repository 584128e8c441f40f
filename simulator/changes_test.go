package simulator

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/fairlead-k8s/fairlead/simulator/wire"
)

func TestWatchOfInstances(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := startInBubble(t, Config{Transition: 20 * time.Second})
		watch := func(since string, wait time.Duration) (names []string, resume string, took time.Duration) {
			t.Helper()
			began := time.Now()
			got, err := c.WatchInstances(t.Context(), since, wait)
			if err != nil {
				t.Fatal(err)
			}
			for _, ref := range got.Changed {
				names = append(names, ref.Name)
			}
			return names, got.Resume, time.Since(began)
		}
		_, since, took := watch("", time.Minute)
		diff(t, "the present is known at once", time.Duration(0), took)

		names, resume, took := watch(since, 10*time.Second)
		diff(t, "nothing has happened", 0, len(names))
		diff(t, "place", since, resume)
		diff(t, "waited", 10*time.Second, took)

		go func() {
			time.Sleep(3 * time.Second)
			if _, err := c.Operator().CreateInstance(t.Context(), Instance{Name: "node-1"}); err != nil {
				t.Error(err)
			}
		}()
		names, since, took = watch(since, time.Minute)
		diff(t, "created", []string{"node-1"}, names)
		diff(t, "waited", 3*time.Second, took)

		names, since, took = watch(since, time.Minute)
		diff(t, "runs after its transition", []string{"node-1"}, names)
		diff(t, "waited", 20*time.Second, took)

		if err := c.Operator().SetFault(t.Context(), Fault{Name: "lies", Kind: FaultEmptyList, Calls: []Call{WatchInstances}}); err != nil {
			t.Fatal(err)
		}
		if err := c.Operator().TerminateInstance(t.Context(), "i-00000001"); err != nil {
			t.Fatal(err)
		}
		names, lost, _ := watch(since, time.Minute)
		diff(t, "a watch that lies names no change", 0, len(names))
		if lost == since {
			t.Error("a watch that lies goes on before the change")
		}
		for _, unknown := range []string{"x", since + "0", "x.0"} {
			if _, err := c.WatchInstances(t.Context(), unknown, 0); !IsExpired(err) {
				t.Errorf("place %q: %v, want an error that says that it is unknown", unknown, err)
			}
		}
	})
}

func TestDoubledList(t *testing.T) {
	c := start(t, Config{PageSize: 2})
	for _, name := range []string{"a", "b", "c"} {
		if _, err := c.Operator().CreateInstance(t.Context(), Instance{Name: name}); err != nil {
			t.Fatal(err)
		}
	}
	mustSet(t, c, Fault{Kind: wire.FaultDoubledList})
	diff(t, "instances", []string{"b", "a", "a", "b", "c", "c"}, names(t, c))
	checkInvalid(t, "match: doubledList has no match", c.SetFault(t.Context(), Fault{Name: "x", Kind: wire.FaultDoubledList, Match: "a"}))
}
