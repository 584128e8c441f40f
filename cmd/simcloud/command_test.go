package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-k8s/fairlead/simulator"
)

// terminal runs commands against one cloud.
type terminal struct{ url string }

func newTerminal(t *testing.T) terminal { return newTerminalOf(t, simulator.Config{}) }

func newTerminalOf(t *testing.T, config simulator.Config) terminal {
	t.Helper()
	cloud, err := simulator.New(config)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(cloud)
	t.Cleanup(server.Close)
	t.Setenv(serverVariable, server.URL)
	return terminal{url: server.URL}
}

// run returns the output of the command, or its error as main prints it.
func run(t *testing.T, line ...string) string {
	t.Helper()
	var out bytes.Buffer
	command := newCommand()
	command.SetArgs(line)
	command.SetOut(&out)
	command.SetErr(io.Discard)
	if err := command.ExecuteContext(t.Context()); err != nil {
		return out.String() + shown(err) + "\n"
	}
	return out.String()
}

// TestVersion asks for the version with the flag and with the command.
func TestVersion(t *testing.T) {
	want := "simcloud " + newCommand().Version + "\n"
	for _, way := range []string{"--version", "version"} {
		if got := run(t, way); got != want || len(got) < len("simcloud v\n") {
			t.Errorf("simcloud %s: %q, want %q", way, got, want)
		}
	}
}

// TestConversation runs a series of commands against one cloud, and compares the
// output of each, line by line.
func TestConversation(t *testing.T) {
	newTerminal(t).converse(t, conversation())
}

// converse runs the commands in order, and compares their output.
func (term terminal) converse(t *testing.T, steps []struct{ command, want string }) {
	t.Helper()
	for _, step := range steps {
		got := run(t, strings.Fields(step.command)...)
		got = strings.ReplaceAll(got, term.url, "http://cloud")
		if d := cmp.Diff(strings.TrimPrefix(step.want, "\n"), got); d != "" {
			t.Errorf("simcloud %s (-want +got):\n%s", step.command, d)
		}
	}
}

func conversation() []struct{ command, want string } {
	return []struct{ command, want string }{
		{"list", "No instances. `simcloud create NAME` creates one.\n"},
		{"list -o json", "{\n  \"items\": []\n}\n"},
		{"create node-1", "Instance i-00000001 (node-1) created, and is running: small, InternalIP=127.0.1.1, no labels\n"},
		{"create node-2 --zone sim-1b --type large --label rack=r1 --label disk= --address InternalIP=127.0.9.1 --address ExternalIP=2001:DB8::1", "Instance i-00000002 (node-2) created, and is running: large, InternalIP=127.0.9.1,ExternalIP=2001:db8::1, disk=,rack=r1\n"},
		{"list", `
ID          NAME    STATE    TYPE   ZONE    ADDRESSES                                    LABELS
i-00000001  node-1  running  small  sim-1a  InternalIP=127.0.1.1
i-00000002  node-2  running  large  sim-1b  InternalIP=127.0.9.1,ExternalIP=2001:db8::1  disk=,rack=r1
`},
		{"show node-2", `
ID:         i-00000002
Name:       node-2
State:      running
Type:       large
Zone:       sim-1b
Region:     sim-1
Addresses:  InternalIP=127.0.9.1
            ExternalIP=2001:db8::1
Labels:     disk=
            rack=r1
`},
		{"show i-00000001 -o json", instanceJSON("small")},
		{"show node-9", "simcloud: no instance has the ID or the name \"node-9\"; `simcloud list` shows all\n"},
		{"show", "simcloud: want `simcloud show ID|NAME [flags]`, got 0 arguments; --help says more\n"},
		{"resize node-1 huge", "Instance i-00000001 (node-1) is now running: huge, InternalIP=127.0.1.1, no labels\n"},
		{"relabel node-2 rack=r2 disk-", "Instance i-00000002 (node-2) is now running: large, InternalIP=127.0.9.1,ExternalIP=2001:db8::1, rack=r2\n"},
		{"relabel node-2 rack", "simcloud: label \"rack\": want KEY=VALUE to set it or KEY- to remove it\n"},
		{"readdress node-2 Hostname=n2 InternalIP=127.0.9.2", "Instance i-00000002 (node-2) is now running: large, Hostname=n2,InternalIP=127.0.9.2, rack=r2\n"},
		{"readdress node-2 127.0.9.2", "simcloud: address \"127.0.9.2\": want TYPE=ADDRESS, such as InternalIP=127.0.9.1\n"},
		{"readdress node-2 InternalIP=127.0.1.1", "simcloud: the cloud answered 400 Invalid: addresses[0].address: 127.0.1.1 belongs to instance i-00000001 (node-1)\n"},
		{"readdress node-2", "Instance i-00000002 (node-2) is now running: large, no addresses, rack=r2\n"},
		{"rename node-2 node-1", "Instance i-00000002 (node-1) is now running: large, no addresses, rack=r2\n"},
		{"stop node-1", "simcloud: 2 instances are named node-1; give one of their IDs: i-00000001, i-00000002\n"},
		{"stop i-00000002", "Instance i-00000002 (node-1) is now stopped: large, no addresses, rack=r2\n"},
		{"start i-00000002", "Instance i-00000002 (node-1) is now running: large, no addresses, rack=r2\n"},
		{"terminate i-00000002", "Instance i-00000002 (node-1) is terminated.\n"},
		{"create node-3 --label rack", "simcloud: label \"rack\": want KEY=VALUE, such as rack=r1\n"},
		{"create node-3 --address 1.2.3.4", "simcloud: address \"1.2.3.4\": want TYPE=ADDRESS, such as InternalIP=127.0.9.1\n"},

		{"fault list", "No faults. `simcloud fault set KIND` sets one.\n"},
		{"fault set latency --name slow --calls GetInstance --latency 1ms --jitter 1ms", "Fault slow is set. `simcloud fault clear slow` clears it.\n"},
		{"fault set outage --name down --calls GetInstance,ListInstances --count 2 --probability 1", "Fault down is set. `simcloud fault clear down` clears it.\n"},
		{"fault list", `
NAME  KIND     CALLS                      MATCH  HITS    DETAILS
down  outage   GetInstance,ListInstances  all    0 of 2  probability=1
slow  latency  GetInstance                all    0       latency=1ms jitter=1ms
`},
		{"fault list -o json", `
{
  "items": [
    {
      "name": "down",
      "kind": "outage",
      "calls": [
        "GetInstance",
        "ListInstances"
      ],
      "count": 2,
      "probability": 1
    },
    {
      "name": "slow",
      "kind": "latency",
      "calls": [
        "GetInstance"
      ],
      "latency": "1ms",
      "jitter": "1ms"
    }
  ]
}
`},
		{"show node-1 --as customer", "simcloud: the cloud answered 503 Unavailable: the service is unavailable (fault \"down\")\n"},
		{"fault clear down", "Fault down is cleared.\n"},
		{"fault clear down", "simcloud: no fault is named down; `simcloud fault list` shows all\n"},
		{"fault clear", "All faults are cleared.\n"},
		{"fault set flood", "simcloud: the cloud answered 400 Invalid: kind: \"flood\" is not one of latency, hang, reset, throttle, outage, denied, error, notFound, stale, invisible, emptyList, truncatedList, doubledList, lostReply\n"},
		{"fault set error --latency 1s", "simcloud: the cloud answered 400 Invalid: latency: belongs to kind latency, not to error\n"},

		{"show i-00000001 --as customer -o json", instanceJSON("huge")},
		{"calls --last 0", `
CALL           RESULT       COUNT
ListInstances  OK           1
ListInstances  Unavailable  1
`},
		{"calls --reset --last 0 -o table", `
CALL           RESULT       COUNT
ListInstances  OK           1
ListInstances  Unavailable  1
`},
		{"calls", "No calls. What this tool does is counted only with --as customer.\n"},
		{"calls -o json", "{\n  \"counters\": [],\n  \"last\": []\n}\n"},

		{"fault flood", "simcloud: unknown command \"flood\" for \"simcloud fault\"\n"},
		{"fault sett", "simcloud: unknown command \"sett\" for \"simcloud fault\"; did you mean set?\n"},
		{"lb creat", "simcloud: unknown command \"creat\" for \"simcloud lb\"; did you mean create?\n"},
		{"lb list --outpt json", "simcloud: unknown flag: --outpt; did you mean --output?; simcloud lb list --help says more\n"},
		{"flood", "simcloud: unknown command \"flood\" for \"simcloud\"\n"},
		{"serv", "simcloud: unknown command \"serv\" for \"simcloud\"; did you mean serve?\n"},
		{"help flood", "simcloud: unknown command \"flood\" for \"simcloud\"\n"},
		{"help fault sett", "simcloud: unknown command \"sett\" for \"simcloud fault\"; did you mean set?\n"},
		{"completion csh", "simcloud: simcloud completion: \"csh\" is none of bash, fish, powershell, zsh\n"},
		{"version x", "simcloud: unknown command \"x\" for \"simcloud version\"\n"},
		{"create a b", "simcloud: want `simcloud create NAME [flags]`, got 2 arguments; --help says more\n"},
		{"create a,b", "simcloud: the cloud answered 400 Invalid: name: \"a,b\" must not contain commas, spaces or control characters\n"},
		{"create x --address InternalIP=foo", "simcloud: the cloud answered 400 Invalid: addresses[0].address: \"foo\" cannot be an IP address of type InternalIP\n"},
		{"create x --label =y", "simcloud: the cloud answered 400 Invalid: labels: a key is empty\n"},
		{"fault set latency", "simcloud: the cloud answered 400 Invalid: latency: must be positive, such as 30ms\n"},
		{"fault set error --probability 2", "simcloud: the cloud answered 400 Invalid: probability: must be between 0 and 1\n"},
		{"fault set error --calls Foo", "simcloud: the cloud answered 400 Invalid: calls: \"Foo\" is not one of " + strings.Join(words(simulator.CallNames()), ", ") + "\n"},
		{"fault set latency --latency x", "simcloud: invalid argument \"x\" for \"--latency\" flag: time: invalid duration \"x\"\n"},
		{"calls x", "simcloud: want `simcloud calls [flags]`, got 1 arguments; --help says more\n"},
		{"calls --last -1", "simcloud: --last must not be negative, but got -1\n"},
		{"lb create x --listen 80:99999", "simcloud: the cloud answered 400 Invalid: listeners[0].backendPort: 99999 is not a port\n"},
		{"list --output", "simcloud: flag needs an argument: --output\n"},
		// None of these commands has changed anything.
		{"list", `
ID          NAME    STATE    TYPE  ZONE    ADDRESSES             LABELS
i-00000001  node-1  running  huge  sim-1a  InternalIP=127.0.1.1
`},
		{"fault list", "No faults. `simcloud fault set KIND` sets one.\n"},
		{"list -o yaml", "simcloud: --output: \"yaml\" is neither table nor json\n"},
		{"list --as root", "simcloud: --as: \"root\" is neither operator nor customer\n"},
		{"list --server http://", "simcloud: --server: \"http://\" is not a URL such as http://127.0.0.1:7640\n"},
		{"list --server 127.0.0.1:1", "simcloud: no simulated cloud at http://127.0.0.1:1: start one with `simcloud serve`, or name one with --server or SIMCLOUD_SERVER\n"},
	}
}

// instanceJSON returns the instance node-1 of the conversation as JSON.
func instanceJSON(kind string) string {
	return fmt.Sprintf(`
{
  "id": "i-00000001",
  "name": "node-1",
  "zone": "sim-1a",
  "region": "sim-1",
  "type": %q,
  "state": "running",
  "addresses": [
    {
      "type": "InternalIP",
      "address": "127.0.1.1"
    }
  ]
}
`, kind)
}

func TestLastCallsAreShown(t *testing.T) {
	newTerminal(t)
	run(t, "list", "--as", "customer")
	run(t, "volume", "create", "data", "--as", "customer")
	lines := strings.Split(strings.TrimSpace(run(t, "calls", "--last", "2")), "\n")
	var got [][]string
	for _, line := range lines[len(lines)-3:] {
		words := strings.Fields(line)
		got = append(got, words[1:len(words)-1]) // without time and duration
	}
	want := [][]string{
		{"CALL", "RESOURCE", "STATUS", "RESULT"},
		{"ListInstances", "-", "200", "OK"},
		{"CreateVolume", "data", "201", "OK"},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
}

func TestCompletion(t *testing.T) {
	newTerminal(t)
	run(t, "create", "node-1")
	run(t, "fault", "set", "reset", "--name", "cut")
	run(t, "ip", "reserve", "kept")
	run(t, "lb", "create", "web", "--listen", "80:30080")
	run(t, "route", "create", "lead", "10.244.1.0/24")
	for line, want := range map[string]string{
		"show|":                           "node-1\ti-00000001 running",
		"readdress|":                      "node-1\ti-00000001 running",
		"readdress|node-1|":               "InternalIP=",
		"fault|clear|":                    "cut\treset",
		"fault|set|":                      "latency",
		"fault|set|error|--calls|":        "ListInstances",
		"fault|set|error|--match|":        "node-1\ti-00000001 running",
		"create|node-2|--address|":        "InternalIP=",
		"lb|delete|":                      "web\tlb-00000001 active",
		"lb|backends|web|":                "node-1\ti-00000001 running",
		"lb|create|x|--static-ip|":        "kept\tip-00000001 127.64.1.1",
		"route|show|":                     "lead\trt-00000001 10.244.1.0/24",
		"list|--output|":                  "table",
		"show|node-1|":                    ":4",
		"show|--server|http://x.invalid|": ":4", // no cloud, no suggestions
	} {
		got, _, _ := strings.Cut(run(t, append([]string{"__complete"}, strings.Split(line, "|")...)...), "\n")
		if got != want {
			t.Errorf("%s: got %q first, want %q", line, got, want)
		}
	}
}

func TestServe(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	reader, writer := io.Pipe()
	command := newCommand()
	command.SetArgs([]string{
		"serve", "--listen", "127.0.0.1:0", "--state-file", t.TempDir() + "/cloud.json", "--seed", "1",
		"--quota", "1000", "--latency", "1ms", "--jitter", "1ms", "--stale-reads", "1ns", "--page-size", "5",
	})
	command.SetOut(writer)
	var hint bytes.Buffer
	command.SetErr(&hint)
	ended := make(chan error, 1)
	go func() {
		ended <- errors.Join(command.ExecuteContext(ctx), writer.Close())
	}()
	line := make([]byte, 100)
	n, err := reader.Read(line)
	if err != nil {
		t.Fatal(err)
	}
	url, ok := strings.CutPrefix(strings.TrimSuffix(string(line[:n]), "\n"), "simcloud: listening on ")
	if !ok {
		t.Fatalf("printed %q", line[:n])
	}
	if _, err := simulator.NewClient(url).CreateInstance(t.Context(), simulator.Instance{Name: "node-1"}); err != nil {
		t.Error(err)
	}
	if got := run(t, "serve", "--listen", strings.TrimPrefix(url, "http://")); !strings.Contains(got, "something listens at") {
		t.Errorf("a second cloud at the same port: %s", got)
	}
	stop()
	rest, err := io.ReadAll(reader)
	if len(rest) > 0 || err != nil {
		t.Errorf("more than one line was printed: %q, %v", rest, err)
	}
	if err := <-ended; err != nil {
		t.Errorf("ended with %v", err)
	}
	if want := "simcloud: a browser at " + url + " shows this cloud live\n"; hint.String() != want {
		t.Errorf("hint %q, want %q", hint.String(), want)
	}
}

func TestServeRefuses(t *testing.T) {
	for line, want := range map[string]string{
		"--listen 0.0.0.0:0":                       `--listen: "0.0.0.0" is not a loopback address; --allow-remote lets other machines in, without any authentication`,
		"--listen :0":                              `--listen: "" is not a loopback address; --allow-remote lets other machines in, without any authentication`,
		"--listen example.com:0":                   `--listen: "example.com" is not a loopback address; --allow-remote lets other machines in, without any authentication`,
		"--listen 7640":                            "--listen: address 7640: missing port in address; give an address and a port, such as 127.0.0.1:7640",
		"--listen 127.0.0.1:x":                     "--listen: listen tcp: lookup tcp/x: unknown port",
		"--quota -1":                               "--quota: rate: must be positive: calls a second",
		"--quota-burst 5":                          "--quota: rate: must be positive: calls a second",
		"--latency -1s":                            "--latency and --jitter must not be negative, but got -1s and 0s",
		"--jitter -1s":                             "--latency and --jitter must not be negative, but got 0s and -1s",
		"--state-file .":                           `--state-file: "." is a folder; choose a file in it`,
		"--stale-reads -1s":                        "--stale-reads: age: must not be negative",
		"--quota abc":                              `--quota: "abc" is not a number, not a profile (azure, digitalocean, ec2, hcloud, linode), and there is no such file`,
		"--quota nan":                              "--quota: rate: must be positive: calls a second",
		"--quota ec2 --quota-burst 5":              "--quota-burst needs a number for --quota, not ec2, which has its own",
		"--quota .":                                "--quota: read .: is a directory",
		"--quota main.go":                          "--quota: main.go: yaml: line 33: mapping values are not allowed in this context",
		"--latency abc":                            `invalid argument "abc" for "--latency" flag: time: invalid duration "abc"`,
		"--seed x":                                 `invalid argument "x" for "--seed" flag: strconv.ParseUint: parsing "x": invalid syntax`,
		"--listen 127.0.0.1:99999":                 "--listen: listen tcp: address 99999: invalid port",
		"--state-file main.go/x":                   `--state-file: there is no folder "main.go"; create it, or choose another file`,
		"--state-file main.go":                     `state file main.go: body: invalid character '/' looking for beginning of value; mend it, or move it away to start with an empty cloud`,
		"--page-size -1":                           "--page-size must be at least 1, but got -1",
		"--page-size 0":                            "--page-size must be at least 1, but got 0",
		"--state-file no/x.json":                   `--state-file: there is no folder "no"; create it, or choose another file`,
		"--allow-host cloud:80":                    `allowed host "cloud:80" must be a name in lower case without a port`,
		"--cluster-view x":                         `--cluster-view: "x" is not an HTTP URL with a loopback address and a port, such as http://127.0.0.1:7641/`,
		"--cluster-view http://192.0.2.1:80/":      `--cluster-view: "http://192.0.2.1:80/" is not an HTTP URL with a loopback address and a port, such as http://127.0.0.1:7641/`,
		"--cluster-view http://localhost.example/": `--cluster-view: "http://localhost.example/" is not an HTTP URL with a loopback address and a port, such as http://127.0.0.1:7641/`,
		"extra": `unknown command "extra" for "simcloud serve"`,
	} {
		t.Run(line, func(t *testing.T) {
			got := run(t, append([]string{"serve"}, strings.Fields(line)...)...)
			if d := cmp.Diff("simcloud: "+want+"\n", got); d != "" {
				t.Errorf("-want +got:\n%s", d)
			}
		})
	}
}

func TestAddress(t *testing.T) {
	for _, o := range []serveOptions{{listen: "127.0.0.1:0"}, {listen: "127.3.4.5:1"}, {listen: "[::1]:0"}, {listen: "localhost:0"}, {listen: "0.0.0.0:0", allowRemote: true}} {
		if _, err := o.address(); err != nil {
			t.Errorf("%s: %v", o.listen, err)
		}
	}
}
