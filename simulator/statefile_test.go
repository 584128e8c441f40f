package simulator

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestStateSurvivesARestart(t *testing.T) {
	file := filepath.Join(t.TempDir(), "cloud.json")
	before := start(t, Config{StateFile: file})
	mustCreate(t, before, Instance{Name: "node-1", Labels: map[string]string{"rack": "r1"}})
	second := mustCreate(t, before, Instance{Name: "node-2"})
	third := mustCreate(t, before, Instance{Name: "node-3"})
	if err := before.StopInstance(t.Context(), second.ID); err != nil {
		t.Fatal(err)
	}
	if err := before.TerminateInstance(t.Context(), third.ID); err != nil {
		t.Fatal(err)
	}
	want, err := before.Instances(t.Context())
	if err != nil {
		t.Fatal(err)
	}

	after := start(t, Config{StateFile: file})
	got, err := after.Instances(t.Context())
	diff(t, "error", nil, err)
	diff(t, "instances", want, got)
	diff(t, "an ID is never given again", "i-00000004", mustCreate(t, after, Instance{Name: "node-3"}).ID)
	files, err := os.ReadDir(filepath.Dir(file))
	if err != nil || len(files) != 1 {
		t.Errorf("%d files are left, %v; want the state file only", len(files), err)
	}
}

func TestLoadBalancersSurviveARestart(t *testing.T) {
	file := filepath.Join(t.TempDir(), "cloud.json")
	before := start(t, Config{StateFile: file})
	static, err := before.CreateStaticIP(t.Context(), StaticIP{Name: "kept"})
	diff(t, "error", nil, err)
	withStatic := webBalancer("static")
	withStatic.StaticIP = static.ID
	withStatic.Tags = map[string]string{"owner": "a"}
	withStatic.HealthCheck = HealthCheck{Port: 31000, Path: "/healthz"}
	want := []LoadBalancer{mustBalance(t, before, withStatic), mustBalance(t, before, webBalancer("web"))}
	diff(t, "error", nil, before.DeleteLoadBalancer(t.Context(), mustBalance(t, before, webBalancer("gone")).ID))

	after := start(t, Config{StateFile: file})
	got, err := after.LoadBalancers(t.Context())
	diff(t, "error", nil, err)
	diff(t, "load balancers", want, got)
	static.LoadBalancer = "lb-00000001"
	ips, err := after.StaticIPs(t.Context())
	diff(t, "error", nil, err)
	diff(t, "static IPs", []StaticIP{static}, ips)
	diff(t, "an ID is never given again", "lb-00000004", mustBalance(t, after, webBalancer("next")).ID)
}

func TestRoutesSurviveARestart(t *testing.T) {
	file := filepath.Join(t.TempDir(), "cloud.json")
	before := start(t, Config{StateFile: file})
	target := mustCreate(t, before, Instance{Name: "node-1"})
	stopped := mustCreate(t, before, Instance{Name: "node-2"})
	full := routeTo("full", "10.244.1.0/24", target.ID)
	full.TargetAddresses = []Address{{Type: InternalIP, Address: "10.0.0.1"}, {Type: Hostname, Address: "node-1"}}
	full.Tags = map[string]string{"owner": "a"}
	want := []Route{
		mustRoute(t, before, full),
		mustRoute(t, before, Route{Name: "drop", Destination: "pl-00000001", State: RouteBlackhole}),
		mustRoute(t, before, routeTo("stopped", "10.244.2.0/24", stopped.ID)),
	}
	diff(t, "error", nil, before.DeleteRoute(t.Context(), mustRoute(t, before, routeTo("gone", "10.244.3.0/24", "")).ID))
	// When the instance stops, the file is written before the state of the route
	// changes. So the state must be computed again when the file is read.
	diff(t, "error", nil, before.StopInstance(t.Context(), stopped.ID))
	want[2].State = RouteBlackhole

	after := start(t, Config{StateFile: file})
	got, err := after.Routes(t.Context())
	diff(t, "error", nil, err)
	diff(t, "routes", want, got)
	diff(t, "an ID is never given again", "rt-00000005", mustRoute(t, after, routeTo("next", "10.244.3.0/24", "")).ID)
	diff(t, "error", nil, after.StartInstance(t.Context(), stopped.ID))
	diff(t, "it follows its target as before", RouteActive, routeOf(t, after, want[2].ID).State)
}

func TestVersion1IsRead(t *testing.T) {
	file := filepath.Join(t.TempDir(), "cloud.json")
	content := `{"version":1,"lastInstance":7,"instances":[{"id":"i-00000003","name":"a","region":"r","state":"running","addresses":[],"created":"2026-01-01T00:00:00Z"}]}`
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	c := start(t, Config{StateFile: file})
	diff(t, "instances", []string{"a"}, names(t, c))
	diff(t, "the next load balancer", "lb-00000001", mustBalance(t, c, webBalancer("web")).ID)
	diff(t, "what is written can be read", []string{"a"}, names(t, start(t, Config{StateFile: file})))
}

func TestProvisioningGoesOnAfterARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		config := Config{StateFile: filepath.Join(t.TempDir(), "cloud.json"), Provisioning: time.Minute}
		created := mustBalance(t, startInBubble(t, config), webBalancer("web"))
		time.Sleep(30 * time.Second)
		again := startInBubble(t, config)
		for _, want := range []LoadBalancerState{LoadBalancerPending, LoadBalancerActive} {
			got, err := again.LoadBalancer(t.Context(), created.ID)
			diff(t, "error", nil, err)
			diff(t, "state", want, got.State)
			time.Sleep(30 * time.Second)
		}
	})
}

func TestTransitionsGoOnAfterARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		config := Config{StateFile: filepath.Join(t.TempDir(), "cloud.json"), Transition: time.Minute}
		created := mustCreate(t, startInBubble(t, config), Instance{Name: "node-1"})
		time.Sleep(30 * time.Second)
		again := startInBubble(t, config)
		for _, want := range []State{Pending, Running} {
			got, err := again.Instance(t.Context(), created.ID)
			diff(t, "error", nil, err)
			diff(t, "state", want, got.State)
			time.Sleep(30 * time.Second)
		}
	})
}

func TestWhatCannotBeSavedHasNotHappened(t *testing.T) {
	directory := filepath.Join(t.TempDir(), "state")
	if err := os.Mkdir(directory, 0o700); err != nil {
		t.Fatal(err)
	}
	c := start(t, Config{StateFile: filepath.Join(directory, "cloud.json")})
	kept := mustCreate(t, c, Instance{Name: "node-1"})
	web := mustBalance(t, c, webBalancer("web"))
	lead := mustRoute(t, c, routeTo("lead", "10.244.1.0/24", kept.ID))
	if err := os.Rename(directory, directory+".away"); err != nil {
		t.Fatal(err)
	}
	_, balanceErr := c.CreateLoadBalancer(t.Context(), webBalancer("new"))
	_, reserveErr := c.CreateStaticIP(t.Context(), StaticIP{Name: "new"})
	_, routeErr := c.CreateRoute(t.Context(), routeTo("new", "10.244.2.0/24", kept.ID))
	_, changeErr := c.ChangeRoutes(t.Context(), []RouteChange{{Delete: lead.ID}, {Create: new(routeTo("lead", "10.244.3.0/24", kept.ID))}})
	_, createErr := c.CreateInstance(t.Context(), Instance{Name: "node-2"})
	_, updateErr := c.UpdateInstance(t.Context(), kept.ID, InstancePatch{Name: new("node-9")})
	for name, err := range map[string]error{
		"create":    createErr,
		"update":    updateErr,
		"stop":      c.StopInstance(t.Context(), kept.ID),
		"terminate": c.TerminateInstance(t.Context(), kept.ID),
		"balance":   balanceErr,
		"delete":    c.DeleteLoadBalancer(t.Context(), web.ID),
		"reserve":   reserveErr,
		"route":     routeErr,
		"change":    changeErr,
		"unroute":   c.DeleteRoute(t.Context(), lead.ID),
	} {
		if code(err) != CodeInternal || !strings.Contains(err.Error(), "state file") {
			t.Errorf("%s: got %v, want an internal error about the state file", name, err)
		}
	}
	got, err := c.Instances(t.Context())
	diff(t, "error", nil, err)
	diff(t, "instances", []Instance{kept}, got)
	routes, err := c.Routes(t.Context())
	diff(t, "error", nil, err)
	diff(t, "routes", []Route{lead}, routes)

	if err := os.Rename(directory+".away", directory); err != nil {
		t.Fatal(err)
	}
	diff(t, "the next ID", "i-00000002", mustCreate(t, c, Instance{Name: "node-2"}).ID)
	diff(t, "the next load balancer", "lb-00000002", mustBalance(t, c, webBalancer("new")).ID)
	diff(t, "the next route", "rt-00000002", mustRoute(t, c, routeTo("new", "10.244.2.0/24", kept.ID)).ID)
}

func TestAFailedSaveLeavesNothingBehind(t *testing.T) {
	directory := t.TempDir()
	file := filepath.Join(directory, "cloud.json")
	c := start(t, Config{StateFile: file})
	if err := os.Mkdir(file, 0o700); err != nil { // a file cannot replace a folder
		t.Fatal(err)
	}
	_, err := c.CreateInstance(t.Context(), Instance{Name: "node-1"})
	diff(t, "error", CodeInternal, code(err))
	files, err := os.ReadDir(directory)
	if err != nil || len(files) != 1 {
		t.Errorf("%d files are left, %v", len(files), err)
	}
}

// After a crash between writing and renaming, a temporary file is left, and the state
// file has the old state.
func TestLeftoversOfACrashAreIgnored(t *testing.T) {
	file := filepath.Join(t.TempDir(), "cloud.json")
	mustCreate(t, start(t, Config{StateFile: file}), Instance{Name: "node-1"})
	if err := os.WriteFile(file+".123.tmp", []byte(`{"version":1,"insta`), 0o600); err != nil {
		t.Fatal(err)
	}
	diff(t, "instances", []string{"node-1"}, names(t, start(t, Config{StateFile: file})))
}

func TestBrokenStateFile(t *testing.T) {
	const goodBalancer = `"id":"lb-00000001","name":"a","state":"active","address":"127.64.0.1","listeners":[{"protocol":"TCP","port":1,"backendPort":1}],"backends":[],"sourceRanges":["0.0.0.0/0"]`
	const goodRoute = `"id":"rt-00000001","name":"a","destination":"10.0.0.0/8","state":"active","created":"2026-01-01T00:00:00Z"`
	const good = `"id":"i-00000001","name":"a","region":"r","state":"running","addresses":[],"created":"2026-01-01T00:00:00Z"`
	for name, row := range map[string]struct{ content, want string }{
		"Empty":          {"", "line 1, column 1: EOF"},
		"CutOff":         {"{\"version\":1,\n \"instances\":[{\"id\":", "line 2, column 20: unexpected EOF"},
		"NoJSON":         {"{\n  version: 1\n}", "line 2, column 3: invalid character 'v' looking for beginning of object key string"},
		"WrongType":      {"{\n \"version\": \"1\"}", "line 2, column 15: version: must be a number, not string"},
		"UnknownField":   {"{\"version\":1,\n\"instance\":[]}", `line 2, column 14: json: unknown field "instance"`},
		"TwoValues":      {"{\"version\":1}\n{}", "line 2, column 1: more follows after the end of the JSON value"},
		"NegativeNumber": {`{"version":3,"lastRoute":-1}`, "lastRoute: -1 is not between 0 and 9007199254740992"},
		"OtherVersion":   {`{"version":5}`, "version is 5, and this simulator reads only versions 1 to 4"},
		"NoVersion":      {`{}`, "version is 0, and this simulator reads only versions 1 to 4"},
		"NullInstance":   {`{"version":1,"instances":[null]}`, "instances[0]: is null"},
		"BadID":          {`{"version":1,"lastInstance":1,"instances":[{"id":"i-1"}]}`, `instances[0]: id: "i-1" is not a valid instance ID`},
		"IDAboveLast":    {`{"version":1,"lastInstance":0,"instances":[{` + good + `}]}`, "instances[0]: id: i-00000001 is above lastInstance, 0"},
		"IDTwice":        {`{"version":1,"lastInstance":1,"instances":[{` + good + `},{` + good + `}]}`, "instances[1]: id: i-00000001 is there twice"},
		"BadState":       {`{"version":1,"lastInstance":1,"instances":[{"id":"i-00000001","state":"gone"}]}`, `instances[0]: state: "gone" is not a state of instances`},
		"BadInstance":    {`{"version":1,"lastInstance":1,"instances":[{"id":"i-00000001","state":"running"}]}`, "instances[0]: name: must not be empty"},

		"NullLoadBalancer":         {`{"version":2,"loadBalancers":[null]}`, "loadBalancers[0]: is null"},
		"BadLoadBalancerID":        {`{"version":2,"loadBalancers":[{"id":"i-00000001"}]}`, `loadBalancers[0]: id: "i-00000001" is not a valid load balancer ID`},
		"LoadBalancerIDAboveLast":  {`{"version":2,"loadBalancers":[{` + goodBalancer + `}]}`, "loadBalancers[0]: id: lb-00000001 is above lastLoadBalancer, 0"},
		"LoadBalancerTwice":        {`{"version":2,"lastLoadBalancer":1,"loadBalancers":[{` + goodBalancer + `},{` + goodBalancer + `}]}`, "loadBalancers[1]: id: lb-00000001 is there twice"},
		"BadLoadBalancerState":     {`{"version":2,"lastLoadBalancer":1,"loadBalancers":[{"id":"lb-00000001"}]}`, `loadBalancers[0]: state: "" is not a state of load balancers`},
		"LoadBalancerElsewhere":    {`{"version":2,"lastLoadBalancer":1,"loadBalancers":[{"id":"lb-00000001","state":"active","address":"127.0.0.1"}]}`, `loadBalancers[0]: address: "127.0.0.1" is not an address for load balancers`},
		"BadLoadBalancer":          {`{"version":2,"lastLoadBalancer":1,"loadBalancers":[{"id":"lb-00000001","state":"active","address":"127.64.0.1","name":"a"}]}`, "loadBalancers[0]: listeners: must not be empty"},
		"LoadBalancerWithTraffic":  {`{"version":2,"lastLoadBalancer":1,"loadBalancers":[{"id":"lb-00000001","state":"active","address":"127.64.0.1","traffic":{}}]}`, "loadBalancers[0]: traffic: must be empty, because it is not saved"},
		"LoadBalancerWithoutIP":    {`{"version":2,"lastLoadBalancer":1,"loadBalancers":[{"staticIP":"ip-00000001",` + goodBalancer + `}]}`, "loadBalancers[0]: staticIP: ip-00000001 does not exist"},
		"NullRoute":                {`{"version":3,"routes":[null]}`, "routes[0]: is null"},
		"BadRouteID":               {`{"version":3,"routes":[{"id":"rt-1"}]}`, `routes[0]: id: "rt-1" is not a valid route ID`},
		"RouteIDAboveLast":         {`{"version":3,"routes":[{` + goodRoute + `}]}`, "routes[0]: id: rt-00000001 is above lastRoute, 0"},
		"RouteTwice":               {`{"version":3,"lastRoute":1,"routes":[{` + goodRoute + `},{` + goodRoute + `}]}`, "routes[1]: id: rt-00000001 is there twice"},
		"BadRouteState":            {`{"version":3,"lastRoute":1,"routes":[{"id":"rt-00000001","state":"gone"}]}`, `routes[0]: state: "gone" is not a state of routes`},
		"RouteOfNoTime":            {`{"version":3,"lastRoute":1,"routes":[{"id":"rt-00000001","state":"active"}]}`, "routes[0]: created: is missing"},
		"BadRoute":                 {`{"version":3,"lastRoute":1,"routes":[{"id":"rt-00000001","state":"active","created":"2026-01-01T00:00:00Z","name":"a"}]}`, `routes[0]: destination: "" is neither a range such as 10.244.1.0/24 nor the name of a list of ranges such as pl-00000001`},
		"TwoRoutesOfOneName":       {`{"version":3,"lastRoute":2,"routes":[{` + goodRoute + `},{` + strings.Replace(goodRoute, "01", "02", 1) + `}]}`, "routes[1]: the cloud answered 409 AlreadyExists: the name a belongs to route rt-00000001"},
		"NullVolume":               {`{"version":4,"volumes":[null]}`, "volumes[0]: is null"},
		"BadVolumeID":              {`{"version":4,"volumes":[{"id":"v"}]}`, `volumes[0]: id: "v" is not a valid volume ID`},
		"VolumeIDAboveLast":        {`{"version":4,"volumes":[{"id":"vol-00000001"}]}`, "volumes[0]: id: vol-00000001 is above lastVolume, 0"},
		"VolumeOfNoTime":           {`{"version":4,"lastVolume":1,"volumes":[{"id":"vol-00000001"}]}`, "volumes[0]: created: is missing"},
		"VolumeWithoutZones":       {`{"version":4,"lastVolume":1,"volumes":[{"id":"vol-00000001","name":"a","region":"r","created":"2026-01-01T00:00:00Z"}]}`, "volumes[0]: zones: must not be empty"},
		"NullStaticIP":             {`{"version":2,"staticIPs":[null]}`, "staticIPs[0]: is null"},
		"BadStaticIPID":            {`{"version":2,"staticIPs":[{"id":"x"}]}`, `staticIPs[0]: id: "x" is not a valid static IP ID`},
		"StaticIPWithoutAddress":   {`{"version":2,"lastStaticIP":1,"staticIPs":[{"id":"ip-00000001"}]}`, "staticIPs[0]: address: is required, and loadBalancer must be empty"},
		"BadStaticIP":              {`{"version":2,"lastStaticIP":1,"staticIPs":[{"id":"ip-00000001","address":"127.64.0.1"}]}`, "staticIPs[0]: name: must not be empty"},
		"StaticIPOfAnotherAddress": {`{"version":2,"lastStaticIP":1,"staticIPs":[{"id":"ip-00000001","name":"a","address":"10.0.0.1"}]}`, `staticIPs[0]: address: "10.0.0.1" is not one of the addresses for load balancers, 127.64.0.0/10`},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "cloud.json")
			if err := os.WriteFile(file, []byte(row.content), 0o600); err != nil {
				t.Fatal(err)
			}
			want := "state file " + file + ": " + row.want + "; mend it, or move it away to start with an empty cloud"
			_, err := New(Config{StateFile: file})
			if err == nil || err.Error() != want {
				t.Errorf("got  %v\nwant %s", err, want)
			}
			left, err := os.ReadFile(file)
			diff(t, "error", nil, err)
			diff(t, "the file", row.content, string(left))
		})
	}
	t.Run("Unreadable", func(t *testing.T) {
		if _, err := New(Config{StateFile: t.TempDir()}); err == nil {
			t.Error("a folder was taken for a state file")
		}
	})
}
