// Package messagetest checks how a controller makes its events and conditions.
// Only tests import it.
package messagetest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"strings"
	"testing"

	"github.com/fairlead-k8s/fairlead/internal/controller/message"
)

// ReasonsAreComplete reads the code of the package under test. It checks that
// every message.Reason in the code is in reasons, and that no event or cause is
// made without a Reason.
func ReasonsAreComplete(t *testing.T, reasons []message.Reason) {
	t.Helper()
	names := namesOf(t, reasons)
	packages, err := parser.ParseDir(token.NewFileSet(), ".", func(f fs.FileInfo) bool { return !strings.HasSuffix(f.Name(), "_test.go") }, 0) //nolint:staticcheck // one package, without build tags
	if err != nil {
		t.Fatal(err)
	}
	for _, pkg := range packages {
		ast.Inspect(pkg, func(n ast.Node) bool {
			if literal, ok := n.(*ast.CompositeLit); ok && len(literal.Elts) > 0 {
				check(t, literal, names)
			}
			return true
		})
	}
}

// namesOf returns the names of the reasons, each of which must be complete.
func namesOf(t *testing.T, reasons []message.Reason) map[string]bool {
	t.Helper()
	names, listed := map[string]bool{}, map[string]bool{}
	for _, r := range reasons {
		if listed[r.Name+" "+r.Condition] {
			t.Errorf("%s is listed twice", r.Name)
		}
		listed[r.Name+" "+r.Condition], names[r.Name] = true, true
		if r.Name == "" || r.On == "" || r.When == "" || (r.Condition == "") == (r.Type == "") {
			t.Errorf("%+v must have Name, On and When, and either Condition or Type", r)
		}
	}
	return names
}

func check(t *testing.T, literal *ast.CompositeLit, names map[string]bool) {
	t.Helper()
	switch kindOf(literal) {
	case "message.Event":
		t.Errorf("a message.Event is made without a Reason: %v", literal.Elts)
	case "message.Cause":
		if field(literal, "Reason") != "" {
			t.Errorf("a message.Cause is made without a Reason: %s", field(literal, "Reason"))
		}
	case "message.Reason":
		if name := field(literal, "Name"); !names[name] {
			t.Errorf("the reason %s is not in Reasons", name)
		}
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
