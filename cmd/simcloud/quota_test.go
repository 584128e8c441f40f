package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-k8s/fairlead/simulator"
)

func TestQuota(t *testing.T) {
	file := filepath.Join(t.TempDir(), "quota.yaml")
	if err := os.WriteFile(file, []byte("buckets:\n- {name: lists, calls: [ListInstances], rate: 1}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	bucket := func(name string, rate float64, burst int) simulator.Fault {
		return simulator.Fault{Name: name, Kind: simulator.FaultThrottle, Rate: rate, Burst: burst}
	}
	lists := bucket("--quota:lists", 1, 0)
	lists.Calls = []simulator.Call{simulator.ListInstances}
	empty := bucket("--quota:all", 1, 3600)
	empty.Tokens = new(int)
	for name, row := range map[string]struct {
		options quotaOptions
		want    []simulator.Fault
	}{
		"None":         {quotaOptions{}, nil},
		"Zero":         {quotaOptions{quota: "0"}, nil},
		"ANumber":      {quotaOptions{quota: "2.5"}, []simulator.Fault{bucket("--quota", 2.5, 5)}},
		"WithABurst":   {quotaOptions{quota: "2", burst: 7}, []simulator.Fault{bucket("--quota", 2, 7)}},
		"AProfile":     {quotaOptions{quota: "hcloud"}, []simulator.Fault{bucket("--quota:all", 1, 3600)}},
		"EmptyAtFirst": {quotaOptions{quota: "hcloud", empty: true}, []simulator.Fault{empty}},
		"AFile":        {quotaOptions{quota: file}, []simulator.Fault{lists}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := row.options.buckets()
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(row.want, got); d != "" {
				t.Errorf("-want +got:\n%s", d)
			}
		})
	}
}

// The flag's file is named in an error about its content.
func TestQuotaFileWithAMistake(t *testing.T) {
	file := filepath.Join(t.TempDir(), "quota.yaml")
	if err := os.WriteFile(file, []byte("buckets:\n- {name: lists, calls: [all], rate: 0}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := quotaOptions{quota: file}.buckets()
	want := "--quota: " + file + ": buckets[0].rate: must be positive: calls a second"
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}
