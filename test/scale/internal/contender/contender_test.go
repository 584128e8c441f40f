package contender

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-k8s/fairlead/providers/simulated"
)

// The cloud config for a plain provider switches each fast path off.
func TestPlainSwitchesAllOff(t *testing.T) {
	config := Setup{CloudURL: "http://127.0.0.1:7640", Plain: true}.cloudConfig()
	if _, err := simulated.New(strings.NewReader(config)); err != nil {
		t.Fatal(err)
	}
	_, err := simulated.New(strings.NewReader("nonsense: true\n")) // The error names all keys.
	if err == nil {
		t.Fatal("the provider takes any key")
	}
	switches := regexp.MustCompile(`\bwithout\w+`).FindAllString(err.Error(), -1)
	if len(switches) == 0 {
		t.Fatalf("no switch is known: %v", err)
	}
	for _, name := range switches {
		if !strings.Contains(config, name+": true\n") {
			t.Errorf("%s is not switched on in\n%s", name, config)
		}
	}
	if got := (Setup{CloudURL: "http://127.0.0.1:7640"}).cloudConfig(); strings.Contains(got, "without") {
		t.Errorf("with fast paths the config is\n%s", got)
	}
}

func TestBalancerTimeIsThatOfCallsAboutLoadBalancers(t *testing.T) {
	const metrics = `# TYPE fairlead_cloud_call_duration_seconds histogram
fairlead_cloud_call_duration_seconds_bucket{call="EnsureLoadBalancer",le="0.1"} 7
fairlead_cloud_call_duration_seconds_sum{call="EnsureLoadBalancer"} 1.5
fairlead_cloud_call_duration_seconds_count{call="EnsureLoadBalancer"} 7
fairlead_cloud_call_duration_seconds_sum{call="InstanceMetadata"} 100
fairlead_cloud_call_duration_seconds_sum{call="SetBackends"} 2e-1
fairlead_cloud_call_duration_seconds_sum{call="UpdateLoadBalancer"} 3
`
	if got, err := balancerTimeIn(metrics); err != nil || got != 4700*time.Millisecond {
		t.Errorf("balancerTimeIn = %v, %v, want 4.7s", got, err)
	}
}
