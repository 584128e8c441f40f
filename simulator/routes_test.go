package simulator

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fairlead-k8s/fairlead/simulator/wire"
)

// routeTo returns a route with a name, a destination and a target only.
func routeTo(name, destination, target string) Route {
	return Route{Name: name, Destination: destination, Target: target}
}

func mustRoute(t *testing.T, c *Client, r Route) Route {
	t.Helper()
	created, err := c.Operator().CreateRoute(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	return created
}

func routeOf(t *testing.T, c *Client, id string) Route {
	t.Helper()
	r, err := c.Route(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// routeNames lists the names of the routes that a caller sees.
func routeNames(t *testing.T, c *Client, q ...Query) []string {
	t.Helper()
	all, err := c.Routes(t.Context())
	if len(q) > 0 {
		all, err = c.FindRoutes(t.Context(), q[0])
	}
	if err != nil {
		t.Fatal(err)
	}
	names := []string{}
	for _, r := range all {
		names = append(names, r.Name)
	}
	return names
}

func TestRouteLife(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := startInBubble(t, Config{})
		ctx := t.Context()
		target := mustCreate(t, c, Instance{Name: "node-1"})
		created, err := c.CreateRoute(ctx, Route{
			Name: "lead", Destination: "10.244.1.7/24", Target: target.ID, Tags: map[string]string{"owner": "a"},
			TargetAddresses: []Address{{Type: InternalIP, Address: "::ffff:10.0.0.1"}, {Type: Hostname, Address: "node-1"}},
		})
		diff(t, "error", nil, err)
		want := Route{
			ID: "rt-00000001", Name: "lead", Destination: "10.244.1.0/24", Target: "i-00000001", State: RouteActive,
			TargetAddresses: []Address{{Type: InternalIP, Address: "10.0.0.1"}, {Type: Hostname, Address: "node-1"}},
			Tags:            map[string]string{"owner": "a"}, Created: time.Now(),
		}
		diff(t, "created, the range in one form", want, created)
		diff(t, "read again", want, routeOf(t, c, created.ID))
		diff(t, "deleted", nil, c.DeleteRoute(ctx, created.ID))
		for what, err := range map[string]error{
			"get":    func() error { _, err := c.Route(ctx, created.ID); return err }(),
			"delete": c.DeleteRoute(ctx, created.ID),
		} {
			if !IsNotFound(err) || !strings.HasSuffix(err.Error(), "route rt-00000001 does not exist") {
				t.Errorf("%s: got %v, want not found", what, err)
			}
		}
		diff(t, "an ID is never given again", "rt-00000002", mustRoute(t, c, routeTo("lead", "10.244.1.0/24", target.ID)).ID)
	})
}

func TestRouteInput(t *testing.T) {
	c := start(t, Config{})
	node := mustCreate(t, c, Instance{Name: "node-1"}).ID
	mustRoute(t, c, routeTo("taken", "10.244.1.0/24", node))
	for name, row := range map[string]struct {
		wanted Route
		want   string
	}{
		"EmptyName":             {routeTo("", "10.0.0.0/8", ""), "name: must not be empty"},
		"NameWithComma":         {routeTo("a,b", "10.0.0.0/8", ""), `name: "a,b" must not contain commas, spaces or control characters`},
		"LongName":              {routeTo(strings.Repeat("x", 64), "10.0.0.0/8", ""), "name: is longer than 63 bytes"},
		"ID":                    {Route{ID: "rt-00000009", Name: "x", Destination: "10.0.0.0/8"}, "id: must be empty; the cloud sets it"},
		"Created":               {Route{Created: time.Unix(1, 0), Name: "x", Destination: "10.0.0.0/8"}, "created: must be empty; the cloud sets it"},
		"Active":                {Route{State: RouteActive, Name: "x", Destination: "10.0.0.0/8"}, "state: must be empty; only a route without a target can be made as a blackhole"},
		"BlackholeWithTarget":   {Route{State: RouteBlackhole, Name: "x", Destination: "10.0.0.0/8", Target: node}, "state: must be empty; only a route without a target can be made as a blackhole"},
		"NoDestination":         {routeTo("x", "", node), `destination: "" is neither a range such as 10.244.1.0/24 nor the name of a list of ranges such as pl-00000001`},
		"AddressAsDestination":  {routeTo("x", "10.244.1.0", node), `destination: "10.244.1.0" is neither a range such as 10.244.1.0/24 nor the name of a list of ranges such as pl-00000001`},
		"TooManyBits":           {routeTo("x", "10.244.1.0/33", node), `destination: "10.244.1.0/33" is neither a range such as 10.244.1.0/24 nor the name of a list of ranges such as pl-00000001`},
		"TooManyBitsOfIPv6":     {routeTo("x", "fd00::/129", node), `destination: "fd00::/129" is neither a range such as 10.244.1.0/24 nor the name of a list of ranges such as pl-00000001`},
		"TargetByName":          {routeTo("x", "10.0.0.0/8", "node-1"), `target: "node-1" is not an instance ID`},
		"TargetUnknown":         {routeTo("x", "10.0.0.0/8", "i-00000009"), "target: instance i-00000009 does not exist"},
		"BadAddress":            {Route{Name: "x", Destination: "10.0.0.0/8", Target: node, TargetAddresses: []Address{{Type: InternalIP, Address: "x"}}}, `targetAddresses[0].address: "x" cannot be an IP address of type InternalIP`},
		"AddressTwice":          {Route{Name: "x", Destination: "10.0.0.0/8", Target: node, TargetAddresses: []Address{{Type: Hostname, Address: "x"}, {Type: Hostname, Address: "x"}}}, "targetAddresses[1]: Hostname x is given twice"},
		"EmptyTagKey":           {Route{Name: "x", Destination: "10.0.0.0/8", Tags: map[string]string{"": "x"}}, `tags: "" is not a key: it must not be empty and have no equals sign`},
		"WhatIsWrongComesFirst": {routeTo("taken", "x/y", node), `destination: "x/y" is neither a range such as 10.244.1.0/24 nor the name of a list of ranges such as pl-00000001`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := c.CreateRoute(t.Context(), row.wanted)
			checkInvalid(t, row.want, err)
			outcomes, err := c.ChangeRoutes(t.Context(), []RouteChange{{Create: &row.wanted}})
			diff(t, "error of the call", nil, err)
			checkInvalid(t, row.want, outcomes[0].Err)
			diff(t, "nothing is created", []string{"taken"}, routeNames(t, c))
		})
	}
	t.Run("NameOfAnother", func(t *testing.T) {
		_, err := c.CreateRoute(t.Context(), routeTo("taken", "10.0.0.0/8", node))
		if !IsAlreadyExists(err) || err.Error() != "the cloud answered 409 AlreadyExists: the name taken belongs to route rt-00000001" {
			t.Errorf("got %v", err)
		}
	})
	t.Run("TargetTerminated", func(t *testing.T) {
		c := start(t, Config{TerminatedFor: time.Hour})
		gone := mustCreate(t, c, Instance{Name: "node-1"}).ID
		diff(t, "error", nil, c.TerminateInstance(t.Context(), gone))
		_, err := c.CreateRoute(t.Context(), routeTo("x", "10.0.0.0/8", gone))
		checkInvalid(t, "target: instance i-00000001 does not exist", err)
	})
}

// The table can hold every kind of route that a route controller has to handle.
func TestWhatATableCanHold(t *testing.T) {
	c := start(t, Config{})
	node := mustCreate(t, c, Instance{Name: "node-1"}).ID
	for _, r := range []Route{
		routeTo("node", "10.244.1.0/24", node),
		routeTo("same", "10.244.1.0/24", node),
		routeTo("wider", "10.244.0.0/15", node),
		routeTo("outside", "192.168.0.0/16", node),
		routeTo("gateway", "0.0.0.0/0", ""),
		routeTo("service-tag", "Storage.WestEurope", node),
		routeTo("six", "FD00:0::/64", node),
		{Name: "drop", Destination: "10.244.9.0/24", State: RouteBlackhole},
	} {
		mustRoute(t, c, r)
	}
	all, err := c.Routes(t.Context())
	diff(t, "error", nil, err)
	var got []string
	for _, r := range all {
		got = append(got, fmt.Sprintf("%s %s %s", r.Name, r.Destination, r.State))
	}
	diff(t, "routes", []string{
		"node 10.244.1.0/24 active", "same 10.244.1.0/24 active", "wider 10.244.0.0/15 active", "outside 192.168.0.0/16 active",
		"gateway 0.0.0.0/0 active", "service-tag Storage.WestEurope active", "six fd00::/64 active", "drop 10.244.9.0/24 blackhole",
	}, got)
}

func TestUniqueRoutes(t *testing.T) {
	c := start(t, Config{UniqueRoutes: true})
	first := mustRoute(t, c, routeTo("first", "10.244.1.0/24", ""))
	_, err := c.CreateRoute(t.Context(), routeTo("second", "10.244.1.9/24", ""))
	if code(err) != wire.CodeConflict || !strings.HasSuffix(err.Error(), "the destination 10.244.1.0/24 belongs to route rt-00000001 (first)") {
		t.Errorf("got %v", err)
	}
	mustRoute(t, c, routeTo("third", "10.244.0.0/15", ""))
	for range 20 { // the order of a map is random, and the name must always be checked before the destination
		_, err = c.CreateRoute(t.Context(), routeTo("third", "10.244.1.0/24", ""))
		diff(t, "the name is taken", true, IsAlreadyExists(err))
	}
	outcomes, err := c.ChangeRoutes(t.Context(), []RouteChange{{Delete: first.ID}, {Create: new(routeTo("second", "10.244.1.0/24", ""))}})
	diff(t, "error", nil, err)
	diff(t, "replaced in one call", nil, errors.Join(outcomes[0].Err, outcomes[1].Err))
	diff(t, "routes", []string{"third", "second"}, routeNames(t, c))
}

func TestQuotaOfRoutes(t *testing.T) {
	c := start(t, Config{MaxRoutes: 2})
	first := mustRoute(t, c, routeTo("first", "10.244.1.0/24", ""))
	mustRoute(t, c, routeTo("second", "10.244.2.0/24", ""))
	third := routeTo("third", "10.244.3.0/24", "")
	_, err := c.CreateRoute(t.Context(), third)
	if code(err) != CodeQuotaExceeded || err.Error() != "the cloud answered 409 QuotaExceeded: the route table has 2 routes, and its quota is 2" {
		t.Errorf("got %v", err)
	}
	_, err = c.CreateRoute(t.Context(), routeTo("second", "10.244.2.0/24", ""))
	diff(t, "the second creation of a route above the quota", wire.CodeAlreadyExists, code(err))
	outcomes, err := c.ChangeRoutes(t.Context(), []RouteChange{{Create: &third}, {Delete: first.ID}, {Create: &third}})
	diff(t, "error", nil, err)
	diff(t, "before the deletion", CodeQuotaExceeded, code(outcomes[0].Err))
	diff(t, "after it", nil, outcomes[2].Err)
	diff(t, "routes", []string{"second", "third"}, routeNames(t, c))
}

func TestRoutesFollowTheirTargets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := startInBubble(t, Config{Transition: 10 * time.Second, TerminatedFor: time.Minute})
		ctx := t.Context()
		node := mustCreate(t, c, Instance{Name: "node-1"}).ID
		other := mustCreate(t, c, Instance{Name: "node-2"}).ID
		mustRoute(t, c, routeTo("first", "10.244.1.0/24", node))
		mustRoute(t, c, routeTo("second", "fd00::/64", node))
		mustRoute(t, c, routeTo("other", "10.244.2.0/24", other))
		mustRoute(t, c, routeTo("gateway", "0.0.0.0/0", ""))
		mustRoute(t, c, Route{Name: "drop", Destination: "10.0.0.0/8", State: RouteBlackhole})
		for _, step := range []struct {
			what  string
			do    func() error
			wait  time.Duration
			state wire.RouteState
		}{
			{"its target is pending", func() error { return nil }, 0, RouteActive},
			{"running", func() error { return nil }, 10 * time.Second, RouteActive},
			{"stopping", func() error { return c.StopInstance(ctx, node) }, 0, RouteBlackhole},
			{"stopped", func() error { return nil }, 10 * time.Second, RouteBlackhole},
			{"started again", func() error { return c.StartInstance(ctx, node) }, 0, RouteActive},
			{"running again", func() error { return nil }, 10 * time.Second, RouteActive},
			{"terminated", func() error { return c.TerminateInstance(ctx, node) }, 10 * time.Second, RouteBlackhole},
			{"gone", func() error { return nil }, time.Hour, RouteBlackhole},
		} {
			diff(t, step.what+": error", nil, step.do())
			time.Sleep(step.wait) // in the bubble's time
			all, err := c.Routes(ctx)
			diff(t, step.what+": error", nil, err)
			var got []wire.RouteState
			for _, r := range all {
				got = append(got, r.State)
			}
			diff(t, step.what, []wire.RouteState{step.state, step.state, RouteActive, RouteActive, RouteBlackhole}, got)
			diff(t, step.what+": its target", node, all[0].Target)
		}
		late := mustCreate(t, c, Instance{Name: "node-3"}).ID
		diff(t, "error", nil, c.StopInstance(ctx, late))
		diff(t, "to one that is stopped already", RouteBlackhole, mustRoute(t, c, routeTo("late", "10.244.3.0/24", late)).State)
	})
}

func TestRoutesAreListed(t *testing.T) {
	c := start(t, Config{PageSize: 2})
	for n := range 5 {
		r := routeTo(fmt.Sprintf("rt-%d", n), fmt.Sprintf("10.244.%d.0/24", n), "")
		r.Tags = map[string]string{"cluster": fmt.Sprintf("c%d", n%2)}
		mustRoute(t, c, r)
	}
	diff(t, "all pages", []string{"rt-0", "rt-1", "rt-2", "rt-3", "rt-4"}, routeNames(t, c))
	for name, row := range map[string]struct {
		query Query
		want  []string
	}{
		"Nothing":      {Query{}, []string{}},
		"Tag":          {Query{Tags: map[string]string{"cluster": "c0"}}, []string{"rt-0", "rt-2", "rt-4"}},
		"IDsOrNames":   {Query{IDs: []string{"rt-00000001"}, Names: []string{"rt-3"}}, []string{"rt-0", "rt-3"}},
		"NamesAndTags": {Query{Names: []string{"rt-1", "rt-4"}, Tags: map[string]string{"cluster": "c0"}}, []string{"rt-4"}},
	} {
		t.Run(name, func(t *testing.T) { diff(t, "found", row.want, routeNames(t, c, row.query)) })
	}
	mustSet(t, c, Fault{Kind: FaultTruncatedList, Calls: []Call{ListRoutes}})
	diff(t, "truncated", []string{"rt-0"}, routeNames(t, c))
	diff(t, "error", nil, c.ClearFaults(t.Context()))
	mustSet(t, c, Fault{Kind: FaultEmptyList, Calls: []Call{ListRoutes}})
	diff(t, "empty", []string{}, routeNames(t, c))
}

func TestWhatIsSeenOfRoutes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := startInBubble(t, Config{Standing: []Fault{{Name: "--stale-reads", Kind: FaultStale, Age: Duration(5 * time.Second)}}})
		ctx := t.Context()
		node := mustCreate(t, c, Instance{Name: "node-1"}).ID
		created := mustRoute(t, c, routeTo("lead", "10.244.1.0/24", node))
		diff(t, "not yet listed", []string{}, routeNames(t, c))
		_, err := c.CreateRoute(ctx, routeTo("lead", "10.244.1.0/24", node))
		diff(t, "but its name is taken", true, IsAlreadyExists(err))
		time.Sleep(5 * time.Second) // in the bubble's time
		diff(t, "listed", []string{"lead"}, routeNames(t, c))

		diff(t, "error", nil, c.StopInstance(ctx, node))
		diff(t, "it is said to be active for a while", RouteActive, routeOf(t, c, created.ID).State)
		time.Sleep(5 * time.Second)
		diff(t, "and then a blackhole", RouteBlackhole, routeOf(t, c, created.ID).State)

		diff(t, "error", nil, c.DeleteRoute(ctx, created.ID))
		diff(t, "still listed", []string{"lead"}, routeNames(t, c))
		diff(t, "but it is gone", true, IsNotFound(c.DeleteRoute(ctx, created.ID)))
		time.Sleep(5 * time.Second)
		diff(t, "no longer listed", []string{}, routeNames(t, c))

		mustSet(t, c, Fault{Kind: FaultInvisible, Match: "young", Age: Duration(time.Minute)})
		young := mustRoute(t, c, routeTo("young", "10.244.2.0/24", ""))
		time.Sleep(10 * time.Second)
		diff(t, "invisible in lists", []string{}, routeNames(t, c))
		outcomes, err := c.ChangeRoutes(ctx, []RouteChange{{Delete: young.ID}})
		diff(t, "error", nil, err)
		diff(t, "and to deletions", true, IsNotFound(outcomes[0].Err))
		time.Sleep(time.Minute)
		diff(t, "visible", []string{"young"}, routeNames(t, c))
	})
}

func TestSeveralChanges(t *testing.T) {
	c := start(t, Config{PageSize: 4})
	kept := mustRoute(t, c, routeTo("kept", "10.244.1.0/24", ""))
	gone := mustRoute(t, c, routeTo("gone", "10.244.2.0/24", ""))
	diff(t, "error", nil, c.ResetCalls(t.Context()))
	outcomes, err := c.ChangeRoutes(t.Context(), []RouteChange{
		{Create: new(routeTo("kept", "10.244.3.0/24", ""))},
		{Delete: gone.ID},
		{Create: new(routeTo("made", "10.244.3.0/24", ""))},
		{Delete: "rt-00000099"},
	})
	diff(t, "error", nil, err)
	diff(t, "a name that is taken", wire.CodeAlreadyExists, code(outcomes[0].Err))
	diff(t, "what was deleted", RouteOutcome{Route: gone}, outcomes[1])
	made := outcomes[2].Route
	diff(t, "what was created", RouteOutcome{Route: routeOf(t, c, made.ID)}, outcomes[2])
	diff(t, "its ID", "rt-00000003", made.ID)
	diff(t, "what does not exist", true, IsNotFound(outcomes[3].Err))
	diff(t, "what is left", []string{"kept", "made"}, routeNames(t, c))
	report, err := c.Calls(t.Context())
	diff(t, "error", nil, err)
	diff(t, "it is one call", int64(1), report.Count(ChangeRoutes, CreateRoute, DeleteRoute))

	create := RouteChange{Create: new(routeTo("x", "10.0.0.0/8", ""))}
	for name, row := range map[string]struct {
		changes []RouteChange
		want    string
	}{
		"None":    {[]RouteChange{}, "changes: 0 are given; a call takes 1 to 250"},
		"TooMany": {slices.Repeat([]RouteChange{create}, 251), "changes: 251 are given; a call takes 1 to 250"},
		"Nothing": {[]RouteChange{create, {}}, "changes[1]: must have either create or delete"},
		"Both":    {[]RouteChange{{Create: create.Create, Delete: kept.ID}}, "changes[0]: must have either create or delete"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := c.ChangeRoutes(t.Context(), row.changes)
			checkInvalid(t, row.want, err)
			diff(t, "nothing is changed", []string{"kept", "made"}, routeNames(t, c))
		})
	}
}

func TestRouteReplyIsLost(t *testing.T) {
	c := start(t, Config{})
	mustSet(t, c, Fault{Kind: FaultLostReply, Calls: []Call{CreateRoute, DeleteRoute, ChangeRoutes}})
	if _, err := c.CreateRoute(t.Context(), routeTo("lead", "10.0.0.0/8", "")); !errors.Is(err, io.EOF) {
		t.Errorf("got %v, want EOF", err)
	}
	diff(t, "it was carried out", []string{"lead"}, routeNames(t, c))
	if err := c.DeleteRoute(t.Context(), "rt-00000001"); !errors.Is(err, io.EOF) {
		t.Errorf("got %v, want EOF", err)
	}
	diff(t, "it was carried out", []string{}, routeNames(t, c))
	if _, err := c.ChangeRoutes(t.Context(), []RouteChange{{Create: new(routeTo("lead", "10.0.0.0/8", ""))}}); !errors.Is(err, io.EOF) {
		t.Errorf("got %v, want EOF", err)
	}
	diff(t, "it was carried out", []string{"lead"}, routeNames(t, c))
}

func TestFaultsMatchRoutes(t *testing.T) {
	for name, row := range map[string]struct {
		match string
		call  func(*testing.T, *Client) error
		hit   bool
	}{
		"ByID":   {"rt-00000001", func(t *testing.T, c *Client) error { return c.DeleteRoute(t.Context(), "rt-00000001") }, true},
		"ByName": {"lead", func(t *testing.T, c *Client) error { return c.DeleteRoute(t.Context(), "rt-00000001") }, true},
		"Other":  {"other", func(t *testing.T, c *Client) error { return c.DeleteRoute(t.Context(), "rt-00000001") }, false},
		"Creation": {"ne*", func(t *testing.T, c *Client) error {
			_, err := c.CreateRoute(t.Context(), routeTo("new", "10.0.0.0/8", ""))
			return err
		}, true},
		"OneDeletionOfSeveral": {"lead", func(t *testing.T, c *Client) error {
			_, err := c.ChangeRoutes(t.Context(), []RouteChange{{Create: new(routeTo("new", "10.0.0.0/8", ""))}, {Delete: "rt-00000001"}})
			return err
		}, true},
		"OneCreationOfSeveral": {"new", func(t *testing.T, c *Client) error {
			_, err := c.ChangeRoutes(t.Context(), []RouteChange{{Create: new(routeTo("new", "10.0.0.0/8", ""))}, {Delete: "rt-00000001"}})
			return err
		}, true},
		"NoneOfSeveral": {"other", func(t *testing.T, c *Client) error {
			_, err := c.ChangeRoutes(t.Context(), []RouteChange{{Create: new(routeTo("new", "10.0.0.0/8", ""))}})
			return err
		}, false},
		"ListByTags": {"lead", func(t *testing.T, c *Client) error {
			_, err := c.FindRoutes(t.Context(), Query{Tags: map[string]string{"owner": "a"}})
			return err
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			c := start(t, Config{})
			lead := routeTo("lead", "10.244.1.0/24", "")
			lead.Tags = map[string]string{"owner": "a"}
			mustRoute(t, c, lead)
			mustSet(t, c, Fault{Kind: FaultOutage, Match: row.match})
			diff(t, "hit", row.hit, code(row.call(t, c)) == wire.CodeUnavailable)
		})
	}
}

func TestCallsAboutRoutesAreCounted(t *testing.T) {
	c := start(t, Config{})
	if _, err := c.CreateRoute(t.Context(), routeTo("lead", "10.0.0.0/8", "")); err != nil {
		t.Fatal(err)
	}
	routeOf(t, c, "rt-00000001")
	if _, err := c.ChangeRoutes(t.Context(), []RouteChange{{Delete: "rt-00000001"}}); err != nil {
		t.Fatal(err)
	}
	report, err := c.Calls(t.Context())
	diff(t, "error", nil, err)
	var got []string
	for _, r := range report.Last {
		got = append(got, fmt.Sprintf("%s %s/%s %d", r.Call, r.Resource(), r.Route, r.Status))
	}
	diff(t, "last", []string{"CreateRoute lead/lead 201", "GetRoute rt-00000001/rt-00000001 200", "ChangeRoutes rt-00000001/rt-00000001 200"}, got)
}

func TestManyAtOnceChangeRoutes(t *testing.T) {
	c := start(t, Config{PageSize: 1000})
	const n = 200
	var wait sync.WaitGroup
	errs := make([]error, n)
	for i := range n {
		wait.Go(func() {
			created, err := c.CreateRoute(t.Context(), routeTo(fmt.Sprintf("rt-%d", i), fmt.Sprintf("10.%d.0.0/16", i), ""))
			if err == nil && i%2 == 0 {
				err = c.DeleteRoute(t.Context(), created.ID)
			}
			errs[i] = err
		})
	}
	wait.Wait()
	diff(t, "error", nil, errors.Join(errs...))
	got := routeNames(t, c)
	slices.Sort(got)
	diff(t, "each once", got, slices.Compact(slices.Clone(got)))
	diff(t, "routes", n/2, len(got))
}

// A request to create a route may give the name of the target instance instead
// of its ID. The cloud looks the instance up when it creates the route.
func TestRouteToATargetByName(t *testing.T) {
	c := start(t, Config{TerminatedFor: time.Hour})
	for range 2 {
		mustCreate(t, c, Instance{Name: "node-1"})
	}
	create := func(wanted Route) (string, string) {
		made, err := c.CreateRoute(t.Context(), wanted)
		if e, ok := errors.AsType[*APIError](err); ok {
			return "", e.Code + ": " + e.Message
		}
		return made.Name + " to " + made.Target + made.TargetName, ""
	}
	by := func(route, target string) Route {
		return Route{Name: route, Destination: "10.244.1.0/24", TargetName: target}
	}
	for _, step := range []struct {
		what       string
		route      Route
		made, want string
	}{
		{"two have the name", by("r", "node-1"), "", "Invalid: targetName: 2 instances are named node-1: i-00000001, i-00000002"},
		{"one of them is gone", by("r", "node-1"), "r-i-00000002 to i-00000002", ""},
		{"it is made again", by("r", "node-1"), "", "AlreadyExists: the name r-i-00000002 belongs to route rt-00000001"},
		{"another instance has the name", by("r", "node-1"), "r-i-00000003 to i-00000003", ""},
		{"none has the name", by("r", "node-9"), "", "TargetNotFound: no instance is named node-9"},
		{"name and ID", Route{Name: "r", Destination: "10.244.1.0/24", Target: "i-00000003", TargetName: "node-1"}, "", "Invalid: targetName: must be empty if there is a target"},
		{"no room for the ID", by(strings.Repeat("r", MaxRouteName), "node-1"), "", fmt.Sprintf("Invalid: name: is longer than %d bytes", MaxRouteName)},
	} {
		switch step.what {
		case "one of them is gone":
			diff(t, "error", nil, c.Operator().TerminateInstance(t.Context(), "i-00000001"))
		case "another instance has the name":
			diff(t, "error", nil, c.Operator().TerminateInstance(t.Context(), "i-00000002"))
			mustCreate(t, c, Instance{Name: "node-1"})
		}
		made, refused := create(step.route)
		diff(t, step.what, step.made, made)
		diff(t, step.what, step.want, refused)
	}
}
