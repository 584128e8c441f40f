package node

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"slices"
	"strings"
	"testing"
)

// TestReasonsAreComplete reads the package's own code: every Reason is a
// variable of events.go and stands in Reasons, and no Event or Cause is made
// without one.
func TestReasonsAreComplete(t *testing.T) {
	listed := map[string]bool{}
	for _, r := range Reasons() {
		if listed[r.Name+" "+r.Condition] {
			t.Errorf("%s is listed twice", r.Name)
		}
		listed[r.Name+" "+r.Condition] = true
		if r.Name == "" || r.On == "" || r.When == "" || (r.Condition == "") == (r.Type == "") {
			t.Errorf("%+v lacks a name, an object, when it is shown, or is neither of an event nor of a condition", r)
		}
	}
	packages, err := parser.ParseDir(token.NewFileSet(), ".", func(f fs.FileInfo) bool { return !strings.HasSuffix(f.Name(), "_test.go") }, 0) //nolint:staticcheck // one package, without build tags
	if err != nil {
		t.Fatal(err)
	}
	names := []string{}
	for _, r := range Reasons() {
		names = append(names, r.Name)
	}
	for _, pkg := range packages {
		ast.Inspect(pkg, func(n ast.Node) bool {
			literal, ok := n.(*ast.CompositeLit)
			if !ok || len(literal.Elts) == 0 {
				return true
			}
			switch kindOf(literal) {
			case "message.Event":
				t.Errorf("a message.Event is made without a Reason: %v", literal.Elts)
			case "message.Cause":
				if field(literal, "Reason") != "" {
					t.Errorf("a message.Cause is made without a Reason: %s", field(literal, "Reason"))
				}
			case "message.Reason":
				if name := field(literal, "Name"); !slices.Contains(names, name) {
					t.Errorf("the reason %s is not in Reasons", name)
				}
			}
			return true
		})
	}
}

func kindOf(literal *ast.CompositeLit) string {
	if s, ok := literal.Type.(*ast.SelectorExpr); ok {
		if x, ok := s.X.(*ast.Ident); ok {
			return x.Name + "." + s.Sel.Name
		}
	}
	return ""
}

// field returns the constant text of a field, empty if it is not constant.
func field(literal *ast.CompositeLit, name string) string {
	for _, e := range literal.Elts {
		if kv, ok := e.(*ast.KeyValueExpr); ok && kv.Key.(*ast.Ident).Name == name {
			if text, ok := kv.Value.(*ast.BasicLit); ok {
				return strings.Trim(text.Value, `"`)
			}
		}
	}
	return ""
}
