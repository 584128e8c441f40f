package route

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"slices"
	"strings"
	"testing"
)

// Reasons lists every message.Reason of the package, and every event and cause
// is made from one.
func TestReasonsAreComplete(t *testing.T) {
	var declared []string
	for file, tree := range sources(t) {
		ast.Inspect(tree, func(n ast.Node) bool {
			literal, ok := n.(*ast.CompositeLit)
			if !ok {
				return true
			}
			switch nameOf(literal.Type) {
			case "message.Event", "message.Cause":
				t.Errorf("%s has a literal of %s, want all to be made from a Reason", file, nameOf(literal.Type))
			case "message.Reason":
				for _, e := range literal.Elts {
					if pair, ok := e.(*ast.KeyValueExpr); ok && pair.Key.(*ast.Ident).Name == "Name" {
						declared = append(declared, strings.Trim(pair.Value.(*ast.BasicLit).Value, `"`))
					}
				}
			}
			return true
		})
	}
	var listed []string
	for _, r := range Reasons() {
		listed = append(listed, r.Name)
		if r.On == "" || r.When == "" || (r.Type == "") == (r.Condition == "") {
			t.Errorf("%+v is incomplete", r)
		}
	}
	slices.Sort(declared)
	slices.Sort(listed)
	if !slices.Equal(declared, listed) {
		t.Errorf("declared are %v, listed are %v", declared, listed)
	}
}

// sources parses the files of the package that are not tests.
func sources(t *testing.T) map[string]*ast.File {
	t.Helper()
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	trees := map[string]*ast.File{}
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".go") || strings.HasSuffix(e.Name(), "_test.go") {
			continue
		}
		tree, err := parser.ParseFile(token.NewFileSet(), e.Name(), nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		trees[e.Name()] = tree
	}
	return trees
}

// nameOf returns the name of a type of another package.
func nameOf(e ast.Expr) string {
	s, ok := e.(*ast.SelectorExpr)
	if !ok {
		return ""
	}
	p, ok := s.X.(*ast.Ident)
	if !ok {
		return ""
	}
	return p.Name + "." + s.Sel.Name
}
