package docs

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

const (
	chartValues = "charts/fairlead/values.yaml"
	chartSchema = "charts/fairlead/values.schema.json"
)

// value is one value of the chart.
type value struct {
	path        []string
	description string
}

// TestSchemaDescribesEachValue compares the descriptions in the schema with the
// comments in values.yaml. Editors show these descriptions.
func TestSchemaDescribesEachValue(t *testing.T) {
	var schema map[string]any
	if err := json.Unmarshal([]byte(read(t, chartSchema)), &schema); err != nil {
		t.Fatal(err)
	}
	all := valuesOfChart(t)
	if len(all) < 60 {
		t.Fatalf("found only %d values", len(all))
	}
	for _, v := range all {
		at := schema
		for _, name := range v.path {
			properties, _ := at["properties"].(map[string]any)
			at, _ = properties[name].(map[string]any)
		}
		if got, _ := at["description"].(string); got != v.description {
			t.Errorf("%s: the schema has the description %q, and %s has %q", strings.Join(v.path, "."), got, chartValues, v.description)
		}
	}
}

// valuesOfChart returns all values in the order of the file.
func valuesOfChart(t *testing.T) []value {
	t.Helper()
	var file yaml.Node
	if err := yaml.Unmarshal([]byte(read(t, chartValues)), &file); err != nil {
		t.Fatal(err)
	}
	return valuesOf(t, file.Content[0], nil)
}

// valuesOf returns the values in a mapping. A mapping that has a comment is one value,
// whatever is in it.
func valuesOf(t *testing.T, mapping *yaml.Node, path []string) (all []value) {
	t.Helper()
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		key, content := mapping.Content[i], mapping.Content[i+1]
		here := slices.Concat(path, []string{key.Value})
		_, comment, commented := strings.Cut(key.HeadComment, "# --")
		switch {
		case commented:
			all = append(all, value{here, strings.Join(strings.Fields(strings.ReplaceAll(comment, "\n#", "\n")), " ")})
		case content.Kind == yaml.MappingNode && len(content.Content) > 0:
			all = append(all, valuesOf(t, content, here)...)
		default:
			t.Errorf("%s: %s has no comment that begins with # --", chartValues, strings.Join(here, "."))
		}
	}
	return all
}

// TestTolerationsOfTheGuide compares the tolerations that the guide shows with those in
// values.yaml. The guide needs them, because the command "doctor" refers to it, and
// because not every daemon was installed with the chart.
func TestTolerationsOfTheGuide(t *testing.T) {
	_, after, _ := strings.Cut(read(t, chartValues), "\ntolerations:\n")
	want, _, _ := strings.Cut(after, "# -- ")
	if want == "" || !strings.Contains(read(t, "docs/guides/install.md"), "```yaml\ntolerations:\n"+want+"```\n") {
		t.Errorf("docs/guides/install.md does not have the tolerations of %s:\n%s", chartValues, want)
	}
}
