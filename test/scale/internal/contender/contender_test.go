package contender

import (
	"regexp"
	"strings"
	"testing"

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
