package ccm_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/fairlead-k8s/fairlead/ccm"
)

// The programs of the page link modules that are not ours, so they are not
// compiled here. What they use of this package exists.
func TestMainsOfThePage(t *testing.T) {
	page, err := os.ReadFile("../docs/guides/known-providers.md")
	if err != nil {
		t.Fatal(err)
	}
	mains := regexp.MustCompile("(?s)```go\n(package main\n.*?)```").FindAllStringSubmatch(string(page), -1)
	if len(mains) < 6 {
		t.Fatalf("the page has %d programs", len(mains))
	}
	for _, main := range mains {
		file, err := parser.ParseFile(token.NewFileSet(), "main.go", main[1], 0)
		if err != nil {
			t.Fatalf("%v in\n%s", err, main[1])
		}
		name := "?"
		ast.Inspect(file, func(n ast.Node) bool {
			if literal, ok := n.(*ast.CompositeLit); ok && isOptions(literal) {
				name = checkOptions(t, literal)
			}
			return true
		})
		if lines := strings.Count(main[1], "\n"); name == "?" || lines > 60 {
			t.Errorf("%s has %d lines", name, lines)
		}
	}
}

// isOptions reports whether the literal is one of ccm.Options.
func isOptions(l *ast.CompositeLit) bool {
	s, ok := l.Type.(*ast.SelectorExpr)
	return ok && s.Sel.Name == "Options" && s.X.(*ast.Ident).Name == "ccm"
}

// checkOptions checks that the fields of the options exist, and the flags in
// Defaults. It returns the program's name.
func checkOptions(t *testing.T, options *ast.CompositeLit) (name string) {
	t.Helper()
	flags := ccm.NewCommand(ccm.Options{}).Flags()
	for _, element := range options.Elts {
		pair := element.(*ast.KeyValueExpr)
		field := pair.Key.(*ast.Ident).Name
		if !slices.Contains(members(reflect.TypeFor[ccm.Options]()), field) {
			t.Errorf("Options has no %s", field)
		}
		switch field {
		case "Name":
			name = text(pair.Value)
		case "Defaults":
			for _, flag := range pair.Value.(*ast.CompositeLit).Elts {
				if key := text(flag.(*ast.KeyValueExpr).Key); flags.Lookup(key) == nil {
					t.Errorf("%s: there is no flag --%s", name, key)
				}
			}
		}
	}
	return name
}

// text returns the value of a string literal.
func text(e ast.Expr) string {
	literal, ok := e.(*ast.BasicLit)
	if !ok {
		return ""
	}
	value, err := strconv.Unquote(literal.Value)
	if err != nil {
		return ""
	}
	return value
}
