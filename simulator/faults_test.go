package simulator

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fairlead-k8s/fairlead/simulator/wire"
)

func TestFaultsThatAnswer(t *testing.T) {
	c := start(t, Config{})
	mustCreate(t, c, Instance{Name: "node-1"})
	before := mustBalance(t, c, webBalancer("web"))
	lead := mustRoute(t, c, routeTo("lead", "10.244.1.0/24", ""))
	for name, row := range map[string]struct {
		fault  Fault
		status int
		code   string
	}{
		"Error":        {Fault{Kind: FaultError}, 500, wire.CodeInternal},
		"Outage":       {Fault{Kind: FaultOutage}, 503, wire.CodeUnavailable},
		"Forbidden":    {Fault{Kind: FaultDenied}, 403, wire.CodeForbidden},
		"Unauthorized": {Fault{Kind: FaultDenied, Status: 401}, 401, wire.CodeUnauthorized},
		"NotFound":     {Fault{Kind: FaultNotFound}, 404, wire.CodeNotFound},
	} {
		t.Run(name, func(t *testing.T) {
			mustSet(t, c, row.fault)
			all := callAll(t.Context(), c)
			diff(t, "calls", len(CallNames()), len(all))
			for call, err := range all {
				var answered *APIError
				if !errors.As(err, &answered) {
					t.Errorf("%s: got %v", call, err)
					continue
				}
				diff(t, string(call)+" status", row.status, answered.StatusCode)
				diff(t, string(call)+" code", row.code, answered.Code)
			}
			diff(t, "the operator's list, unchanged", []string{"node-1"}, names(t, c.Operator()))
			after, err := c.Operator().LoadBalancers(t.Context())
			diff(t, "error", nil, err)
			diff(t, "load balancers", []LoadBalancer{before}, after)
			diff(t, "route", lead, routeOf(t, c.Operator(), lead.ID))
			if err := c.ClearFaults(t.Context()); err != nil {
				t.Fatal(err)
			}
			diff(t, "after it is cleared", []string{"node-1"}, names(t, c))
		})
	}
}

// callAll makes each call once.
func callAll(ctx context.Context, c *Client) map[Call]error {
	const id = "i-00000001"
	errs := map[Call]error{}
	_, errs[ListInstances] = c.Instances(ctx)
	_, errs[GetInstance] = c.Instance(ctx, id)
	_, errs[CreateInstance] = c.CreateInstance(ctx, Instance{Name: "new"})
	_, errs[UpdateInstance] = c.UpdateInstance(ctx, id, InstancePatch{Name: new("renamed")})
	errs[StopInstance] = c.StopInstance(ctx, id)
	errs[StartInstance] = c.StartInstance(ctx, id)
	errs[TerminateInstance] = c.TerminateInstance(ctx, id)
	_, errs[WatchInstances] = c.WatchInstances(ctx, "", 0)
	const balancer, address = "lb-00000001", "ip-00000001"
	_, errs[wire.ListLoadBalancers] = c.LoadBalancers(ctx)
	_, errs[wire.GetLoadBalancer] = c.LoadBalancer(ctx, balancer)
	_, errs[CreateLoadBalancer] = c.CreateLoadBalancer(ctx, webBalancer("new"))
	_, errs[UpdateLoadBalancer] = c.UpdateLoadBalancer(ctx, balancer, LoadBalancerPatch{Backends: []string{}})
	_, errs[SetBackends] = c.SetBackends(ctx, SharedBackends{Names: []string{"new"}, Backends: []string{}})
	errs[DeleteLoadBalancer] = c.DeleteLoadBalancer(ctx, balancer)
	_, errs[wire.ListStaticIPs] = c.StaticIPs(ctx)
	_, errs[wire.GetStaticIP] = c.StaticIP(ctx, address)
	_, errs[CreateStaticIP] = c.CreateStaticIP(ctx, StaticIP{Name: "new"})
	errs[ReleaseStaticIP] = c.ReleaseStaticIP(ctx, address)
	const route = "rt-00000001"
	_, errs[ListRoutes] = c.Routes(ctx)
	_, errs[wire.GetRoute] = c.Route(ctx, route)
	_, errs[CreateRoute] = c.CreateRoute(ctx, routeTo("new", "10.244.2.0/24", ""))
	_, errs[ChangeRoutes] = c.ChangeRoutes(ctx, []RouteChange{{Delete: route}, {Create: new(routeTo("new", "10.244.2.0/24", ""))}})
	errs[DeleteRoute] = c.DeleteRoute(ctx, route)
	const volume = "vol-00000001"
	_, errs[wire.ListVolumes] = c.Volumes(ctx)
	_, errs[wire.GetVolume] = c.Volume(ctx, volume)
	_, errs[CreateVolume] = c.CreateVolume(ctx, Volume{Name: "new"})
	errs[DeleteVolume] = c.DeleteVolume(ctx, volume)
	return errs
}

func TestConnectionIsReset(t *testing.T) {
	c := start(t, Config{})
	mustSet(t, c, Fault{Kind: FaultReset})
	for call, err := range callAll(t.Context(), c) {
		if !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("%s: got %v, want a reset", call, err)
		}
	}
	diff(t, "nothing was done", []string{}, names(t, c.Operator()))
}

func TestReplyIsLost(t *testing.T) {
	c := start(t, Config{})
	mustSet(t, c, Fault{Kind: FaultLostReply, Calls: []Call{CreateInstance, TerminateInstance}})
	if _, err := c.CreateInstance(t.Context(), Instance{Name: "node-1"}); !errors.Is(err, io.EOF) {
		t.Errorf("got %v, want EOF", err)
	}
	diff(t, "it was carried out", []string{"node-1"}, names(t, c))
	if err := c.TerminateInstance(t.Context(), "i-00000001"); !errors.Is(err, io.EOF) {
		t.Errorf("got %v, want EOF", err)
	}
	diff(t, "it was carried out", []string{}, names(t, c))
}

// By default, net/http sends a GET again if a reused connection breaks. The client
// prevents this.
func TestABrokenCallIsNotSentAgain(t *testing.T) {
	for _, kind := range []FaultKind{FaultReset, FaultLostReply} {
		t.Run(string(kind), func(t *testing.T) {
			c := start(t, Config{})
			diff(t, "a first call", []string{}, names(t, c))
			mustSet(t, c, Fault{Kind: kind, Count: 1})
			if _, err := c.Instances(t.Context()); err == nil {
				t.Error("the only broken call did not fail")
			}
			diff(t, "the next call", []string{}, names(t, c))
		})
	}
}

func TestLatency(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := startInBubble(t, Config{Seed: 1})
		mustSet(t, c, Fault{Kind: FaultLatency, Latency: Duration(30 * time.Millisecond), Jitter: Duration(20 * time.Millisecond)})
		var took []time.Duration
		for range 20 {
			began := time.Now()
			names(t, c)
			took = append(took, time.Since(began))
		}
		distinct := map[time.Duration]bool{}
		for _, d := range took {
			if d < 30*time.Millisecond || d > 50*time.Millisecond {
				t.Errorf("a call took %v", d)
			}
			distinct[d] = true
		}
		if len(distinct) < 10 {
			t.Errorf("jitter has only %d values in 20 calls", len(distinct))
		}
		mustSet(t, c, Fault{Kind: FaultLatency, Latency: Duration(time.Hour)})
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if _, err := c.CreateInstance(ctx, Instance{Name: "late"}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		synctest.Wait()
		diff(t, "a call whose caller went away is not carried out", []string{}, names(t, c.Operator()))
	})
}

func TestHang(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := startInBubble(t, Config{})
		mustSet(t, c, Fault{Kind: FaultHang, Calls: []Call{CreateInstance}})
		ctx, cancel := context.WithTimeout(t.Context(), 24*time.Hour)
		defer cancel()
		if _, err := c.CreateInstance(ctx, Instance{Name: "given-up"}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		synctest.Wait() // until the cloud has noticed that the caller is gone
		for name, end := range map[string]func() error{
			"Cleared": func() error { return c.ClearFault(t.Context(), "hang") },
			"Replaced": func() error {
				return c.SetFault(t.Context(), Fault{Name: "hang", Kind: FaultHang, Calls: []Call{StopInstance}})
			},
		} {
			mustSet(t, c, Fault{Kind: FaultHang, Calls: []Call{CreateInstance}, Count: 1})
			done := make(chan error, 1)
			go func() {
				_, err := c.CreateInstance(t.Context(), Instance{Name: name})
				done <- err
			}()
			time.Sleep(time.Hour) // in the bubble's time
			select {
			case err := <-done:
				t.Errorf("%s: did not hang: %v", name, err)
			default:
			}
			diff(t, "ended", nil, end())
			diff(t, "a call is carried out when its fault is cleared", nil, <-done)
		}
		diff(t, "calls whose callers gave up are not carried out", 2, len(names(t, c)))
		report, err := c.Calls(t.Context())
		diff(t, "error", nil, err)
		diff(t, "counters", []CallCounter{
			{Call: CreateInstance, Result: wire.ResultGone, Count: 1}, {Call: CreateInstance, Result: ResultOK, Count: 2}, {Call: ListInstances, Result: ResultOK, Count: 1},
		}, report.Counters)
	})
}

func TestThrottle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := startInBubble(t, Config{Standing: []Fault{{Name: "quota", Kind: FaultThrottle, Rate: 2, Burst: 3}}})
		call := func() (ok bool, retryAfter time.Duration) {
			_, err := c.Instances(t.Context())
			var answered *APIError
			if errors.As(err, &answered) && answered.Code == CodeThrottled && answered.StatusCode == http.StatusTooManyRequests {
				return false, answered.RetryAfter
			}
			diff(t, "error", nil, err)
			return true, 0
		}
		for _, step := range []struct {
			wait    time.Duration
			granted int
		}{
			{0, 3}, {499 * time.Millisecond, 0}, {time.Millisecond, 1}, {time.Second, 2}, {time.Hour, 3},
		} {
			time.Sleep(step.wait) // in the bubble's time
			for range step.granted {
				if ok, _ := call(); !ok {
					t.Errorf("after %v the bucket has fewer than %d tokens", step.wait, step.granted)
				}
			}
			ok, retryAfter := call()
			if ok {
				t.Errorf("after %v the bucket has more than %d tokens", step.wait, step.granted)
			}
			diff(t, "Retry-After in whole seconds", time.Second, retryAfter)
		}
		faults, err := c.Faults(t.Context())
		diff(t, "error", nil, err)
		diff(t, "standing faults", []Fault{}, faults)
		diff(t, "error", nil, c.ClearFaults(t.Context()))
		if ok, _ := call(); ok {
			t.Error("a standing fault was cleared")
		}
	})
}

// TestBuckets has several buckets. A refused call must leave all of them as they were.
func TestBuckets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := startInBubble(t, Config{Standing: []Fault{
			{Name: "changes", Kind: FaultThrottle, Calls: []Call{CreateInstance}, Rate: 1, Burst: 9, Tokens: new(0)},
			{Name: "hourly", Kind: FaultThrottle, Rate: 0.1, Burst: 9},
			{Name: "minutely", Kind: FaultThrottle, Rate: 1, Burst: 3, Tokens: new(1)},
		}})
		for _, step := range []struct {
			name    string
			wait    time.Duration
			call    Call
			refused bool
			left    []int // in the buckets changes, hourly, minutely
			hits    []int
		}{
			{"AnEmptyBucketOfOtherCallsDoesNotMatter", 0, ListInstances, false, []int{0, 8, 0}, []int{0, 0, 0}},
			{"OneEmptyBucketRefuses", 0, ListInstances, true, []int{0, 8, 0}, []int{0, 0, 1}},
			{"TheFirstEmptyBucketAnswers", 0, CreateInstance, true, []int{0, 8, 0}, []int{1, 0, 1}},
			{"BucketsFillAtTheirRates", 2 * time.Second, ListInstances, false, []int{2, 7, 1}, []int{1, 0, 1}},
			{"ACallNeedsATokenOfEach", 0, CreateInstance, false, []int{1, 6, 0}, []int{1, 0, 1}},
			{"ALaterRefusalGivesBack", 0, CreateInstance, true, []int{1, 6, 0}, []int{1, 0, 2}},
			{"NoBucketHoldsMoreThanItsBurst", time.Hour, ListInstances, false, []int{9, 8, 2}, []int{1, 0, 2}},
		} {
			time.Sleep(step.wait) // in the bubble's time
			var err error
			if step.call == CreateInstance {
				_, err = c.CreateInstance(t.Context(), Instance{Name: "node-1"})
			} else {
				_, err = c.Instances(t.Context())
			}
			var answered *APIError
			diff(t, step.name+": refused", step.refused, errors.As(err, &answered) && answered.Code == CodeThrottled)
			buckets, err := c.StandingFaults(t.Context())
			diff(t, "error", nil, err)
			var left, hits []int
			for _, b := range buckets {
				left, hits = append(left, *b.Tokens), append(hits, b.Hits)
			}
			diff(t, step.name+": left", step.left, left)
			diff(t, step.name+": hits", step.hits, hits)
		}
	})
}

func TestRetryAfterSaysHowLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := startInBubble(t, Config{})
		mustSet(t, c, Fault{Kind: FaultThrottle, Rate: 0.1})
		names(t, c)
		_, err := c.Instances(t.Context())
		var answered *APIError
		if !errors.As(err, &answered) || answered.RetryAfter != 10*time.Second {
			t.Fatalf("got %v, want to be told to wait for 10s", err)
		}
		time.Sleep(answered.RetryAfter) // in the bubble's time
		names(t, c)
	})
}

func TestFaultsThatChangeLists(t *testing.T) {
	c := start(t, Config{PageSize: 4})
	for n := range 6 {
		mustCreate(t, c, Instance{Name: fmt.Sprintf("node-%d", n)})
	}
	all := []string{"node-0", "node-1", "node-2", "node-3", "node-4", "node-5"}
	for name, row := range map[string]struct {
		fault Fault
		want  []string
	}{
		"EmptyList":                     {Fault{Kind: FaultEmptyList}, []string{}},
		"EmptyListOfOne":                {Fault{Kind: FaultEmptyList, Match: "node-3"}, []string{"node-0", "node-1", "node-2", "node-4", "node-5"}},
		"EmptyListByID":                 {Fault{Kind: FaultEmptyList, Match: "i-00000001"}, all[1:]},
		"EmptyListByPattern":            {Fault{Kind: FaultEmptyList, Match: "node-[0-4]"}, []string{"node-5"}},
		"TruncatedListHasNoFurtherPage": {Fault{Kind: FaultTruncatedList}, []string{"node-0", "node-1"}},
		"TruncatedByAQuarter":           {Fault{Kind: FaultTruncatedList, Fraction: 0.25}, []string{"node-0", "node-1", "node-2"}},
		"TruncatedByAtLeastOne":         {Fault{Kind: FaultTruncatedList, Fraction: 0.01}, []string{"node-0", "node-1", "node-2"}},
		"TruncatedWholly":               {Fault{Kind: FaultTruncatedList, Fraction: 1}, []string{}},
	} {
		t.Run(name, func(t *testing.T) {
			mustSet(t, c, row.fault)
			diff(t, "list", row.want, names(t, c))
			if _, err := c.Instance(t.Context(), "i-00000001"); err != nil {
				t.Errorf("a single instance: %v", err)
			}
			diff(t, "error", nil, c.ClearFaults(t.Context()))
			diff(t, "after it is cleared", all, names(t, c))
		})
	}
}

func TestStaleReads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := startInBubble(t, Config{})
		first := mustCreate(t, c, Instance{Name: "node-1"})
		time.Sleep(time.Minute) // in the bubble's time
		mustCreate(t, c, Instance{Name: "node-2"})
		if _, err := c.UpdateInstance(t.Context(), first.ID, InstancePatch{Name: new("renamed")}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		diff(t, "error", nil, c.TerminateInstance(t.Context(), first.ID))

		for _, row := range []struct {
			fault Fault
			want  []string
		}{
			{Fault{Age: Duration(time.Second)}, []string{"renamed", "node-2"}},
			{Fault{Age: Duration(time.Minute)}, []string{"renamed", "node-2"}},
			{Fault{Age: Duration(61 * time.Second)}, []string{"node-1"}},
			{Fault{Age: Duration(time.Hour)}, []string{}},
			{Fault{Age: Duration(time.Second), Match: first.ID}, []string{"renamed", "node-2"}},
			{Fault{Age: Duration(61 * time.Second), Match: "node-2"}, []string{}},
		} {
			row.fault.Kind = FaultStale
			mustSet(t, c, row.fault)
			diff(t, fmt.Sprintf("as of %v ago, matching %q", row.fault.Age, row.fault.Match), row.want, names(t, c))
		}
		mustSet(t, c, Fault{Kind: FaultStale, Age: Duration(time.Second)})
		got, err := c.Instance(t.Context(), first.ID)
		diff(t, "error", nil, err)
		diff(t, "a terminated instance is still read", "renamed", got.Name)
		if err := c.StopInstance(t.Context(), first.ID); !IsNotFound(err) {
			t.Errorf("a write must not see stale data, got %v", err)
		}
		time.Sleep(2 * time.Second)
		diff(t, "in the end reads are right", []string{"node-2"}, names(t, c))
	})
}

func TestInvisibleAtFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := startInBubble(t, Config{})
		mustSet(t, c, Fault{Kind: FaultInvisible})
		created, err := c.CreateInstance(t.Context(), Instance{Name: "node-1"})
		diff(t, "error", nil, err)
		for _, step := range []struct {
			wait    time.Duration
			visible bool
		}{{0, false}, {59 * time.Second, false}, {time.Second, true}} {
			time.Sleep(step.wait) // in the bubble's time
			_, getErr := c.Instance(t.Context(), created.ID)
			diff(t, "get", !step.visible, IsNotFound(getErr))
			diff(t, "update", !step.visible, IsNotFound(c.StopInstance(t.Context(), created.ID)))
			diff(t, "list", step.visible, len(names(t, c)) == 1)
			diff(t, "the operator sees it", 1, len(names(t, c.Operator())))
		}
		mustSet(t, c, Fault{Kind: FaultInvisible, Match: "node-2"})
		mustCreate(t, c, Instance{Name: "node-2"})
		mustCreate(t, c, Instance{Name: "node-3"})
		diff(t, "only what matches is hidden", []string{"node-1", "node-3"}, names(t, c))
	})
}

func TestWhichCallsAreHit(t *testing.T) {
	get := func(id string) func(*testing.T, *Client) error {
		return func(t *testing.T, c *Client) error {
			_, err := c.Instance(t.Context(), id)
			return err
		}
	}
	find := func(q Query) func(*testing.T, *Client) error {
		return func(t *testing.T, c *Client) error {
			_, err := c.FindInstances(t.Context(), q)
			return err
		}
	}
	list := func(t *testing.T, c *Client) error {
		_, err := c.Instances(t.Context())
		return err
	}
	create := func(name string) func(*testing.T, *Client) error {
		return func(t *testing.T, c *Client) error {
			_, err := c.CreateInstance(t.Context(), Instance{Name: name})
			return err
		}
	}
	for name, row := range map[string]struct {
		fault Fault
		call  func(*testing.T, *Client) error
		hit   bool
	}{
		"AllCalls":              {Fault{}, list, true},
		"NamedCall":             {Fault{Calls: []Call{ListInstances}}, list, true},
		"OtherCall":             {Fault{Calls: []Call{GetInstance}}, list, false},
		"MatchByID":             {Fault{Match: "i-00000001"}, get("i-00000001"), true},
		"MatchByNameOfID":       {Fault{Match: "node-1"}, get("i-00000001"), true},
		"MatchByPattern":        {Fault{Match: "node-*"}, get("i-00000002"), true},
		"OtherInstance":         {Fault{Match: "node-1"}, get("i-00000002"), false},
		"MatchOfWhatIsNotThere": {Fault{Match: "i-00000009"}, get("i-00000009"), true},
		"MatchInFilteredList":   {Fault{Match: "node-2"}, find(Query{IDs: []string{"i-00000001", "i-00000002"}}), true},
		"MatchOfIDInListByName": {Fault{Match: "i-00000001"}, find(Query{Names: []string{"node-1"}}), true},
		"OtherFilteredList":     {Fault{Match: "node-2"}, find(Query{IDs: []string{"i-00000001"}}), false},
		"MatchSparesFullList":   {Fault{Match: "node-2"}, list, false},
		"MatchOfCreation":       {Fault{Match: "node-3"}, create("node-3"), true},
		"OtherCreation":         {Fault{Match: "node-3"}, create("node-4"), false},
	} {
		t.Run(name, func(t *testing.T) {
			c := start(t, Config{})
			mustCreate(t, c, Instance{Name: "node-1"})
			mustCreate(t, c, Instance{Name: "node-2"})
			row.fault.Kind = FaultOutage
			mustSet(t, c, row.fault)
			diff(t, "hit", row.hit, code(row.call(t, c)) == wire.CodeUnavailable)
		})
	}
}

func TestFaultIsLimitedToACount(t *testing.T) {
	c := start(t, Config{})
	mustSet(t, c, Fault{Kind: FaultOutage, Count: 2, Calls: []Call{ListInstances}})
	var hits []bool
	for range 4 {
		_, getErr := c.Instance(t.Context(), "i-00000001")
		diff(t, "calls that it is not aimed at", true, IsNotFound(getErr))
		_, err := c.Instances(t.Context())
		hits = append(hits, err != nil)
	}
	diff(t, "hits", []bool{true, true, false, false}, hits)
	faults, err := c.Faults(t.Context())
	diff(t, "error", nil, err)
	diff(t, "faults", []Fault{{Name: "outage", Kind: FaultOutage, Calls: []Call{ListInstances}, Count: 2, Hits: 2}}, faults)
}

func TestFaultSparesTheFirstCalls(t *testing.T) {
	c := start(t, Config{})
	mustSet(t, c, Fault{Kind: FaultOutage, Skip: 2, Count: 1, Calls: []Call{ListInstances}})
	var hits []bool
	for range 5 {
		_, getErr := c.Instance(t.Context(), "i-00000001")
		diff(t, "calls that it is not aimed at", true, IsNotFound(getErr))
		_, err := c.Instances(t.Context())
		hits = append(hits, err != nil)
	}
	diff(t, "hits", []bool{false, false, true, false, false}, hits)
}

// Faults act on a call in the order of FaultKinds. Once a fault has answered a call,
// the later faults neither act on the call nor count it.
func TestACallThatGetsNoFurtherIsNotCounted(t *testing.T) {
	c := start(t, Config{})
	mustSet(t, c, Fault{Kind: FaultLostReply, Count: 1})
	mustSet(t, c, Fault{Kind: FaultOutage, Count: 1})
	_, first := c.Instances(t.Context())
	_, second := c.Instances(t.Context())
	_, third := c.Instances(t.Context())
	diff(t, "first", wire.CodeUnavailable, code(first))
	if !errors.Is(second, io.EOF) {
		t.Errorf("second: got %v, want a lost reply", second)
	}
	diff(t, "third", nil, third)
}

func TestTheSameSeedMeetsTheSameFaults(t *testing.T) {
	run := func(seed uint64, others ...Fault) []bool {
		c := start(t, Config{Seed: seed})
		for _, f := range append(others, Fault{Kind: FaultError, Probability: 0.5}) {
			mustSet(t, c, f)
		}
		var failed []bool
		for range 64 {
			_, err := c.Instances(t.Context())
			failed = append(failed, code(err) == wire.CodeInternal)
		}
		return failed
	}
	first := run(1)
	diff(t, "the same seed", first, run(1))
	diff(t, "another fault changes nothing", first, run(1, Fault{Kind: FaultLatency, Latency: 1, Jitter: 1}))
	if slices.Equal(first, run(2)) {
		t.Error("another seed meets the same faults")
	}
	failed := 0
	for _, f := range first {
		if f {
			failed++
		}
	}
	if failed < 16 || failed > 48 {
		t.Errorf("%d of 64 calls failed, with a probability of a half", failed)
	}
}

func TestFaultInput(t *testing.T) {
	c := start(t, Config{})
	for name, row := range map[string]struct {
		fault Fault
		want  string
	}{
		"UnknownKind":         {Fault{Kind: "earthquake"}, `kind: "earthquake" is not one of latency, hang, reset, throttle, outage, denied, error, notFound, stale, invisible, emptyList, truncatedList, doubledList, lostReply`},
		"NoKind":              {Fault{}, `kind: "" is not one of latency, hang, reset, throttle, outage, denied, error, notFound, stale, invisible, emptyList, truncatedList, doubledList, lostReply`},
		"UnknownCall":         {Fault{Kind: FaultError, Calls: []Call{"Reboot"}}, `calls: "Reboot" is not one of ListInstances, GetInstance, CreateInstance, UpdateInstance, StartInstance, StopInstance, TerminateInstance, WatchInstances, ListLoadBalancers, GetLoadBalancer, CreateLoadBalancer, UpdateLoadBalancer, DeleteLoadBalancer, SetBackends, ListStaticIPs, GetStaticIP, CreateStaticIP, ReleaseStaticIP, ListRoutes, GetRoute, CreateRoute, DeleteRoute, ChangeRoutes, ListVolumes, GetVolume, CreateVolume, DeleteVolume`},
		"CallWithoutEffect":   {Fault{Kind: FaultEmptyList, Calls: []Call{GetInstance}}, "calls: a fault of kind emptyList cannot hit GetInstance"},
		"StaleWrite":          {Fault{Kind: FaultStale, Calls: []Call{UpdateInstance}}, "calls: a fault of kind stale cannot hit UpdateInstance"},
		"InvisibleCreation":   {Fault{Kind: FaultInvisible, Calls: []Call{CreateInstance}}, "calls: a fault of kind invisible cannot hit CreateInstance"},
		"BadPattern":          {Fault{Kind: FaultError, Match: "["}, `match: "[" is not a pattern: syntax error in pattern`},
		"NegativeSkip":        {Fault{Kind: FaultError, Skip: -1}, "skip: must not be negative"},
		"NegativeCount":       {Fault{Kind: FaultError, Count: -1}, "count: must not be negative"},
		"ProbabilityOfTwo":    {Fault{Kind: FaultError, Probability: 2}, "probability: must be between 0 and 1"},
		"NegativeProbability": {Fault{Kind: FaultError, Probability: -0.5}, "probability: must be between 0 and 1"},
		"LatencyOfNothing":    {Fault{Kind: FaultLatency}, "latency: must be positive, such as 30ms"},
		"LatencyAboveADay":    {Fault{Kind: FaultLatency, Latency: Duration(25 * time.Hour)}, "latency: and jitter must not be longer than 24h0m0s; use kind hang for a call without an end"},
		"NegativeLatency":     {Fault{Kind: FaultLatency, Latency: -1, Jitter: 5}, "latency: must be positive, such as 30ms"},
		"LatencyOfAnOutage":   {Fault{Kind: FaultOutage, Latency: 1}, "latency: belongs to kind latency, not to outage"},
		"AgeOfAnOutage":       {Fault{Kind: FaultOutage, Age: 1}, "age: belongs to kind stale, invisible, not to outage"},
		"ThrottleWithoutRate": {Fault{Kind: FaultThrottle}, "rate: must be positive: calls a second"},
		"NegativeRate":        {Fault{Kind: FaultThrottle, Rate: -1}, "rate: must be positive: calls a second"},
		"MoreThanTheBurst":    {Fault{Kind: FaultThrottle, Rate: 1, Burst: 2, Tokens: new(3)}, "tokens: must be between 0 and the burst, which is 2"},
		"NegativeTokens":      {Fault{Kind: FaultThrottle, Rate: 1, Tokens: new(-1)}, "tokens: must be between 0 and the burst, which is 1"},
		"ForeignTokens":       {Fault{Kind: FaultError, Tokens: new(0)}, "tokens: belongs to kind throttle, not to error"},
		"NegativeBurst":       {Fault{Kind: FaultThrottle, Rate: 1, Burst: -1}, "burst: must not be negative"},
		"DeniedWith404":       {Fault{Kind: FaultDenied, Status: 404}, "status: must be 401 or 403"},
		"FractionOfTwo":       {Fault{Kind: FaultTruncatedList, Fraction: 2}, "fraction: must be between 0 and 1"},
		"TruncatedForOne":     {Fault{Kind: FaultTruncatedList, Match: "node-1"}, "match: truncatedList has no match; use emptyList to leave out single resources"},
		"NegativeAge":         {Fault{Kind: FaultStale, Age: -1}, "age: must not be negative"},
		"NameWithSpace":       {Fault{Name: "a b", Kind: FaultError}, `name: "a b" must not contain commas, spaces or control characters`},
	} {
		t.Run(name, func(t *testing.T) {
			if row.fault.Name == "" {
				row.fault.Name = "x"
			}
			checkInvalid(t, row.want, c.SetFault(t.Context(), row.fault))
		})
	}
	put := func(body any) error { return c.do(t.Context(), "PUT", c.Operator().one("/faults", "x"), body, nil) }
	for name, row := range map[string]struct {
		body any
		want string
	}{
		"UnknownField":    {map[string]any{"kind": "error", "chance": 1}, "chance: is not a field here"},
		"BadDuration":     {map[string]any{"kind": "latency", "latency": "fast"}, `body: "fast" is not a duration such as 30ms or 1m`},
		"DurationNumber":  {map[string]any{"kind": "latency", "latency": 30}, "latency: must be a string, not number"},
		"OtherNameInPath": {map[string]any{"kind": "error", "name": "y"}, `name: is "y" in the body and "x" in the path`},
		"NameFromPath":    {map[string]any{"kind": "error"}, ""},
	} {
		t.Run(name, func(t *testing.T) { checkInvalid(t, row.want, put(row.body)) })
	}
}

func TestFaultDefaults(t *testing.T) {
	c := start(t, Config{})
	for _, f := range []Fault{
		{Name: "b", Kind: FaultThrottle, Rate: 2.5}, {Name: "d", Kind: FaultInvisible}, {Name: "c", Kind: FaultTruncatedList}, {Name: "a", Kind: FaultDenied, Hits: 9},
	} {
		mustSet(t, c, f)
	}
	got, err := c.Faults(t.Context())
	diff(t, "error", nil, err)
	diff(t, "faults, by name", []Fault{
		{Name: "a", Kind: FaultDenied, Status: 403},
		{Name: "b", Kind: FaultThrottle, Rate: 2.5, Burst: 3, Tokens: new(3)},
		{Name: "c", Kind: FaultTruncatedList, Fraction: 0.5},
		{Name: "d", Kind: FaultInvisible, Age: Duration(time.Minute)},
	}, got)
}
