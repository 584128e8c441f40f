package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-k8s/fairlead/simulator"
)

func TestLoadBalancerConversation(t *testing.T) {
	newTerminal(t).converse(t, loadBalancerConversation())
}

func loadBalancerConversation() []struct{ command, want string } {
	return []struct{ command, want string }{
		{"create node-1", "Instance i-00000001 (node-1) created, and is running: small, InternalIP=127.0.1.1, no labels\n"},
		{"create node-2", "Instance i-00000002 (node-2) created, and is running: small, InternalIP=127.0.1.2, no labels\n"},
		{"lb list", "No load balancers. `simcloud lb create NAME` creates one.\n"},
		{"lb list -o json", "{\n  \"items\": []\n}\n"},
		{"ip list", "No static IPs. `simcloud ip reserve NAME` reserves one.\n"},
		{"ip list -o json", "{\n  \"items\": []\n}\n"},
		{"ip reserve kept", "Static IP ip-00000001 (kept) is reserved: 127.64.1.1\n"},
		{"ip reserve other --address 127.100.0.1", "Static IP ip-00000002 (other) is reserved: 127.100.0.1\n"},
		{"ip reserve kept", "simcloud: the cloud answered 409 AlreadyExists: the name kept belongs to static IP ip-00000001\n"},
		{"lb create web --listen 80:30080 --backend node-2 --backend node-1", "Load balancer lb-00000001 (web) created, and is active: 127.64.1.3, TCP/80->30080, backends i-00000001,i-00000002\n"},
		{
			"lb create dns --listen udp:53:30053 --listen TCP:53:30054 --check 31999/healthz --affinity 3h --drain 30s --source-range 10.0.0.0/8 --tag owner=me --tag empty= --static-ip kept",
			"Load balancer lb-00000002 (dns) created, and is active: 127.64.1.1, UDP/53->30053,TCP/53->30054, backends none\n",
		},
		{"lb list", `
ID           NAME  STATE   ADDRESS     LISTENERS                    BACKENDS  TAGS
lb-00000001  web   active  127.64.1.3  TCP/80->30080                2
lb-00000002  dns   active  127.64.1.1  UDP/53->30053,TCP/53->30054  0         empty=,owner=me
`},
		{"lb show web", `
ID:             lb-00000001
Name:           web
State:          active
Address:        127.64.1.3
Static IP:      none
Listeners:      TCP 80 -> 30080
Backends:       i-00000001
                i-00000002
Source ranges:  0.0.0.0/0
Affinity:       none
Health check:   TCP, each backend port
Drain:          the cloud's own
`},
		{"lb show lb-00000002", `
ID:             lb-00000002
Name:           dns
State:          active
Address:        127.64.1.1
Static IP:      ip-00000001
Listeners:      UDP 53 -> 30053
                TCP 53 -> 30054
Backends:       none
Source ranges:  10.0.0.0/8
Affinity:       3h0m0s
Health check:   HTTP 31999/healthz
Drain:          30s
Tags:           empty=
                owner=me
`},
		{"ip list", `
ID           NAME   ADDRESS      LOAD BALANCER
ip-00000001  kept   127.64.1.1   lb-00000002
ip-00000002  other  127.100.0.1  -
`},
		{"lb backends dns node-1", "Load balancer lb-00000002 (dns) is now active: 127.64.1.1, UDP/53->30053,TCP/53->30054, backends i-00000001\n"},
		{"lb backends dns", "Load balancer lb-00000002 (dns) is now active: 127.64.1.1, UDP/53->30053,TCP/53->30054, backends none\n"},
		{"lb backends dns node-9", "simcloud: no instance has the ID or the name \"node-9\"; `simcloud list` shows all\n"},
		{"lb create bad", "simcloud: --listen is missing: what the load balancer listens at, such as 80:30080\n"},
		{"lb create bad --listen 80", "simcloud: listener \"80\": want [TCP:|UDP:]PORT:BACKEND-PORT, such as 80:30080\n"},
		{"lb create bad --listen x:80", "simcloud: listener \"x:80\": want [TCP:|UDP:]PORT:BACKEND-PORT, such as 80:30080\n"},
		{"lb create bad --listen 80:x", "simcloud: listener \"80:x\": want [TCP:|UDP:]PORT:BACKEND-PORT, such as 80:30080\n"},
		{"lb create bad --listen SCTP:80:30080", "simcloud: the cloud answered 400 Invalid: listeners[0].protocol: \"SCTP\" is not one of TCP, UDP\n"},
		{"lb create bad --listen 80:30080 --check x", "simcloud: check \"x\": want PORT or PORT/PATH, such as 31999/healthz\n"},
		{"lb create bad --listen 80:30080 --tag x", "simcloud: tag \"x\": want KEY=VALUE, such as owner=me\n"},
		{"lb create bad --listen 80:30080 --static-ip x", "simcloud: no static IP has the ID or the name \"x\"; `simcloud ip list` shows all\n"},
		{"lb create web --listen 80:30080", "simcloud: the cloud answered 409 AlreadyExists: the name web belongs to load balancer lb-00000001\n"},
		{"lb show x", "simcloud: no load balancer has the ID or the name \"x\"; `simcloud lb list` shows all\n"},
		{"lb create bad --listen 80:30080 --drain -1s", "simcloud: the cloud answered 400 Invalid: drain: must not be negative\n"},
		{"lb create bad --drain soon", "simcloud: invalid argument \"soon\" for \"--drain\" flag: \"soon\" is not a duration such as 30ms or 1m\n"},
		{"lb show", "simcloud: want `simcloud lb show ID|NAME [flags]`, got 0 arguments; --help says more\n"},
		{"ip release kept", "simcloud: the cloud answered 409 Conflict: static IP ip-00000001 is used by load balancer lb-00000002 (dns)\n"},
		{"lb delete dns", "Load balancer lb-00000002 (dns) is deleted.\n"},
		{"ip release kept", "Static IP ip-00000001 (kept) is released.\n"},
		{"ip release ip-00000002 -o json", "{\n  \"id\": \"ip-00000002\",\n  \"name\": \"other\",\n  \"address\": \"127.100.0.1\"\n}\n"},
		{"lb delete web -o json", `
{
  "id": "lb-00000001",
  "name": "web",
  "state": "active",
  "address": "127.64.1.3",
  "listeners": [
    {
      "protocol": "TCP",
      "port": 80,
      "backendPort": 30080
    }
  ],
  "backends": [
    "i-00000001",
    "i-00000002"
  ],
  "sourceRanges": [
    "0.0.0.0/0"
  ]
}
`},
		{"lb delete web", "simcloud: no load balancer has the ID or the name \"web\"; `simcloud lb list` shows all\n"},
		{"lb list --as customer", "No load balancers. `simcloud lb create NAME` creates one.\n"},
		{"fault set error --name second --match web --skip 2 --count 1", "Fault second is set. `simcloud fault clear second` clears it.\n"},
		{"fault list", `
NAME    KIND   CALLS  MATCH  HITS    DETAILS
second  error  all    web    0 of 1  skip=2
`},
	}
}

// serving runs the command "serve" until the test ends, and returns the cloud's URL.
func serving(t *testing.T, flags ...string) string {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	reader, writer := io.Pipe()
	command := newCommand()
	command.SetArgs(append([]string{"serve", "--listen", "127.0.0.1:0"}, flags...))
	command.SetOut(writer)
	ended := make(chan error, 1)
	go func() { ended <- errors.Join(command.ExecuteContext(ctx), writer.Close()) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Errorf("serve ended with %v", err)
		}
	})
	line := make([]byte, 100)
	n, err := reader.Read(line)
	if err != nil {
		t.Fatal(err)
	}
	url := strings.TrimPrefix(strings.TrimSpace(string(line[:n])), "simcloud: listening on ")
	t.Setenv(serverVariable, url)
	return url
}

func TestTrafficIsShown(t *testing.T) {
	url := serving(t, "--check-interval", "5ms", "--check-timeout", "1m", "--drain", "1h")
	node := fmt.Sprintf("127.61.%d.%d", 1+rand.IntN(250), 1+rand.IntN(250)) // random, because other tests may run on this machine
	var config net.ListenConfig
	listener, err := config.Listen(t.Context(), "tcp4", node+":30080")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := listener.Close(); err != nil {
			t.Error(err)
		}
	})
	go keepAll(listener)
	run(t, "create", "node-1", "--address", "InternalIP="+node)
	run(t, "create", "node-2", "--address", "Hostname=none")
	run(t, "lb", "create", "web", "--listen", "8080:30080", "--backend", "node-1", "--backend", "node-2")
	address := ""
	eventually(t, func() (string, bool) {
		all, err := simulator.NewClient(url).LoadBalancers(t.Context())
		if err != nil || len(all) != 1 {
			t.Fatal(err)
		}
		address = all[0].Address
		got := run(t, "lb", "list")
		return got, strings.HasSuffix(got, "1 of 2 healthy\n")
	})
	var dialer net.Dialer
	conn, err := dialer.DialContext(t.Context(), "tcp4", address+":8080")
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := conn.Close(); err != nil {
			t.Error(err)
		}
	}()
	want := fmt.Sprintf(`
Listeners:      TCP 8080 -> 30080  at %s:8080                                            1 connections, 0 denied, 0 rejected
Backends:       i-00000001         healthy                                                  1 open, 1 connections, 0 failures, 0 bytes in, 0 out
                i-00000002         unhealthy: the instance has no InternalIP of IPv4        0 open, 0 connections, 0 failures, 0 bytes in, 0 out
`, address)
	eventually(t, func() (string, bool) {
		got := run(t, "lb", "show", "web")
		return got, strings.Contains(squeezed(got), squeezed(want))
	})
	run(t, "lb", "backends", "web")
	eventually(t, func() (string, bool) {
		got := run(t, "lb", "show", "web")
		return got, strings.Contains(squeezed(got), squeezed("Backends: i-00000001 draining 1 open,"))
	})
	run(t, "lb", "delete", "web")
}

// keepAll accepts all connections, and keeps each until the other side closes it. Without
// it, health checks would fill the queue of the listener.
func keepAll(listener net.Listener) {
	for {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		go func() {
			_, _ = io.Copy(io.Discard, conn) // any error is the end of the connection
			_ = conn.Close()
		}()
	}
}

// squeezed replaces each run of spaces and line breaks with one space. It removes
// the spaces and line breaks at both ends.
func squeezed(text string) string {
	return strings.TrimSpace(regexp.MustCompile(`[ \n]+`).ReplaceAllString(text, " "))
}

func eventually(t *testing.T, ask func() (got string, ok bool)) {
	t.Helper()
	deadline := time.Now().Add(5 * time.Minute)
	for {
		got, ok := ask()
		if ok {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("still:\n%s", got)
		}
		time.Sleep(time.Millisecond)
	}
}

func TestListenersThatAreElsewhere(t *testing.T) {
	l := simulator.LoadBalancer{
		Listeners: []simulator.Listener{{Protocol: simulator.TCP, Port: 80, BackendPort: 30080}, {Protocol: simulator.TCP, Port: 8080, BackendPort: 30080}, {Protocol: simulator.UDP, Port: 53, BackendPort: 30053}},
		Traffic: &simulator.Traffic{Listeners: []simulator.ListenerTraffic{
			{Protocol: simulator.TCP, Port: 80, Address: "127.64.1.1:20080"},
			{Protocol: simulator.TCP, Port: 8080, Address: "127.64.1.1:8080"},
			{Protocol: simulator.UDP, Port: 53, Problem: "address already in use"},
		}},
	}
	if got, want := listenerList(l), "TCP/80(at 20080)->30080,TCP/8080->30080,UDP/53(failed)->30053"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if d := cmp.Diff([]string{"UDP 53 -> 30053", "address already in use"}, listenerDetails(l, l.Listeners[2])); d != "" {
		t.Error(d)
	}
}

func TestServeLimits(t *testing.T) {
	url := serving(t, "--traffic=false", "--provisioning", "1h", "--max-load-balancers", "1", "--max-backends", "1", "--max-routes", "1", "--unique-routes")
	terminal{url}.converse(t, []struct{ command, want string }{
		{"create node-1", "Instance i-00000001 (node-1) created, and is running: small, InternalIP=127.0.1.1, no labels\n"},
		{"create node-2", "Instance i-00000002 (node-2) created, and is running: small, InternalIP=127.0.1.2, no labels\n"},
		{"lb create web --listen 80:30080 --backend node-1 --backend node-2", "simcloud: the cloud answered 409 QuotaExceeded: load balancer web would have 2 backends; the quota is 1 for each load balancer\n"},
		{"lb create web --listen 80:30080 --backend node-1", "Load balancer lb-00000001 (web) created, and is pending: no address yet, TCP/80->30080, backends i-00000001\n"},
		{"lb create other --listen 80:30080", "simcloud: the cloud answered 409 QuotaExceeded: the account has 1 load balancers, and its quota is 1\n"},
		{"lb list", "ID           NAME  STATE    ADDRESS  LISTENERS      BACKENDS  TAGS\nlb-00000001  web   pending  -        TCP/80->30080  1\n"},
		{"route create lead 10.244.1.0/24 --target node-1", "Route rt-00000001 (lead) created, and is active: 10.244.1.0/24 to i-00000001\n"},
		{"route create again 10.244.1.0/24", "simcloud: the cloud answered 409 Conflict: the destination 10.244.1.0/24 belongs to route rt-00000001 (lead)\n"},
		{"route create other 10.244.2.0/24", "simcloud: the cloud answered 409 QuotaExceeded: the route table has 1 routes, and its quota is 1\n"},
	})
	for line, want := range map[string]string{
		"--provisioning -1s":      "the delays of load balancers must not be negative",
		"--drain -1s":             "the delays of load balancers must not be negative",
		"--max-load-balancers -1": "a quota must not be negative; 0 means no limit",
		"--max-routes -1":         "a quota must not be negative; 0 means no limit",
		"--max-backends -1":       "a quota must not be negative; 0 means no limit",
		"--check-interval -1s":    "health checks: interval, timeout and thresholds must not be negative",
	} {
		if d := cmp.Diff("simcloud: "+want+"\n", run(t, append([]string{"serve"}, strings.Fields(line)...)...)); d != "" {
			t.Errorf("serve %s (-want +got):\n%s", line, d)
		}
	}
}
