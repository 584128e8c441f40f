package main

import "testing"

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
