package main

import (
	"strings"
	"testing"

	"github.com/fairlead-k8s/fairlead/simulator"
)

// TestBucketsAreListed checks the list of a cloud whose quota has buckets.
func TestBucketsAreListed(t *testing.T) {
	buckets, err := quotaOptions{quota: "linode", empty: true}.buckets()
	if err != nil {
		t.Fatal(err)
	}
	for n, want := range []string{"ListInstances,ListLoadBalancers,ListStaticIPs,ListRoutes,ListVolumes rate=1.7 burst=200 tokens=0", "22 kinds rate=13 burst=800 tokens=0"} {
		if got := faultCalls(buckets[n]) + " " + faultDetails(buckets[n]); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestHelpNamesEachKindOfFault(t *testing.T) {
	for _, kind := range simulator.FaultKinds() {
		if !strings.Contains(faultKindsHelp, "\n  "+string(kind)+" ") {
			t.Errorf("simcloud fault set --help does not name %s", kind)
		}
	}
}
