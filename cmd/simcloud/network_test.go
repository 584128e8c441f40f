package main

import (
	"testing"
	"time"

	testingclock "k8s.io/utils/clock/testing"

	"github.com/fairlead-k8s/fairlead/simulator"
)

func TestRouteConversation(t *testing.T) {
	when := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	local := when.Local().Format(time.DateTime)
	newTerminalOf(t, simulator.Config{Clock: testingclock.NewFakeClock(when)}).converse(t, []struct{ command, want string }{
		{"route list", "No routes. `simcloud route create NAME DESTINATION --target INSTANCE` creates one.\n"},
		{"route list -o json", "{\n  \"items\": []\n}\n"},
		{"create node-1", "Instance i-00000001 (node-1) created, and is running: small, InternalIP=127.0.1.1, no labels\n"},
		{"route create lead 10.244.1.9/24 --target node-1 --tag owner=me --tag empty= --address InternalIP=10.0.0.1 --address Hostname=node-1", "Route rt-00000001 (lead) created, and is active: 10.244.1.0/24 to i-00000001\n"},
		{"route create gateway 0.0.0.0/0", "Route rt-00000002 (gateway) created, and is active: 0.0.0.0/0 to no instance\n"},
		{"route create drop 10.244.8.0/24 --blackhole", "Route rt-00000003 (drop) created, and is blackhole: 10.244.8.0/24 to no instance\n"},
		{"route create tag pl-00000001 --target i-00000001", "Route rt-00000004 (tag) created, and is active: pl-00000001 to i-00000001\n"},
		{"route create lead 10.244.1.0/24", "simcloud: the cloud answered 409 AlreadyExists: the name lead belongs to route rt-00000001\n"},
		{"route create bad 10.244.1.0/33", "simcloud: the cloud answered 400 Invalid: destination: \"10.244.1.0/33\" is neither a range such as 10.244.1.0/24 nor the name of a list of ranges such as pl-00000001\n"},
		{"route create bad 10.0.0.0/8 --target node-1 --blackhole", "simcloud: the cloud answered 400 Invalid: state: must be empty; only a route without a target can be made as a blackhole\n"},
		{"route create bad 10.0.0.0/8 --target node-9", "simcloud: no instance has the ID or the name \"node-9\"; `simcloud list` shows all\n"},
		{"route create bad 10.0.0.0/8 --tag x", "simcloud: tag \"x\": want KEY=VALUE, such as owner=me\n"},
		{"route create bad 10.0.0.0/8 --address x", "simcloud: address \"x\": want TYPE=ADDRESS, such as InternalIP=127.0.9.1\n"},
		{"route create bad", "simcloud: want `simcloud route create NAME DESTINATION [flags]`, got 1 arguments; --help says more\n"},
		{"stop node-1", "Instance i-00000001 (node-1) is now stopped: small, InternalIP=127.0.1.1, no labels\n"},
		{"route list", `
ID           NAME     DESTINATION    TARGET      STATE      TAGS
rt-00000001  lead     10.244.1.0/24  i-00000001  blackhole  empty=,owner=me
rt-00000002  gateway  0.0.0.0/0      -           active
rt-00000003  drop     10.244.8.0/24  -           blackhole
rt-00000004  tag      pl-00000001    i-00000001  blackhole
`},
		{"route show lead", `
ID:           rt-00000001
Name:         lead
Destination:  10.244.1.0/24
Target:       i-00000001
State:        blackhole
Created:      ` + local + `
Addresses:    InternalIP=10.0.0.1
              Hostname=node-1
Tags:         empty=
              owner=me
`},
		{"route get rt-00000002", `
ID:           rt-00000002
Name:         gateway
Destination:  0.0.0.0/0
Target:       none
State:        active
Created:      ` + local + `
`},
		{"route show drop -o json", `
{
  "id": "rt-00000003",
  "name": "drop",
  "destination": "10.244.8.0/24",
  "state": "blackhole",
  "created": "2026-11-21T12:00:00Z"
}
`},
		{"route show x", "simcloud: no route has the ID or the name \"x\"; `simcloud route list` shows all\n"},
		{"route delete lead", "Route rt-00000001 (lead) is deleted.\n"},
		{"route delete rt-00000003 -o json", `
{
  "id": "rt-00000003",
  "name": "drop",
  "destination": "10.244.8.0/24",
  "state": "blackhole",
  "created": "2026-11-21T12:00:00Z"
}
`},
		{"route delete lead", "simcloud: no route has the ID or the name \"lead\"; `simcloud route list` shows all\n"},
		{"route list --as customer -o json", `
{
  "items": [
    {
      "id": "rt-00000002",
      "name": "gateway",
      "destination": "0.0.0.0/0",
      "state": "active",
      "created": "2026-11-21T12:00:00Z"
    },
    {
      "id": "rt-00000004",
      "name": "tag",
      "destination": "pl-00000001",
      "target": "i-00000001",
      "state": "blackhole",
      "created": "2026-11-21T12:00:00Z"
    }
  ]
}
`},
	})
}

func TestVolumeConversation(t *testing.T) {
	newTerminal(t).converse(t, []struct{ command, want string }{
		{"volume list", "No volumes. `simcloud volume create NAME` creates one.\n"},
		{"volume create data", "Volume vol-00000001 (data) is created: sim-1a\n"},
		{"volume create wide --zone sim-1b --zone sim-1a --region north", "Volume vol-00000002 (wide) is created: sim-1a,sim-1b\n"},
		{"volume create data", "simcloud: the cloud answered 409 AlreadyExists: the name data belongs to volume vol-00000001\n"},
		{"volume create bad --zone a__b", "simcloud: the cloud answered 400 Invalid: zones[0]: \"a__b\" must not contain two underscores, which separate the zones of a volume in labels\n"},
		{"volume list", `
ID            NAME  ZONES          REGION
vol-00000001  data  sim-1a         sim-1
vol-00000002  wide  sim-1a,sim-1b  north
`},
		{"volume list -o json", `
{
  "items": [
    {
      "id": "vol-00000001",
      "name": "data",
      "zones": [
        "sim-1a"
      ],
      "region": "sim-1"
    },
    {
      "id": "vol-00000002",
      "name": "wide",
      "zones": [
        "sim-1a",
        "sim-1b"
      ],
      "region": "north"
    }
  ]
}
`},
		{"volume delete nothing", "simcloud: no volume has the ID or the name \"nothing\"; `simcloud volume list` shows all\n"},
		{"volume delete data", "Volume vol-00000001 (data) is deleted.\n"},
		{"volume delete vol-00000002 -o json", `
{
  "id": "vol-00000002",
  "name": "wide",
  "zones": [
    "sim-1a",
    "sim-1b"
  ],
  "region": "north"
}
`},
		{"volume list -o json", "{\n  \"items\": []\n}\n"},
	})
}
