package cloud

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const (
	contractPackage = "k8s.io/cloud-provider"
	optionalPackage = "github.com/fairlead-k8s/fairlead/provider"
)

// typesOnly has the names of the contract that code outside of this package may use.
// They are types and a constant, so their use calls no provider.
var typesOnly = map[string]bool{"Interface": true, "ControllerClientBuilder": true, "CloudControllerManagerPort": true}

// In internal and ccm, only this package calls a provider's methods. Only
// offers.go makes type assertions on a provider's values.
func TestOnlyThisPackageCallsAProvider(t *testing.T) {
	var got []string
	unwraps := map[string]int{}
	for path, file := range sources(t, "..", "../../ccm") {
		contract, optional := importName(file, contractPackage), importName(file, optionalPackage)
		report := func(what string) { got = append(got, path+": "+what) }
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.TypeAssertExpr:
				if p, name := selector(n.Type); p != "" && (p == contract || p == optional) && path != "../cloud/offers.go" {
					report("asserts " + p + "." + name)
				}
			case *ast.SelectorExpr:
				switch p, name := selector(n); {
				case strings.HasPrefix(path, "../cloud/"):
				case p != "" && p == optional && name != "Classification": // Classification is a plain value, used by Options.Classify
					report("uses " + p + "." + name)
				case p != "" && p == contract && !typesOnly[name]:
					report("uses " + p + "." + name)
				case n.Sel.Name == "Unwrap" && strings.HasPrefix(path, "../daemon/"):
					unwraps[path]++
				}
			}
			return true
		})
	}
	if diff := cmp.Diff([]string(nil), got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	// The program's own controllers get the provider itself.
	want := map[string]int{"../daemon/controllers.go": 1}
	if diff := cmp.Diff(want, unwraps); diff != "" {
		t.Errorf("places that take a provider out of its Provider, -want +got:\n%s", diff)
	}
}

// sources returns the Go files in the folders and in all folders below them. It
// leaves out tests, and packages that only tests import.
func sources(t *testing.T, roots ...string) map[string]*ast.File {
	t.Helper()
	files := map[string]*ast.File{}
	set := token.NewFileSet()
	for _, root := range roots {
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case d.IsDir() && (d.Name() == "testdata" || strings.HasSuffix(d.Name(), "test")):
				return fs.SkipDir
			case d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
				return nil
			}
			file, err := parser.ParseFile(set, path, nil, parser.SkipObjectResolution)
			if err != nil {
				return fmt.Errorf("parse: %w", err)
			}
			files[filepath.ToSlash(path)] = file
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if files["../cloud/offers.go"] == nil {
		t.Fatal("the sources are not found")
	}
	return files
}

// importName returns the name under which a file imports a package. It returns
// the empty string if the file does not import it.
func importName(file *ast.File, path string) string {
	for _, spec := range file.Imports {
		if p, err := strconv.Unquote(spec.Path.Value); err != nil || p != path {
			continue
		}
		if spec.Name != nil {
			return spec.Name.Name
		}
		return path[strings.LastIndex(path, "/")+1:]
	}
	return ""
}

func selector(e ast.Expr) (pkg, name string) {
	s, ok := e.(*ast.SelectorExpr)
	if !ok {
		return "", ""
	}
	if x, ok := s.X.(*ast.Ident); ok {
		return x.Name, s.Sel.Name
	}
	return "", s.Sel.Name
}
