// Package messagetest checks that controllers make their events and conditions from a
// message.Reason. Only tests import it.
package messagetest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
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

// EventsHaveReasons reads the code below these directories, except tests. It checks
// that every message.Reason is in reasons, and that no event, cause or condition is
// made or recorded without a Reason. So no message is longer than package message
// allows.
func EventsHaveReasons(t *testing.T, reasons []message.Reason, directories ...string) {
	t.Helper()
	names := namesOf(t, reasons)
	files := filesBelow(t, directories)
	if len(files) < 100 {
		t.Errorf("%d files could be read", len(files))
	}
	for _, path := range files {
		tree, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(tree, func(n ast.Node) bool {
			// If the name of a Reason is not a constant, the tests of its own package
			// check it.
			if l, ok := n.(*ast.CompositeLit); ok && len(l.Elts) > 0 && (kindOf(l) != "message.Reason" || field(l, "Name") != "") {
				check(t, l, names)
			}
			if what := goesAround(n); what != "" {
				t.Errorf("%s: %s is text of its own, want the Message of a message.Cause", path, what)
			}
			if what := recordsText(n); what != "" {
				t.Errorf("%s: %s records an event whose reason is a constant text, want that of a Reason", path, what)
			}
			return true
		})
	}
}

// goesAround finds code that sets a field Message to a value that is not itself a field
// Message. Such code bypasses package message. goesAround returns a description of the
// code, or an empty string if n is other code.
func goesAround(n ast.Node) string {
	switch n := n.(type) {
	case *ast.KeyValueExpr:
		if key, ok := n.Key.(*ast.Ident); ok && key.Name == "Message" && !isMessage(n.Value) {
			return "the field Message"
		}
	case *ast.AssignStmt:
		for i, to := range n.Lhs {
			if isMessage(to) && (n.Tok == token.ADD_ASSIGN || len(n.Rhs) != len(n.Lhs) || !isMessage(n.Rhs[i])) {
				return "what is assigned to Message"
			}
		}
	}
	return ""
}

func isMessage(e ast.Expr) bool {
	s, ok := e.(*ast.SelectorExpr)
	return ok && s.Sel.Name == "Message"
}

// filesBelow returns the Go files below the directories. It leaves out tests and
// three packages. Package message makes the reasons. The messages of package policy
// are constant, and the API server shows them. Package doctor records nothing.
func filesBelow(t *testing.T, directories []string) []string {
	t.Helper()
	var files []string
	for _, d := range directories {
		err := filepath.WalkDir(d, func(path string, _ fs.DirEntry, err error) error {
			if strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "_test.go") && !strings.Contains(path, "controller/message/") && !strings.Contains(path, "internal/policy/") && !strings.Contains(path, "internal/doctor/") {
				files = append(files, path)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return files
}

// recordsText finds calls of the recorder that have a constant text as the event's type
// or reason. It returns the name of the called method, or an empty string if n is other
// code.
func recordsText(n ast.Node) string {
	call, ok := n.(*ast.CallExpr)
	if !ok {
		return ""
	}
	method, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || len(call.Args) < 4 || !slices.Contains([]string{"Node", "Service", "Lease", "Event", "Eventf"}, method.Sel.Name) {
		return ""
	}
	for _, a := range call.Args[1:3] {
		if text, ok := a.(*ast.BasicLit); ok && text.Kind == token.STRING {
			return method.Sel.Name
		}
	}
	return ""
}

// namesOf returns the names of the reasons. It checks that each reason is
// complete and listed once.
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
		if r.Type == "Warning" && r.Do == "" {
			t.Errorf("the warning %s does not say what to do", r.Name)
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
		t.Errorf("a message.Cause is made without a Reason: %v", literal.Elts)
	case "message.Reason":
		if name := field(literal, "Name"); !names[name] {
			t.Errorf("the reason %s is not in Reasons: add it there, in events.go", name)
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

// field returns the constant text of a field. It returns an empty string if the field
// is not constant.
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
