package simulator

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fairlead-k8s/fairlead/simulator/wire"
)

// webBalancer returns a load balancer with the required fields only.
func webBalancer(name string) LoadBalancer {
	return LoadBalancer{Name: name, Listeners: []Listener{{Protocol: TCP, Port: 80, BackendPort: 30080}}}
}

func mustBalance(t *testing.T, c *Client, l LoadBalancer) LoadBalancer {
	t.Helper()
	created, err := c.Operator().CreateLoadBalancer(t.Context(), l)
	if err != nil {
		t.Fatal(err)
	}
	return created
}

// balancerNames lists the names of the load balancers that a caller sees.
func balancerNames(t *testing.T, c *Client, q ...Query) []string {
	t.Helper()
	all, err := c.LoadBalancers(t.Context())
	if len(q) > 0 {
		all, err = c.FindLoadBalancers(t.Context(), q[0])
	}
	if err != nil {
		t.Fatal(err)
	}
	names := []string{}
	for _, l := range all {
		names = append(names, l.Name)
	}
	return names
}

func TestLoadBalancerLife(t *testing.T) {
	c := start(t, Config{})
	ctx := t.Context()
	created, err := c.CreateLoadBalancer(ctx, webBalancer("web"))
	if err != nil {
		t.Fatal(err)
	}
	want := LoadBalancer{
		ID: "lb-00000001", Name: "web", State: LoadBalancerActive, Address: "127.64.1.1",
		Listeners: []Listener{{Protocol: TCP, Port: 80, BackendPort: 30080}}, Backends: []string{},
		SourceRanges: []string{Everyone},
	}
	diff(t, "created, with the cloud's defaults", want, created)

	updated, err := c.UpdateLoadBalancer(ctx, created.ID, LoadBalancerPatch{
		Tags:         map[string]*string{"owner": new("a"), "empty": new(""), "none": nil},
		Listeners:    []Listener{{Protocol: UDP, Port: 53, BackendPort: 30053}, {Protocol: TCP, Port: 53, BackendPort: 30054}},
		Backends:     []string{"i-00000002", "i-00000001", "i-00000002"},
		SourceRanges: []string{"2001:DB8::1/32", "10.1.2.3/8", "10.0.0.0/8"},
		Affinity:     new(Duration(time.Hour)),
		HealthCheck:  &HealthCheck{Port: 31000, Path: "/healthz"},
		Drain:        new(Duration(0)),
	})
	want.Tags = map[string]string{"owner": "a", "empty": ""}
	want.Listeners = []Listener{{Protocol: UDP, Port: 53, BackendPort: 30053}, {Protocol: TCP, Port: 53, BackendPort: 30054}}
	want.Backends = []string{"i-00000001", "i-00000002"}
	want.SourceRanges = []string{"10.0.0.0/8", "2001:db8::/32"}
	want.Affinity = Duration(time.Hour)
	want.HealthCheck = HealthCheck{Port: 31000, Path: "/healthz"}
	want.Drain = new(Duration(0))
	diff(t, "error", nil, err)
	diff(t, "updated: backends and ranges in one form, each once", want, updated)

	updated, err = c.UpdateLoadBalancer(ctx, created.ID, LoadBalancerPatch{Backends: []string{}, Tags: map[string]*string{"owner": nil}, Drain: new(Duration(-1))})
	want.Backends, want.Tags, want.Drain = []string{}, map[string]string{"empty": ""}, nil
	diff(t, "error", nil, err)
	diff(t, "updated: an empty list removes the backends, null removes a tag, and a negative drain removes the drain", want, updated)
	got, err := c.LoadBalancer(ctx, created.ID)
	diff(t, "error", nil, err)
	diff(t, "read again", want, got)

	diff(t, "error", nil, c.DeleteLoadBalancer(ctx, created.ID))
	for what, err := range map[string]error{
		"get":    func() error { _, err := c.LoadBalancer(ctx, created.ID); return err }(),
		"update": func() error { _, err := c.UpdateLoadBalancer(ctx, created.ID, LoadBalancerPatch{}); return err }(),
		"delete": c.DeleteLoadBalancer(ctx, created.ID),
	} {
		if !IsNotFound(err) || !strings.HasSuffix(err.Error(), "load balancer lb-00000001 does not exist") {
			t.Errorf("%s: got %v, want not found", what, err)
		}
	}
	next := mustBalance(t, c, webBalancer("web"))
	diff(t, "an ID is never given again", "lb-00000002", next.ID)
	diff(t, "the address of a deleted load balancer is not reused at once", "127.64.1.2", next.Address)
}

func TestLoadBalancerInput(t *testing.T) {
	c := start(t, Config{})
	mustBalance(t, c, webBalancer("taken"))
	with := func(change func(*LoadBalancer)) LoadBalancer {
		l := webBalancer("new")
		change(&l)
		return l
	}
	for name, row := range map[string]struct {
		wanted LoadBalancer
		want   string
	}{
		"EmptyName":        {webBalancer(""), "name: must not be empty"},
		"NameWithSpace":    {webBalancer("a b"), `name: "a b" must not contain commas, spaces or control characters`},
		"LongName":         {webBalancer(strings.Repeat("x", 64)), "name: is longer than 63 bytes"},
		"ID":               {with(func(l *LoadBalancer) { l.ID = "lb-00000077" }), "id: must be empty; the cloud sets it"},
		"State":            {with(func(l *LoadBalancer) { l.State = LoadBalancerActive }), "state: must be empty; the cloud decides it"},
		"Address":          {with(func(l *LoadBalancer) { l.Address = "127.64.0.9" }), "address: must be empty; the cloud sets it; to choose it, set staticIP"},
		"Traffic":          {with(func(l *LoadBalancer) { l.Traffic = &Traffic{} }), "traffic: must be empty; the cloud counts it"},
		"EmptyTagKey":      {with(func(l *LoadBalancer) { l.Tags = map[string]string{"": "x"} }), `tags: "" is not a key: it must not be empty and have no equals sign`},
		"TagKeyWithEquals": {with(func(l *LoadBalancer) { l.Tags = map[string]string{"a=b": "x"} }), `tags: "a=b" is not a key: it must not be empty and have no equals sign`},
		"NoListeners":      {with(func(l *LoadBalancer) { l.Listeners = nil }), "listeners: must not be empty"},
		"SCTP":             {with(func(l *LoadBalancer) { l.Listeners[0].Protocol = "SCTP" }), `listeners[0].protocol: "SCTP" is not one of TCP, UDP`},
		"PortZero":         {with(func(l *LoadBalancer) { l.Listeners[0].Port = 0 }), "listeners[0].port: 0 is not a port"},
		"PortTooLarge":     {with(func(l *LoadBalancer) { l.Listeners[0].Port = 65536 }), "listeners[0].port: 65536 is not a port"},
		"NoBackendPort":    {with(func(l *LoadBalancer) { l.Listeners[0].BackendPort = 0 }), "listeners[0].backendPort: 0 is not a port"},
		"ListenerTwice": {with(func(l *LoadBalancer) {
			l.Listeners = []Listener{{Protocol: TCP, Port: 80, BackendPort: 1}, {Protocol: UDP, Port: 80, BackendPort: 1}, {Protocol: TCP, Port: 80, BackendPort: 2}}
		}), "listeners[2]: TCP 80 is given twice"},
		"BackendByName":     {with(func(l *LoadBalancer) { l.Backends = []string{"i-00000001", "node-1"} }), `backends[1]: "node-1" is not an instance ID`},
		"NoSourceRange":     {with(func(l *LoadBalancer) { l.SourceRanges = []string{} }), "sourceRanges: must not be empty; 0.0.0.0/0 is everyone"},
		"BadSourceRange":    {with(func(l *LoadBalancer) { l.SourceRanges = []string{"10.0.0.0/8", "10.0.0.1"} }), `sourceRanges[1]: "10.0.0.1" is not a range such as 192.0.2.0/24`},
		"NegativeAffinity":  {with(func(l *LoadBalancer) { l.Affinity = -1 }), "affinity: must not be negative"},
		"NegativeDrain":     {with(func(l *LoadBalancer) { l.Drain = new(Duration(-1)) }), "drain: must not be negative"},
		"CheckWithoutPort":  {with(func(l *LoadBalancer) { l.HealthCheck.Path = "/" }), "healthCheck.port: must be given with a path"},
		"CheckOfNoPort":     {with(func(l *LoadBalancer) { l.HealthCheck.Port = 70000 }), "healthCheck.port: 70000 is not a port"},
		"CheckWithoutSlash": {with(func(l *LoadBalancer) { l.HealthCheck = HealthCheck{Port: 1, Path: "healthz"} }), `healthCheck.path: "healthz" must start with a slash`},
		"StaticIPUnknown":   {with(func(l *LoadBalancer) { l.StaticIP = "ip-00000009" }), "staticIP: ip-00000009 does not exist"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := c.CreateLoadBalancer(t.Context(), row.wanted)
			checkInvalid(t, row.want, err)
			diff(t, "nothing is created", []string{"taken"}, balancerNames(t, c))
		})
	}
	t.Run("NameOfAnother", func(t *testing.T) {
		_, err := c.CreateLoadBalancer(t.Context(), webBalancer("taken"))
		if !IsAlreadyExists(err) || err.Error() != "the cloud answered 409 AlreadyExists: the name taken belongs to load balancer lb-00000001" {
			t.Errorf("got %v", err)
		}
	})
	t.Run("PatchIsChecked", func(t *testing.T) {
		_, err := c.UpdateLoadBalancer(t.Context(), "lb-00000001", LoadBalancerPatch{Listeners: []Listener{}})
		checkInvalid(t, "listeners: must not be empty", err)
		_, err = c.UpdateLoadBalancer(t.Context(), "lb-00000001", LoadBalancerPatch{SourceRanges: []string{}})
		checkInvalid(t, "sourceRanges: must not be empty; 0.0.0.0/0 is everyone", err)
	})
	for parameters, want := range map[string]string{
		"tag=owner":         "tag: must be KEY=VALUE",
		"tag=%3Da":          "tag: must be KEY=VALUE",
		"tag=a%3D1&tag=a=2": `tag: a cannot be both "1" and "2"`,
		"tags=x":            "tags: is not a parameter of this list; it takes limit, continue, ids, names, tag and name",
		"limit=0":           `limit: "0" is not a positive number`,
	} {
		t.Run(parameters, func(t *testing.T) {
			checkInvalid(t, want, c.do(t.Context(), "GET", "/v1/load-balancers?"+parameters, nil, nil))
		})
	}
	t.Run("StaticIPsHaveNoTags", func(t *testing.T) {
		checkInvalid(t, "tag: is not a parameter of this list; it takes limit, continue, ids, names and name", c.do(t.Context(), "GET", "/v1/static-ips?tag=a=b", nil, nil))
	})
}

func TestLoadBalancerIsPendingAtFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := startInBubble(t, Config{Provisioning: 20 * time.Second})
		created, err := c.CreateLoadBalancer(t.Context(), webBalancer("web"))
		diff(t, "error", nil, err)
		diff(t, "address", "", created.Address)
		patched, err := c.UpdateLoadBalancer(t.Context(), created.ID, LoadBalancerPatch{Backends: []string{"i-00000001"}})
		diff(t, "error", nil, err)
		diff(t, "it may be changed", []string{"i-00000001"}, patched.Backends)
		diff(t, "and stays pending", wire.LoadBalancerPending, patched.State)
		for _, step := range []struct {
			wait    time.Duration
			state   wire.LoadBalancerState
			address string
		}{{0, wire.LoadBalancerPending, ""}, {20*time.Second - 1, wire.LoadBalancerPending, ""}, {1, LoadBalancerActive, "127.64.1.1"}} {
			time.Sleep(step.wait) // in the bubble's time
			got, err := c.LoadBalancer(t.Context(), created.ID)
			diff(t, "error", nil, err)
			diff(t, "state", step.state, got.State)
			diff(t, "address", step.address, got.Address)
		}
		other := mustBalance(t, c, webBalancer("other"))
		diff(t, "a pending one can be deleted", nil, c.DeleteLoadBalancer(t.Context(), other.ID))
		diff(t, "what is left", []string{"web"}, balancerNames(t, c))
	})
}

func TestQuotas(t *testing.T) {
	c := start(t, Config{MaxLoadBalancers: 2, MaxBackends: 2})
	web := mustBalance(t, c, webBalancer("web"))
	mustBalance(t, c, webBalancer("other"))
	_, err := c.CreateLoadBalancer(t.Context(), webBalancer("third"))
	if code(err) != CodeQuotaExceeded || !strings.HasSuffix(err.Error(), "the account has 2 load balancers, and its quota is 2") {
		t.Errorf("got %v", err)
	}
	backends := []string{"i-00000001", "i-00000002", "i-00000003"}
	_, err = c.UpdateLoadBalancer(t.Context(), web.ID, LoadBalancerPatch{Backends: backends})
	if code(err) != CodeQuotaExceeded || !strings.HasSuffix(err.Error(), "load balancer web would have 3 backends; the quota is 2 for each load balancer") {
		t.Errorf("got %v", err)
	}
	_, err = c.UpdateLoadBalancer(t.Context(), web.ID, LoadBalancerPatch{Backends: backends[:2]})
	diff(t, "as many as are allowed", nil, err)
	diff(t, "error", nil, c.DeleteLoadBalancer(t.Context(), web.ID))
	third := webBalancer("third")
	third.Backends = backends
	_, err = c.CreateLoadBalancer(t.Context(), third)
	diff(t, "too many backends in a creation", CodeQuotaExceeded, code(err))
	diff(t, "nothing is left of it", []string{"other"}, balancerNames(t, c))
	mustBalance(t, c, webBalancer("third"))
}

func TestLoadBalancersAreFoundByTags(t *testing.T) {
	c := start(t, Config{PageSize: 2})
	for n := range 5 {
		l := webBalancer(fmt.Sprintf("lb-%d", n))
		l.Tags = map[string]string{"cluster": fmt.Sprintf("c%d", n%2), "n": strconv.Itoa(n)}
		mustBalance(t, c, l)
	}
	tags := func(words ...string) map[string]string {
		m := map[string]string{}
		for _, word := range words {
			key, value, _ := strings.Cut(word, "=")
			m[key] = value
		}
		return m
	}
	for name, row := range map[string]struct {
		query Query
		want  []string
	}{
		"Nothing":      {Query{}, []string{}},
		"OneTag":       {Query{Tags: tags("cluster=c0")}, []string{"lb-0", "lb-2", "lb-4"}},
		"AllTags":      {Query{Tags: tags("cluster=c0", "n=2")}, []string{"lb-2"}},
		"NotBoth":      {Query{Tags: tags("cluster=c1", "n=2")}, []string{}},
		"OtherValue":   {Query{Tags: tags("cluster=c")}, []string{}},
		"UnknownKey":   {Query{Tags: tags("clusters=c0")}, []string{}},
		"EmptyValue":   {Query{Tags: tags("nothing=")}, []string{}},
		"IDsAndTags":   {Query{IDs: []string{"lb-00000001", "lb-00000002"}, Tags: tags("cluster=c1")}, []string{"lb-1"}},
		"NamesAndTags": {Query{Names: []string{"lb-1", "lb-4"}, Tags: tags("cluster=c0")}, []string{"lb-4"}},
		"IDsOrNames":   {Query{IDs: []string{"lb-00000001"}, Names: []string{"lb-3"}}, []string{"lb-0", "lb-3"}},
	} {
		t.Run(name, func(t *testing.T) { diff(t, "found", row.want, balancerNames(t, c, row.query)) })
	}
	diff(t, "all pages", []string{"lb-0", "lb-1", "lb-2", "lb-3", "lb-4"}, balancerNames(t, c))
}

func TestStaticIPs(t *testing.T) {
	c := start(t, Config{})
	ctx := t.Context()
	mustBalance(t, c, webBalancer("first"))
	chosen, err := c.CreateStaticIP(ctx, StaticIP{Name: "chosen", Address: "::ffff:127.100.0.1"})
	diff(t, "error", nil, err)
	diff(t, "chosen", StaticIP{ID: "ip-00000001", Name: "chosen", Address: "127.100.0.1"}, chosen)
	given, err := c.CreateStaticIP(ctx, StaticIP{Name: "given"})
	diff(t, "error", nil, err)
	diff(t, "given", StaticIP{ID: "ip-00000002", Name: "given", Address: "127.64.1.3"}, given)
	for name, row := range map[string]struct {
		ip   StaticIP
		code string
		want string
	}{
		"NoName":          {StaticIP{}, wire.CodeInvalid, "name: must not be empty"},
		"ID":              {StaticIP{ID: "x", Name: "x"}, wire.CodeInvalid, "id: must be empty; the cloud sets it"},
		"InUse":           {StaticIP{LoadBalancer: "x", Name: "x"}, wire.CodeInvalid, "loadBalancer: must be empty; a load balancer names its static IP"},
		"NotOurs":         {StaticIP{Name: "x", Address: "10.0.0.1"}, wire.CodeInvalid, `address: "10.0.0.1" is not one of the addresses for load balancers, 127.64.0.0/10`},
		"NoAddress":       {StaticIP{Name: "x", Address: "x"}, wire.CodeInvalid, `address: "x" is not one of the addresses for load balancers, 127.64.0.0/10`},
		"NameTaken":       {StaticIP{Name: "given"}, wire.CodeAlreadyExists, "the name given belongs to static IP ip-00000002"},
		"Reserved":        {StaticIP{Name: "x", Address: "127.100.0.1"}, wire.CodeConflict, "127.100.0.1 belongs to static IP ip-00000001"},
		"OfALoadBalancer": {StaticIP{Name: "x", Address: "127.64.1.1"}, wire.CodeConflict, "127.64.1.1 belongs to load balancer lb-00000001"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := c.CreateStaticIP(ctx, row.ip)
			if code(err) != row.code || !strings.HasSuffix(err.Error(), row.want) {
				t.Errorf("got %v", err)
			}
		})
	}

	l := webBalancer("static")
	l.StaticIP = chosen.ID
	created := mustBalance(t, c, l)
	diff(t, "it has that address", "127.100.0.1", created.Address)
	got, err := c.StaticIP(ctx, chosen.ID)
	diff(t, "error", nil, err)
	diff(t, "who uses it", created.ID, got.LoadBalancer)
	l.Name = "second"
	_, err = c.CreateLoadBalancer(ctx, l)
	if code(err) != wire.CodeConflict || !strings.HasSuffix(err.Error(), "static IP ip-00000001 is used by load balancer lb-00000002 (static)") {
		t.Errorf("got %v", err)
	}
	err = c.ReleaseStaticIP(ctx, chosen.ID)
	if code(err) != wire.CodeConflict || !strings.HasSuffix(err.Error(), "static IP ip-00000001 is used by load balancer lb-00000002 (static)") {
		t.Errorf("got %v", err)
	}

	moved, err := c.UpdateLoadBalancer(ctx, created.ID, LoadBalancerPatch{StaticIP: &given.ID})
	diff(t, "error", nil, err)
	diff(t, "moved", given.Address, moved.Address)
	moved, err = c.UpdateLoadBalancer(ctx, created.ID, LoadBalancerPatch{StaticIP: new("")})
	diff(t, "error", nil, err)
	if moved.Address == given.Address || moved.Address == chosen.Address || moved.Address == "" {
		t.Errorf("its own address is %q", moved.Address)
	}
	moved, err = c.UpdateLoadBalancer(ctx, created.ID, LoadBalancerPatch{StaticIP: &chosen.ID})
	diff(t, "error", nil, err)
	diff(t, "moved back", chosen.Address, moved.Address)

	diff(t, "error", nil, c.DeleteLoadBalancer(ctx, created.ID))
	chosen.LoadBalancer = ""
	all, err := c.StaticIPs(ctx)
	diff(t, "error", nil, err)
	diff(t, "kept after the load balancer is gone", []StaticIP{chosen, given}, all)
	diff(t, "error", nil, c.ReleaseStaticIP(ctx, chosen.ID))
	if _, err := c.StaticIP(ctx, chosen.ID); !IsNotFound(err) {
		t.Errorf("released: got %v", err)
	}
	if err := c.ReleaseStaticIP(ctx, chosen.ID); !IsNotFound(err) {
		t.Errorf("released again: got %v", err)
	}
}

func TestLoadBalancerReplyIsLost(t *testing.T) {
	c := start(t, Config{})
	mustSet(t, c, Fault{Kind: FaultLostReply, Match: "web", Count: 1})
	if _, err := c.CreateLoadBalancer(t.Context(), webBalancer("web")); !errors.Is(err, io.EOF) {
		t.Errorf("got %v, want EOF", err)
	}
	diff(t, "it was carried out", []string{"web"}, balancerNames(t, c))
}

func TestFaultsMatchLoadBalancers(t *testing.T) {
	tagged := map[string]string{"owner": "a"}
	call := func(do func(*testing.T, *Client) error) func(*testing.T, *Client) error { return do }
	for name, row := range map[string]struct {
		match string
		call  func(*testing.T, *Client) error
		hit   bool
	}{
		"ByID":   {"lb-00000001", call(func(t *testing.T, c *Client) error { return c.DeleteLoadBalancer(t.Context(), "lb-00000001") }), true},
		"ByName": {"web", call(func(t *testing.T, c *Client) error { return c.DeleteLoadBalancer(t.Context(), "lb-00000001") }), true},
		"Other":  {"other", call(func(t *testing.T, c *Client) error { return c.DeleteLoadBalancer(t.Context(), "lb-00000001") }), false},
		"ByNameOfAnUpdate": {"w*", call(func(t *testing.T, c *Client) error {
			_, err := c.UpdateLoadBalancer(t.Context(), "lb-00000001", LoadBalancerPatch{})
			return err
		}), true},
		"Creation": {"new", call(func(t *testing.T, c *Client) error {
			_, err := c.CreateLoadBalancer(t.Context(), webBalancer("new"))
			return err
		}), true},
		"ListByTags": {"web", call(func(t *testing.T, c *Client) error {
			_, err := c.FindLoadBalancers(t.Context(), Query{Tags: tagged})
			return err
		}), true},
		"ListByOtherTags": {"web", call(func(t *testing.T, c *Client) error {
			_, err := c.FindLoadBalancers(t.Context(), Query{Tags: map[string]string{"owner": "b"}})
			return err
		}), false},
		"StaticIP": {"kept", call(func(t *testing.T, c *Client) error { return c.ReleaseStaticIP(t.Context(), "ip-00000001") }), true},
		"InstanceOfThatName": {"web", call(func(t *testing.T, c *Client) error {
			_, err := c.FindInstances(t.Context(), Query{Names: []string{"web"}})
			return err
		}), true},
	} {
		t.Run(name, func(t *testing.T) {
			c := start(t, Config{})
			web := webBalancer("web")
			web.Tags = tagged
			mustBalance(t, c, web)
			if _, err := c.CreateStaticIP(t.Context(), StaticIP{Name: "kept"}); err != nil {
				t.Fatal(err)
			}
			mustSet(t, c, Fault{Kind: FaultOutage, Match: row.match})
			diff(t, "hit", row.hit, code(row.call(t, c)) == wire.CodeUnavailable)
		})
	}
}

func TestWhatIsSeenOfLoadBalancers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := startInBubble(t, Config{})
		tags := map[string]string{"owner": "a"}
		web := webBalancer("web")
		web.Tags = tags
		created := mustBalance(t, c, web)
		byTags := Query{Tags: tags}

		mustSet(t, c, Fault{Kind: FaultInvisible})
		diff(t, "invisible in lists", []string{}, balancerNames(t, c, byTags))
		diff(t, "invisible to updates", true, IsNotFound(c.DeleteLoadBalancer(t.Context(), created.ID)))
		_, err := c.CreateLoadBalancer(t.Context(), web)
		diff(t, "but its name is taken", true, IsAlreadyExists(err))
		time.Sleep(time.Minute) // in the bubble's time
		diff(t, "visible", []string{"web"}, balancerNames(t, c, byTags))
		diff(t, "error", nil, c.ClearFaults(t.Context()))

		mustSet(t, c, Fault{Kind: FaultEmptyList, Match: "web"})
		diff(t, "left out", []string{}, balancerNames(t, c, byTags))
		diff(t, "error", nil, c.ClearFaults(t.Context()))

		diff(t, "error", nil, c.DeleteLoadBalancer(t.Context(), created.ID))
		mustSet(t, c, Fault{Kind: FaultStale, Match: "web", Age: Duration(time.Second)})
		diff(t, "still seen", []string{"web"}, balancerNames(t, c, byTags))
		time.Sleep(time.Second)
		diff(t, "no longer", []string{}, balancerNames(t, c, byTags))
	})
}

func TestCallsAboutLoadBalancersAreCounted(t *testing.T) {
	c := start(t, Config{})
	if _, err := c.CreateLoadBalancer(t.Context(), webBalancer("web")); err != nil {
		t.Fatal(err)
	}
	diff(t, "error", nil, c.DeleteLoadBalancer(t.Context(), "lb-00000001"))
	if _, err := c.CreateStaticIP(t.Context(), StaticIP{Name: "kept"}); err != nil {
		t.Fatal(err)
	}
	report, err := c.Calls(t.Context())
	diff(t, "error", nil, err)
	var got []string
	for _, r := range report.Last {
		got = append(got, fmt.Sprintf("%s %s %s/%s/%s %d", r.Call, r.Resource(), r.Instance, r.LoadBalancer, r.StaticIP, r.Status))
	}
	diff(t, "last", []string{
		"CreateLoadBalancer web /web/ 201", "DeleteLoadBalancer lb-00000001 /lb-00000001/ 204", "CreateStaticIP kept //kept 201",
	}, got)
}

// One call gives several load balancers the same backends. Each load balancer has its
// own outcome. A load balancer that lacks a tag of the call is reported as not found.
func TestSetBackends(t *testing.T) {
	c := start(t, Config{})
	for _, name := range []string{"a", "b", "c"} {
		l := webBalancer(name)
		if l.Tags = map[string]string{"cluster": "one"}; name == "c" {
			l.Tags["cluster"] = "other"
		}
		_, err := c.CreateLoadBalancer(t.Context(), l)
		diff(t, "error", nil, err)
	}
	errs, err := c.SetBackends(t.Context(), SharedBackends{Names: []string{"b", "gone", "c", "a"}, Tags: map[string]string{"cluster": "one"}, Backends: []string{"i-00000007"}})
	diff(t, "error", nil, err)
	var missing []bool
	for _, err := range errs {
		missing = append(missing, IsNotFound(err))
	}
	diff(t, "not found", []bool{false, true, true, false}, missing)
	all, err := c.LoadBalancers(t.Context())
	diff(t, "error", nil, err)
	backends := map[string][]string{}
	for _, l := range all {
		backends[l.Name] = l.Backends
	}
	diff(t, "backends", map[string][]string{"a": {"i-00000007"}, "b": {"i-00000007"}, "c": {}}, backends)
	_, err = c.SetBackends(t.Context(), SharedBackends{})
	checkInvalid(t, "names: 0 are given; a call takes 1 to 250", err)
}
