package app

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-k8s/fairlead/internal/app/internal/skeleton"
	"github.com/fairlead-k8s/fairlead/internal/controller/step"
)

func TestComparisonIsPrinted(t *testing.T) {
	c := &comparison{CloudCalls: 2, Differences: []skeleton.Difference{
		{Object: "node/worker-12", Daemon: skeleton.Fate{Effect: step.Wait, Do: "hold"}, Skeleton: skeleton.Fate{Effect: step.Delete, Do: "delete", Why: "the cloud has said once that there is no such instance"}},
		{Object: "route/10.0.0.0/24\nx", Daemon: skeleton.Fate{Effect: step.Delete, Do: "remove to a"}, Skeleton: skeleton.Fate{Effect: step.None, Do: "nothing", Why: "it stays"}},
	}}
	r := report{Compared: c}
	var out bytes.Buffer
	if err := r.write(&out, planFlags{output: "text"}); err != nil {
		t.Fatal(err)
	}
	_, got, _ := strings.Cut(out.String(), "Would stay: nothing.\n")
	want := `Compared with the skeleton, which took 2 more calls to the cloud:
  - node/worker-12  here hold, skeleton delete: the cloud has said once that there is no such instance
    route/10.0.0.0/24 x  here remove to a, skeleton nothing: it stays
With the skeleton node/worker-12 would be deleted at once.
Another fate with the skeleton: 1 node, 1 route.
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("text (-want +got):\n%s", diff)
	}
}

func TestManyDeletionsOfTheSkeletonAreCounted(t *testing.T) {
	c := &comparison{}
	for n := range maxNamed + 3 {
		c.Differences = append(c.Differences, skeleton.Difference{Object: fmt.Sprintf("node/n%d", n), Skeleton: skeleton.Fate{Effect: step.Delete}})
	}
	var w strings.Builder
	c.print(&w)
	if got := w.String(); !strings.Contains(got, "With the skeleton node/n0, node/n1, node/n2, node/n3, node/n4 and 3 more would be deleted at once.\n") {
		t.Error(got)
	}
}

// If nothing differs, the report has an empty list of differences.
func TestComparisonOfNothing(t *testing.T) {
	server := httptest.NewServer(&readableServer{})
	defer server.Close()
	text, err := runPlan(t, server.URL, "-o", "json", "--compare-with=upstream")
	if err != nil {
		t.Fatal(err)
	}
	var got report
	if err := json.Unmarshal([]byte(text), &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(&comparison{With: "upstream", Differences: []skeleton.Difference{}}, got.Compared); diff != "" {
		t.Errorf("comparison (-want +got):\n%s", diff)
	}
}
