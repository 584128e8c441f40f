package conformance

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

var generate = flag.Bool("generate", false, "write "+schemaFile)

const schemaFile = "report.schema.json"

// schema is the part of JSON Schema that a report needs.
type schema struct {
	Schema      string             `json:"$schema,omitempty"`
	ID          string             `json:"$id,omitempty"`
	Title       string             `json:"title,omitempty"`
	Type        string             `json:"type"`
	Format      string             `json:"format,omitempty"`
	Const       string             `json:"const,omitempty"`
	Enum        []string           `json:"enum,omitempty"`
	Properties  map[string]*schema `json:"properties,omitempty"`
	Required    []string           `json:"required,omitempty"`
	Items       *schema            `json:"items,omitempty"`
	AnyProperty any                `json:"additionalProperties,omitempty"`
}

// words lists the values of each type whose set of values is fixed.
var words = map[reflect.Type][]string{
	reflect.TypeFor[Verdict](): texts(Success, Partial, Failure, Nothing),
	reflect.TypeFor[Outcome](): texts(Passed, Failed, ExpectedFailure, Skipped, NotRun, Unsupported),
	reflect.TypeFor[Level]():   texts(Core, Extended, Measured),
	reflect.TypeFor[Profile](): texts(Profiles()...),
	reflect.TypeFor[Feature](): texts(AllFeatures()...),
}

func texts[T ~string](all ...T) []string {
	var words []string
	for _, word := range all {
		words = append(words, string(word))
	}
	return words
}

// schemaOf returns the schema of a type's JSON.
func schemaOf(t reflect.Type) *schema {
	switch {
	case t == reflect.TypeFor[time.Time]():
		return &schema{Type: "string", Format: "date-time"}
	case words[t] != nil:
		return &schema{Type: "string", Enum: words[t]}
	}
	switch t.Kind() { //nolint:exhaustive // other kinds panic
	case reflect.Pointer:
		return schemaOf(t.Elem())
	case reflect.Slice:
		return &schema{Type: "array", Items: schemaOf(t.Elem())}
	case reflect.Map:
		return &schema{Type: "object", AnyProperty: schemaOf(t.Elem())}
	case reflect.Struct:
		s := &schema{Type: "object", Properties: map[string]*schema{}, AnyProperty: false}
		s.addFields(t)
		slices.Sort(s.Required)
		return s
	case reflect.Bool:
		return &schema{Type: "boolean"}
	case reflect.Int:
		return &schema{Type: "integer"}
	case reflect.Float64:
		return &schema{Type: "number"}
	case reflect.String:
		return &schema{Type: "string"}
	default:
		panic(fmt.Sprintf("no schema for %v", t))
	}
}

func (s *schema) addFields(t reflect.Type) {
	for field := range t.Fields() {
		if field.Anonymous {
			s.addFields(field.Type)
			continue
		}
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		s.Properties[name] = schemaOf(field.Type)
		if !strings.Contains(options, "omitempty") {
			s.Required = append(s.Required, name)
		}
	}
}

func reportSchema() *schema {
	s := schemaOf(reflect.TypeFor[Report]())
	s.Schema, s.ID, s.Title = "https://json-schema.org/draft/2020-12/schema", "https://"+APIVersion+"/"+Kind, Kind
	s.Properties["apiVersion"].Const, s.Properties["kind"].Const = APIVersion, Kind
	return s
}

// TestReportSchema checks that the schema agrees with the types and that reports
// follow the schema. With -generate it writes the schema.
func TestReportSchema(t *testing.T) {
	text, err := json.MarshalIndent(reportSchema(), "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	text = append(text, '\n')
	if *generate {
		if err := os.WriteFile(schemaFile, text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	file, err := os.ReadFile(schemaFile)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(file), string(text)); d != "" {
		t.Fatalf("the schema is stale, run make generate (-file +types):\n%s", d)
	}
	var rules any
	if err := json.Unmarshal(file, &rules); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(map[string]any){
		"":                                    func(map[string]any) {},
		"$.result: success, partial":          func(r map[string]any) { r["result"] = "good" },
		"$.date: required":                    func(r map[string]any) { delete(r, "date") },
		"$.more: not allowed":                 func(r map[string]any) { r["more"] = 1.0 },
		"$.suite.checks: want integer":        func(r map[string]any) { r["suite"].(map[string]any)["checks"] = "9" },
		"$.apiVersion: want conformance.fair": func(r map[string]any) { r["apiVersion"] = "v1" },
		"$.measurements.x: want number":       func(r map[string]any) { r["measurements"].(map[string]any)["x"] = "1" },
	} {
		encoded, err := fullReport().JSON()
		if err != nil {
			t.Fatal(err)
		}
		var report map[string]any
		if err := json.Unmarshal(encoded, &report); err != nil {
			t.Fatal(err)
		}
		change(report)
		problems := strings.Join(invalid("$", rules.(map[string]any), report), "\n")
		if name == "" && problems != "" || !strings.Contains(problems, name) {
			t.Errorf("want %q, got %q", name, problems)
		}
	}
}

// InvalidBySchema lists where a report violates the schema. It checks the report in JSON
// and in YAML.
func InvalidBySchema(r *Report) ([]string, error) {
	var rules map[string]any
	file, err := os.ReadFile(schemaFile)
	if err == nil {
		err = json.Unmarshal(file, &rules)
	}
	asJSON, err1 := r.JSON()
	asYAML, err2 := r.YAML()
	var problems []string
	for format, text := range map[string][]byte{"JSON": asJSON, "YAML": asYAML} {
		var report any
		err = errors.Join(err, yaml.Unmarshal(text, &report))
		for _, problem := range invalid("$", rules, report) {
			problems = append(problems, format+": "+problem)
		}
	}
	return problems, errors.Join(err, err1, err2)
}

// invalid lists where a value violates a schema. It supports only the keywords for which
// the type schema has a field.
func invalid(at string, rules map[string]any, value any) (problems []string) {
	wrong := func(at, format string, args ...any) {
		problems = append(problems, at+": "+fmt.Sprintf(format, args...))
	}
	kinds := map[string]bool{}
	switch v := value.(type) {
	case string:
		kinds["string"] = true
		if enum, ok := rules["enum"].([]any); ok && !slices.Contains(enum, any(v)) {
			wrong(at, "%s", strings.Trim(strings.Join(strings.Fields(fmt.Sprint(enum)), ", "), "[]"))
		}
		if constant, ok := rules["const"]; ok && constant != v {
			wrong(at, "want %v", constant)
		}
	case bool:
		kinds["boolean"] = true
	case float64:
		kinds["number"], kinds["integer"] = true, v == float64(int(v))
	case []any:
		kinds["array"] = true
		for n, item := range v {
			problems = append(problems, invalid(fmt.Sprintf("%s[%d]", at, n), rules["items"].(map[string]any), item)...)
		}
	case map[string]any:
		kinds["object"] = true
		problems = append(problems, invalidObject(at, rules, v)...)
	}
	if !kinds[rules["type"].(string)] {
		wrong(at, "want %v", rules["type"])
	}
	return problems
}

func invalidObject(at string, rules, object map[string]any) (problems []string) {
	required, _ := rules["required"].([]any)
	for _, name := range required {
		if _, ok := object[name.(string)]; !ok {
			problems = append(problems, at+"."+name.(string)+": required")
		}
	}
	properties, _ := rules["properties"].(map[string]any)
	for name, value := range object {
		rule, ok := properties[name].(map[string]any)
		if !ok {
			rule, ok = rules["additionalProperties"].(map[string]any)
		}
		if !ok {
			problems = append(problems, at+"."+name+": not allowed")
			continue
		}
		problems = append(problems, invalid(at+"."+name, rule, value)...)
	}
	return problems
}
