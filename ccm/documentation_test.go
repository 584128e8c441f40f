package ccm_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-k8s/fairlead/ccm"
)

// The types of the package are aliases, and go doc shows only the comment of an
// alias. So each comment must repeat the declaration, with all fields or methods.
func TestCommentsOfTypesAreComplete(t *testing.T) {
	comments := typeComments(t)
	for name, v := range map[string]any{
		"Options":        ccm.Options{},
		"ProviderDeps":   ccm.ProviderDeps{},
		"Controller":     ccm.Controller{},
		"ControllerDeps": ccm.ControllerDeps{},
		"Runner":         (*ccm.Runner)(nil),
		"Webhook":        ccm.Webhook{},
	} {
		t.Run(name, func(t *testing.T) {
			declaration := regexp.MustCompile(`(?s)\ttype ` + name + ` (?:struct|interface) \{\n(.*?)\n\t\}`).FindStringSubmatch(comments[name])
			if declaration == nil {
				t.Fatalf("the comment has no declaration:\n%s", comments[name])
			}
			var got []string
			for line := range strings.Lines(declaration[1]) {
				if member := regexp.MustCompile(`^\t\t([A-Z]\w*)`).FindStringSubmatch(line); member != nil {
					got = append(got, member[1])
				}
			}
			if diff := cmp.Diff(members(reflect.TypeOf(v)), got); diff != "" {
				t.Errorf("members (-code +comment):\n%s", diff)
			}
		})
		delete(comments, name)
	}
	for name := range comments {
		t.Errorf("%s is not compared", name)
	}
}

// members returns the names of the fields of a struct type. For a pointer to an
// interface type, it returns the names of the interface's methods.
func members(t reflect.Type) []string {
	var names []string
	if t.Kind() == reflect.Pointer {
		for m := range t.Elem().Methods() {
			names = append(names, m.Name)
		}
		return names
	}
	for f := range t.Fields() {
		names = append(names, f.Name)
	}
	return names
}

// typeComments returns the comments of the exported types.
func typeComments(t *testing.T) map[string]string {
	t.Helper()
	comments := map[string]string{}
	for _, file := range []string{"command.go", "controller.go", "provider.go", "webhook.go"} {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range parsed.Decls {
			if g, ok := d.(*ast.GenDecl); ok && g.Tok == token.TYPE {
				comments[g.Specs[0].(*ast.TypeSpec).Name.Name] = g.Doc.Text()
			}
		}
	}
	return comments
}
