package static

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/labels"
)

const (
	all = "nodes:\n- selector: {}\n"
	id  = "providerID: static://home/{{name}}\n"
)

func TestConfigIsRefused(t *testing.T) {
	for name, row := range map[string]struct{ text, want string }{
		"EmptyFile":            {"", "cloud config: line 1: nodes: must have an entry; line 1: providerID: is missing; give static://home/{{name}} or keep; the file is empty"},
		"OnlyAComment":         {"# nothing\n", "cloud config: line 1: nodes: must have an entry; line 1: providerID: is missing; give static://home/{{name}} or keep; the file is empty"},
		"NoNodes":              {id, "cloud config: line 1: nodes: must have an entry"},
		"EmptyNodes":           {"nodes: []\n" + id, "cloud config: line 1: nodes: must have an entry"},
		"List":                 {"- a\n", "cloud config: line 1: the file must have keys and values, not a list"},
		"Syntax":               {"nodes: [\n", "cloud config: line 1: did not find expected node content"},
		"TwoDocuments":         {all + id + "---\n" + all, "cloud config: line 4: a second document; the file must have one"},
		"UnknownField":         {all + id + "colour: red\n", "cloud config: line 4: colour: unknown key; known are nodes, providerID"},
		"MisspeltField":        {"nods: []\n" + id, "cloud config: line 1: nods: unknown key; did you mean nodes?"},
		"UnknownFieldOfANode":  {all + "  rack: 1\n" + id, "cloud config: line 3: nodes[0].rack: unknown key; known are selector, region"},
		"UnknownSelector":      {"nodes:\n- selector: {matchNames: {a: b}}\n" + id, "cloud config: line 2: nodes[0].selector.matchNames: unknown key; known are matchLabels, matchExpressions"},
		"FieldTwice":           {all + id + id, "cloud config: line 4: providerID: is there twice"},
		"LabelTwice":           {all + "  labels:\n    a: b\n    a: c\n" + id, "cloud config: line 5: nodes[0].labels.a: is there twice"},
		"WrongType":            {"nodes:\n- selector: []\n" + id, "cloud config: line 2: nodes[0].selector: must have keys and values, not a list"},
		"NoSelector":           {"nodes:\n- zone: a\n" + id, "cloud config: line 2: nodes[0].selector: is missing; {} selects all Nodes"},
		"EmptySelector":        {"nodes:\n- selector:\n" + id, "cloud config: line 2: nodes[0].selector: is missing; {} selects all Nodes"},
		"SelectorKey":          {"nodes:\n- selector: {matchLabels: {a/b/c: d}}\n" + id, "nodes[0].selector: key: Invalid value"},
		"SelectorValue":        {"nodes:\n- selector: {matchLabels: {a: 'b c'}}\n" + id, "nodes[0].selector: values[0][a]: Invalid value"},
		"SelectorOperator":     {"nodes:\n- selector: {matchExpressions: [{key: a, operator: Is}]}\n" + id, `nodes[0].selector: "Is" is not a valid label selector operator`},
		"SelectorWithoutValue": {"nodes:\n- selector: {matchExpressions: [{key: a, operator: In}]}\n" + id, "nodes[0].selector: values: Invalid value"},
		"Region":               {all + "  region: a b\n" + id, `nodes[0].region: "a b": `},
		"Zone":                 {all + "  zone: '-'\n" + id, `nodes[0].zone: "-": `},
		"Type":                 {all + "  type: " + strings.Repeat("a", 64) + "\n" + id, "nodes[0].type: "},
		"LabelKey":             {all + "  labels: {a/b/c: d}\n" + id, `nodes[0].labels: key "a/b/c": `},
		"LabelValue":           {all + "  labels: {a: 'b c'}\n" + id, `nodes[0].labels: a: "b c": `},
		"LabelOfKubernetes":    {all + "  labels: {node-role.kubernetes.io/worker: ''}\n" + id, "nodes[0].labels: node-role.kubernetes.io/worker: only Kubernetes itself sets labels under kubernetes.io and k8s.io"},
		"ExternalIPs":          {all + "  externalIPs: 192.0.2.1\n" + id, `nodes[0].externalIPs: must be none, or fromAnnotation and the key of an annotation, not "192.0.2.1"`},
		"ExternalWithoutKey":   {all + "  externalIPs: fromAnnotation\n" + id, "nodes[0].externalIPs: must be none, or fromAnnotation"},
		"ExternalKey":          {all + "  externalIPs: fromAnnotation a b\n" + id, `nodes[0].externalIPs: key "a b": `},
		"NoProviderID":         {all, "cloud config: line 1: providerID: is missing; give static://home/{{name}} or keep"},
		"IDWithoutName":        {all + "providerID: static://home/\n", `providerID: must be keep or like static://home/{{name}}, not "static://home/"`},
		"IDOfAnother":          {all + "providerID: aws:///a/{{name}}\n", "providerID: must be keep or like static://home/{{name}}"},
		"NameTwice":            {all + "providerID: static://{{name}}/{{name}}\n", "providerID: must be keep or like static://home/{{name}}"},
		"IDWithSpace":          {all + "providerID: static://my home/{{name}}\n", "providerID: must be keep or like static://home/{{name}}"},
		"AllAtOnce":            {"nodes:\n- selector: {}\n  zone: '-'\n- type: '-'\n", `nodes[0].zone: "-": `},
	} {
		t.Run(name, func(t *testing.T) {
			c, err := New(strings.NewReader(row.text))
			if err == nil || c != nil {
				t.Fatalf("got %v, error %v", c, err)
			}
			if got := err.Error(); !strings.Contains(got, row.want) || strings.Contains(got, "\n") {
				t.Errorf("got  %s\nwant %s", got, row.want)
			}
		})
	}
	_, err := New(strings.NewReader("nodes:\n- selector: {}\n  zone: '-'\n- type: '-'\n"))
	for _, want := range []string{"nodes[0].zone", "nodes[1].selector", "nodes[1].type", "providerID"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("no %s in %v", want, err)
		}
	}
}

func TestConfigThatCannotBeRead(t *testing.T) {
	broken := errors.New("the disk is gone")
	if _, err := New(iotest.ErrReader(broken)); err == nil || !strings.Contains(err.Error(), broken.Error()) {
		t.Errorf("got %v", err)
	}
	if _, err := New(nil); err == nil || !strings.Contains(err.Error(), "needs --cloud-config") {
		t.Errorf("got %v", err)
	}
}

func TestConfigIsRead(t *testing.T) {
	got, err := parseConfig(strings.NewReader(`
nodes:
- selector: {matchLabels: {node.example.com/edge: ""}, matchExpressions: [{key: gone, operator: DoesNotExist}]}
  region: home
  zone: 1
  type: nuc
  labels: {example.com/power: solar}
  externalIPs: fromAnnotation example.com/Public-IP
- selector: {}
  externalIPs: none
providerID: keep
`))
	if err != nil {
		t.Fatal(err)
	}
	want := config{keep: true, template: "keep", entries: []entry{
		{region: "home", zone: "1", size: "nuc", labels: map[string]string{"example.com/power": "solar"}, external: "example.com/Public-IP"}, {},
	}}
	var selectors []string
	for n := range got.entries {
		selectors = append(selectors, got.entries[n].selector.String())
		got.entries[n].selector = nil
	}
	if d := cmp.Diff(want, got, cmp.AllowUnexported(config{}, entry{}), cmp.Comparer(func(a, b labels.Selector) bool { return a == b })); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
	if want := []string{"!gone,node.example.com/edge=", ""}; !slices.Equal(want, selectors) {
		t.Errorf("selectors %q, want %q", selectors, want)
	}
}

func FuzzConfig(f *testing.F) {
	for _, text := range []string{"", all + id, "nodes: [{selector: {matchLabels: {a: b}}, labels: {a: b}, externalIPs: none}]\nproviderID: keep\n"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		c, err := parseConfig(strings.NewReader(text))
		if err != nil {
			return
		}
		for _, e := range c.entries {
			e.selector.Matches(labels.Set{"a": "b"})
			for _, key := range slices.Collect(maps.Keys(e.labels)) {
				if wrongLabel(key, e.labels[key]) != "" {
					t.Errorf("label %s=%s", key, e.labels[key])
				}
			}
		}
		if wrongID(c.template) != "" {
			t.Errorf("provider ID %q", c.template)
		}
	})
}
