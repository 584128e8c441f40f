package simulator

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fairlead-k8s/fairlead/simulator/wire"
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

func TestProvisioningGoesOnAfterARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		config := Config{StateFile: filepath.Join(t.TempDir(), "cloud.json"), Provisioning: time.Minute}
		created := mustBalance(t, startInBubble(t, config), webBalancer("web"))
		time.Sleep(30 * time.Second)
		again := startInBubble(t, config)
		for _, want := range []wire.LoadBalancerState{wire.LoadBalancerPending, LoadBalancerActive} {
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
		if code(err) != wire.CodeInternal || !strings.Contains(err.Error(), "state file") {
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
	diff(t, "error", wire.CodeInternal, code(err))
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
	if err := os.WriteFile(file+".123.tmp", []byte(`{"version":5,"insta`), 0o600); err != nil {
		t.Fatal(err)
	}
	diff(t, "instances", []string{"node-1"}, names(t, start(t, Config{StateFile: file})))
}

func TestBrokenStateFile(t *testing.T) {
	const good = `{"id":"i-00000001","name":"a","region":"r","state":"running","addresses":[]}`
	const goodBalancer = `"id":"lb-00000001","name":"a","state":"active","address":"127.64.0.1","listeners":[{"protocol":"TCP","port":1,"backendPort":1}],"backends":[],"sourceRanges":["0.0.0.0/0"]`
	const badEnd = " is not a valid ID of the kind instance, is above the last one, or is there twice"
	for name, row := range map[string]struct{ content, want string }{
		"Empty":        {"", "body: EOF"},
		"CutOff":       {`{"version":5,"instances":{"items":[{"id":`, "body: unexpected EOF"},
		"WrongType":    {`{"version": "5"}`, "version: must be a number, not string"},
		"UnknownField": {`{"version":5,"instance":[]}`, "instance: is not a field here"},
		"TwoValues":    {"{\"version\":5}\n{}", "body: more follows after the end of the JSON value"},
		"OtherVersion": {`{"version":4}`, "version is 4, and this simulator reads only version 5"},
		"NoVersion":    {`{}`, "version is 0, and this simulator reads only version 5"},
		"NullInstance": {`{"version":5,"instances":{"items":[null]}}`, "instance 1 of 1: item: is null"},
		"BadID":        {`{"version":5,"instances":{"last":1,"items":[` + strings.Replace(good, "i-0000000", "i-", 1) + `]}}`, "instance 1 of 1: id: \"i-1\"" + badEnd},
		"IDAboveLast":  {`{"version":5,"instances":{"items":[` + good + `]}}`, "instance 1 of 1: id: \"i-00000001\"" + badEnd},
		"IDTwice":      {`{"version":5,"instances":{"last":1,"items":[` + good + `,` + good + `]}}`, "instance 2 of 2: id: \"i-00000001\"" + badEnd},
		"BadInstance":  {`{"version":5,"instances":{"last":1,"items":[{"id":"i-00000001"}]}}`, "instance 1 of 1: name: must not be empty"},
		"BadRoute":     {`{"version":5,"routes":{"last":1,"items":[{"id":"rt-00000001","name":"a"}]}}`, `route 1 of 1: destination: "" is neither a range such as 10.244.1.0/24 nor the name of a list of ranges such as pl-00000001`},
		"BadVolume":    {`{"version":5,"volumes":{"last":1,"items":[{"id":"vol-00000001","name":"a","region":"r"}]}}`, "volume 1 of 1: zones: must not be empty"},

		"StaticIPWithoutAddress": {`{"version":5,"staticIPs":{"last":1,"items":[{"id":"ip-00000001","name":"a"}]}}`, "static IP 1 of 1: address: is missing"},
		"LoadBalancerElsewhere":  {`{"version":5,"loadBalancers":{"last":1,"items":[{"id":"lb-00000001","address":"127.0.0.1"}]}}`, `load balancer 1 of 1: address: "127.0.0.1" is not an address for load balancers`},
		"LoadBalancerWithoutIP":  {`{"version":5,"loadBalancers":{"last":1,"items":[{"staticIP":"ip-00000001",` + goodBalancer + `}]}}`, "load balancer 1 of 1: staticIP: ip-00000001 does not exist"},
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
