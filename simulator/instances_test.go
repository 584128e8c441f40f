package simulator

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fairlead-k8s/fairlead/simulator/wire"
)

func TestInstanceLife(t *testing.T) {
	c := start(t, Config{})
	ctx := t.Context()
	created, err := c.CreateInstance(ctx, Instance{Name: "node-1"})
	if err != nil {
		t.Fatal(err)
	}
	want := Instance{
		ID: "i-00000001", Name: "node-1", Zone: "sim-1a", Region: "sim-1", Type: "small", State: Running,
		Addresses: []Address{{Type: InternalIP, Address: "127.0.1.1"}},
	}
	diff(t, "created", want, created)

	updated, err := c.UpdateInstance(ctx, created.ID, InstancePatch{
		Name: new("node-9"), Zone: new(""), Region: new("sim-2"), Type: new("large"),
		Addresses: []Address{{Type: Hostname, Address: "node-9"}, {Type: ExternalIP, Address: "2001:DB8::0:1"}, {Type: InternalIP, Address: "::ffff:127.0.9.1"}},
		Labels:    map[string]*string{"rack": new("r1"), "disk": new(""), "none": nil},
	})
	if err != nil {
		t.Fatal(err)
	}
	want = Instance{
		ID: "i-00000001", Name: "node-9", Region: "sim-2", Type: "large", State: Running,
		Addresses: []Address{{Type: Hostname, Address: "node-9"}, {Type: ExternalIP, Address: "2001:db8::1"}, {Type: InternalIP, Address: "127.0.9.1"}},
		Labels:    map[string]string{"rack": "r1", "disk": ""},
	}
	diff(t, "updated: addresses in their order and in one form", want, updated)

	updated, err = c.UpdateInstance(ctx, created.ID, InstancePatch{Addresses: []Address{}, Labels: map[string]*string{"rack": nil}})
	want.Addresses, want.Labels = []Address{}, map[string]string{"disk": ""}
	diff(t, "error", nil, err)
	diff(t, "updated: an empty list removes the addresses, and null removes a label", want, updated)

	for _, step := range []struct {
		do   func() error
		want State
	}{
		{func() error { return c.StopInstance(ctx, created.ID) }, Stopped},
		{func() error { return c.StartInstance(ctx, created.ID) }, Running},
	} {
		if err := step.do(); err != nil {
			t.Fatal(err)
		}
		got, err := c.Instance(ctx, created.ID)
		diff(t, "error", nil, err)
		diff(t, "state", step.want, got.State)
	}
	if err := c.TerminateInstance(ctx, created.ID); err != nil {
		t.Fatal(err)
	}
	_, err = c.Instance(ctx, created.ID)
	if !IsNotFound(err) {
		t.Errorf("terminated: got %v, want not found", err)
	}
	diff(t, "list", []string{}, names(t, c))
	next := mustCreate(t, c, Instance{Name: "node-1"})
	diff(t, "an ID is never given again", "i-00000002", next.ID)
}

func TestInstanceInput(t *testing.T) {
	c := start(t, Config{})
	mustCreate(t, c, Instance{Name: "node-1", Addresses: []Address{{Type: InternalIP, Address: "127.0.1.1"}, {Type: Hostname, Address: "shared"}}})
	mustCreate(t, c, Instance{Name: "node-2"})
	long := strings.Repeat("x", 254)
	for name, row := range map[string]struct {
		instance Instance
		want     string // empty: accepted
	}{
		"EmptyName":             {Instance{}, "name: must not be empty"},
		"NameWithSpace":         {Instance{Name: "a b"}, `name: "a b" must not contain commas, spaces or control characters`},
		"NameWithComma":         {Instance{Name: "a,b"}, `name: "a,b" must not contain commas, spaces or control characters`},
		"LongName":              {Instance{Name: long}, "name: is longer than 253 bytes"},
		"NameOfAnother":         {Instance{Name: "node-1"}, ""},
		"ID":                    {Instance{Name: "n", ID: "i-00000077"}, "id: must be empty; the cloud sets it"},
		"State":                 {Instance{Name: "n", State: Stopped}, "state: must be empty; an instance is created running"},
		"TerminatedAt":          {Instance{Name: "n", TerminatedAt: time.Unix(1, 0)}, "terminatedAt: must be empty; the cloud sets it"},
		"RegionWithSlash":       {Instance{Name: "n", Region: "a/b"}, `region: "a/b" must not contain a slash: it is part of provider IDs`},
		"EmptyLabelKey":         {Instance{Name: "n", Labels: map[string]string{"": "x"}}, "labels: a key is empty"},
		"LabelsKubernetesHates": {Instance{Name: "n", Labels: map[string]string{"not a label!": "not a value!"}}, ""},
		"UnknownAddressType":    {withAddress("IP", "1.2.3.4"), `addresses[0].type: "IP" is not one of InternalIP, ExternalIP, InternalDNS, ExternalDNS, Hostname`},
		"UnparsableIP":          {withAddress(InternalIP, "1.2.3"), `addresses[0].address: "1.2.3" cannot be an IP address of type InternalIP`},
		"IPWithZone":            {withAddress(InternalIP, "fe80::1%eth0"), `addresses[0].address: "fe80::1%eth0" cannot be an IP address of type InternalIP`},
		"UnspecifiedIP":         {withAddress(ExternalIP, "::"), `addresses[0].address: "::" cannot be an IP address of type ExternalIP`},
		"EmptyDNSName":          {withAddress(wire.InternalDNS, ""), "addresses[0].address: must not be empty"},
		"AddressOfAnother":      {withAddress(ExternalIP, "127.0.1.1"), "addresses[0].address: 127.0.1.1 belongs to instance i-00000001 (node-1)"},
		"SameInAnotherForm":     {withAddress(ExternalIP, "::ffff:127.0.1.1"), "addresses[0].address: 127.0.1.1 belongs to instance i-00000001 (node-1)"},
		"HostnameOfAnother":     {withAddress(Hostname, "shared"), ""},
		"AddressTwice":          {Instance{Name: "n", Addresses: []Address{{Type: InternalIP, Address: "fd00::1"}, {Type: InternalIP, Address: "fd00:0::1"}}}, "addresses[1]: InternalIP fd00::1 is given twice"},
		"AddressOfTwoTypes":     {Instance{Name: "n", Addresses: []Address{{Type: InternalIP, Address: "fd00::2"}, {Type: ExternalIP, Address: "fd00::2"}}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			before := names(t, c)
			created, err := c.CreateInstance(t.Context(), row.instance)
			checkInvalid(t, row.want, err)
			if err != nil {
				diff(t, "nothing is created", before, names(t, c))
				return
			}
			if err := c.TerminateInstance(t.Context(), created.ID); err != nil {
				t.Error(err)
			}
		})
	}
	t.Run("AddressOfAnotherInPatch", func(t *testing.T) {
		_, err := c.UpdateInstance(t.Context(), "i-00000002", InstancePatch{Addresses: []Address{{Type: InternalIP, Address: "127.0.1.1"}}})
		checkInvalid(t, "addresses[0].address: 127.0.1.1 belongs to instance i-00000001 (node-1)", err)
	})
	t.Run("OwnAddressInPatch", func(t *testing.T) {
		_, err := c.UpdateInstance(t.Context(), "i-00000001", InstancePatch{Addresses: []Address{{Type: ExternalIP, Address: "127.0.1.1"}}})
		checkInvalid(t, "", err)
	})
	t.Run("EmptyRegionInPatch", func(t *testing.T) {
		_, err := c.UpdateInstance(t.Context(), "i-00000001", InstancePatch{Region: new("")})
		checkInvalid(t, "region: must not be empty", err)
	})
}

func withAddress(kind AddressType, address string) Instance {
	return Instance{Name: "n", Addresses: []Address{{Type: kind, Address: address}}}
}

// checkInvalid requires an error with status 400 and the wanted message. If no
// message is wanted, it requires that there is no error.
func checkInvalid(t *testing.T, want string, err error) {
	t.Helper()
	if want == "" {
		diff(t, "error", nil, err)
		return
	}
	if want = "the cloud answered 400 Invalid: " + want; err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}

func TestLists(t *testing.T) {
	c := start(t, Config{PageSize: 3})
	for n := range 8 {
		mustCreate(t, c, Instance{Name: fmt.Sprintf("node-%d", n%7)})
	}
	all := []string{"node-0", "node-1", "node-2", "node-3", "node-4", "node-5", "node-6", "node-0"}
	for size, calls := range map[int]int64{0: 3, 1: 8, 2: 4, 3: 3, 100: 3} {
		if err := c.ResetCalls(t.Context()); err != nil {
			t.Fatal(err)
		}
		diff(t, "all pages", all, names(t, c.WithPageSize(size)))
		report, err := c.Calls(t.Context())
		diff(t, "error", nil, err)
		diff(t, fmt.Sprintf("calls with pages of %d", size), calls, report.Count())
	}
	t.Run("ByIDsAndNames", func(t *testing.T) {
		got, err := c.FindInstances(t.Context(), Query{IDs: []string{"i-00000003", "i-00000099"}, Names: []string{"node-0"}})
		diff(t, "error", nil, err)
		ids := []string{}
		for _, i := range got {
			ids = append(ids, i.ID)
		}
		diff(t, "found", []string{"i-00000001", "i-00000003", "i-00000008"}, ids)
	})
	t.Run("OfNothingIsNotOfAll", func(t *testing.T) {
		got, err := c.FindInstances(t.Context(), Query{})
		if len(got) > 0 || err != nil {
			t.Errorf("got %v, %v", got, err)
		}
	})
	t.Run("MoreThanAPage", func(t *testing.T) {
		_, err := c.FindInstances(t.Context(), Query{IDs: []string{"a", "b"}, Names: []string{"c", "d"}})
		checkInvalid(t, "ids: 4 IDs and names are asked for; a page has 3", err)
	})
	t.Run("APageGoesOnWhereTheLastEnded", func(t *testing.T) {
		var page List[Instance]
		if err := c.do(t.Context(), "GET", "/v1/instances?limit=2", nil, &page); err != nil {
			t.Fatal(err)
		}
		if err := c.TerminateInstance(t.Context(), page.Items[1].ID); err != nil {
			t.Fatal(err)
		}
		if err := c.do(t.Context(), "GET", "/v1/instances?limit=2&continue="+page.Continue, nil, &page); err != nil {
			t.Fatal(err)
		}
		diff(t, "first of the second page", "node-2", page.Items[0].Name)
	})
	for parameters, want := range map[string]string{
		"limit=0":        `limit: "0" is not a positive number`,
		"limit=many":     `limit: "many" is not a positive number`,
		"continue=":      `continue: "" was not given by this cloud`,
		"continue=%25":   `continue: "%" was not given by this cloud`,
		"color=red":      "color: is not a parameter of this list; it takes limit, continue, ids, names and name",
		"name=%zz":       `query: invalid URL escape "%zz"`,
		"ids=1,2&name=x": "",
	} {
		t.Run(parameters, func(t *testing.T) {
			checkInvalid(t, want, c.do(t.Context(), "GET", "/v1/instances?"+parameters, nil, nil))
		})
	}
}

func TestRequestBodies(t *testing.T) {
	c := start(t, Config{})
	for body, want := range map[string]string{
		`{"name":"a","colour":"red"}`:                            "colour: is not a field here",
		`{"name":7}`:                                             "name: must be a string, not number",
		`{"name":"a","addresses":{}}`:                            "addresses: must be a list, not object",
		`{"name":"a","labels":{"x":1}}`:                          "labels: must be a string, not number",
		`{"name":"a","addresses":[{"type":"Hostname","ip":""}]}`: "ip: is not a field here",
		`[]`:                  "body: must be an object, not array",
		`{"name":"a"} {}`:     "body: more follows after the end of the JSON value",
		"{\"name\":\n\"a\",}": "body: invalid character '}' looking for beginning of object key string",
		``:                    "body: EOF",
	} {
		t.Run(body, func(t *testing.T) {
			checkInvalid(t, want, post(t, c, body))
		})
	}
	t.Run("TooLong", func(t *testing.T) {
		_, err := c.CreateInstance(t.Context(), Instance{Name: strings.Repeat("x", 4<<20)})
		checkInvalid(t, "body: http: request body too large", err)
	})
}

// post creates an instance with a body that the client would never send.
func post(t *testing.T, c *Client, body string) error {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, c.base+"/v1/instances", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := io.ReadAll(resp.Body)
	if err := errors.Join(err, resp.Body.Close()); err != nil {
		t.Fatal(err)
	}
	if resp.StatusCode == http.StatusCreated {
		return nil
	}
	return answeredError(resp, answer)
}

func TestTransitionsTakeTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := startInBubble(t, Config{Transition: 20 * time.Second, TerminatedFor: time.Minute})
		id := mustCreate(t, c, Instance{Name: "node-1"}).ID
		var ended time.Time
		state := func() State {
			i, err := c.Instance(t.Context(), id)
			if IsNotFound(err) {
				return "removed"
			}
			if err != nil {
				t.Fatal(err)
			}
			diff(t, "it has the time of its end", map[State]time.Time{Terminated: ended}[i.State], i.TerminatedAt)
			return i.State
		}
		for _, step := range []struct {
			do   func() error
			wait time.Duration
			want State
		}{
			{want: Pending},
			{wait: 19 * time.Second, want: Pending},
			{wait: time.Second, want: Running},
			{do: func() error { return c.StopInstance(t.Context(), id) }, want: Stopping},
			{wait: 20 * time.Second, want: Stopped},
			{do: func() error {
				ended = time.Now().Add(20 * time.Second)
				return c.TerminateInstance(t.Context(), id)
			}, want: Stopping},
			{wait: 20 * time.Second, want: Terminated},
			{do: func() error { return c.TerminateInstance(t.Context(), id) }, want: Terminated},
			{wait: time.Minute, want: "removed"},
		} {
			if step.do != nil {
				diff(t, "error", nil, step.do())
			}
			time.Sleep(step.wait) // in the bubble's time
			diff(t, "state", step.want, state())
		}
	})
}

func TestTerminatedInstanceGivesItsAddressBack(t *testing.T) {
	c := start(t, Config{TerminatedFor: time.Hour})
	old := mustCreate(t, c, Instance{Name: "node-1", Addresses: []Address{{Type: InternalIP, Address: "127.0.9.1"}}})
	if err := c.TerminateInstance(t.Context(), old.ID); err != nil {
		t.Fatal(err)
	}
	mustCreate(t, c, Instance{Name: "node-1", Addresses: old.Addresses})
	if err := c.TerminateInstance(t.Context(), old.ID); err != nil {
		t.Errorf("terminated again: %v", err)
	}
	_, err := c.UpdateInstance(t.Context(), old.ID, InstancePatch{Type: new("large")})
	diff(t, "a terminated instance cannot be changed", wire.CodeConflict, code(err))
	diff(t, "it is still listed", []string{"node-1", "node-1"}, names(t, c))
}

func TestUnknown(t *testing.T) {
	c := start(t, Config{})
	for name, err := range map[string]error{
		"get":       c.do(t.Context(), "GET", "/v1/instances/i-00000001", nil, nil),
		"patch":     c.do(t.Context(), "PATCH", "/v1/instances/i-00000001", InstancePatch{}, nil),
		"start":     c.StartInstance(t.Context(), "i-00000001"),
		"stop":      c.StopInstance(t.Context(), "i-00000001"),
		"terminate": c.TerminateInstance(t.Context(), "i-00000001"),
		"fault":     c.ClearFault(t.Context(), "none"),
	} {
		if !IsNotFound(err) {
			t.Errorf("%s: got %v, want not found", name, err)
		}
	}
	for _, call := range []string{"GET /nothing", "GET /v1/", "PUT /v1/instances", "GET /v1/instances/", "GET /v2/instances"} {
		method, path, _ := strings.Cut(call, " ")
		err := c.do(t.Context(), method, path, nil, nil)
		diff(t, call, wire.CodeUnknownPath, code(err))
		if IsNotFound(err) {
			t.Errorf("%s: the 404 of an unknown path was taken for a missing instance", call)
		}
	}
}
