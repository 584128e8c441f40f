package static

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// The configurations in the guide have to be valid. The guide's values for the chart
// have to equal the files in examples/hybrid.
func TestConfigsOfTheGuide(t *testing.T) {
	text, err := os.ReadFile("../../docs/guides/nodes-without-a-cloud.md")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, block := range regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllStringSubmatch(string(text), -1) {
		var values struct {
			CloudProvider string `yaml:"cloudProvider"`
			CloudConfig   struct {
				Content string `yaml:"content"`
			} `yaml:"cloudConfig"`
		}
		if err := yaml.Unmarshal([]byte(block[1]), &values); err != nil {
			t.Errorf("%v in\n%s", err, block[1])
		}
		if file, ok := strings.CutPrefix(strings.SplitN(block[1], "\n", 2)[0], "# "); ok {
			example, err := os.ReadFile("../../examples/hybrid/" + file)
			if err != nil || string(example) != block[1] {
				t.Errorf("%s is not the one of the guide, error %v", file, err)
			}
		}
		config := block[1]
		if values.CloudProvider != "" {
			config = values.CloudConfig.Content
		}
		if values.CloudProvider != "" && values.CloudProvider != Name {
			continue
		}
		n++
		if _, err := New(strings.NewReader(config)); err != nil {
			t.Errorf("%v in\n%s", err, config)
		}
	}
	if n != 3 {
		t.Errorf("%d configurations, want 3", n)
	}
}
