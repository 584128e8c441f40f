package ccm_test

import (
	"bytes"
	"encoding/json"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/fairlead-k8s/fairlead/ccm"
)

// examples has a folder for each known cloud.
const examples = "../deploy/examples"

// elsewhere lists the clouds without a main.go in their folder. The main.go of AWS
// is in examples/aws, and Talos has none.
var elsewhere = []string{"aws", "talos"}

// The programs link modules that are not ours, so they are not compiled here. The
// test checks that they are formatted and stay out of the build. It also checks that
// they use only existing flags and existing names of package ccm.
func TestMainsOfKnownClouds(t *testing.T) {
	for _, folder := range folders(t) {
		t.Run(folder, func(t *testing.T) {
			if slices.Contains(elsewhere, folder) {
				t.Skip("its program is elsewhere")
			}
			source, err := os.ReadFile(filepath.Join(examples, folder, "main.go"))
			if err != nil {
				t.Fatal(err)
			}
			if formatted, err := format.Source(source); err != nil || !bytes.Equal(formatted, source) {
				t.Errorf("it is not formatted: %v", err)
			}
			if !strings.Contains(string(source), "\n//go:build ignore\n\n") {
				t.Error("it would be built")
			}
			file, err := parser.ParseFile(token.NewFileSet(), "main.go", source, 0)
			if err != nil {
				t.Fatal(err)
			}
			if found := check(t, file); found != 1 {
				t.Errorf("it has ccm.Options %d times, want once", found)
			}
		})
	}
}

// check fails the test if a program uses a flag or a name of package ccm that does
// not exist. It returns the number of ccm.Options literals in the program.
func check(t *testing.T, file *ast.File) (options int) {
	t.Helper()
	flags := ccm.NewCommand(ccm.Options{}).Flags()
	known, deps := exported(t), map[string]reflect.Type{}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Field: // a parameter
			switch name := selected(n.Type, "ccm"); {
			case len(n.Names) != 1:
			case name == "ProviderDeps":
				deps[n.Names[0].Name] = reflect.TypeFor[ccm.ProviderDeps]()
			case name == "ControllerDeps":
				deps[n.Names[0].Name] = reflect.TypeFor[ccm.ControllerDeps]()
			}
		case *ast.SelectorExpr:
			if name := selected(n, "ccm"); name != "" && !slices.Contains(known, name) {
				t.Errorf("there is no ccm.%s", name)
			}
			for variable, of := range deps {
				if name := selected(n, variable); name != "" && !has(of, name) {
					t.Errorf("%v has no %s", of, name)
				}
			}
		case *ast.CallExpr:
			switch s, ok := n.Fun.(*ast.SelectorExpr); {
			case !ok:
			case s.Sel.Name == "Lookup" && text(n.Args[0]) != "" && flags.Lookup(text(n.Args[0])) == nil:
				t.Errorf("there is no flag --%s", text(n.Args[0]))
			case selected(s, "own") != "" && flags.Lookup(text(n.Args[1])) != nil && !strings.HasPrefix(text(n.Args[1]), "node-cidr-mask-size"):
				t.Errorf("its own flag --%s exists already", text(n.Args[1]))
			}
		case *ast.CompositeLit:
			if selected(n.Type, "ccm") == "Options" {
				options++
				checkOptions(t, n)
			}
		}
		return true
	})
	return options
}

// checkOptions checks that all fields of the options exist, and all flags in
// Defaults.
func checkOptions(t *testing.T, options *ast.CompositeLit) {
	t.Helper()
	flags := ccm.NewCommand(ccm.Options{}).Flags()
	for _, element := range options.Elts {
		pair := element.(*ast.KeyValueExpr)
		field := pair.Key.(*ast.Ident).Name
		if !has(reflect.TypeFor[ccm.Options](), field) {
			t.Errorf("Options has no %s", field)
		}
		if field != "Defaults" {
			continue
		}
		for _, flag := range pair.Value.(*ast.CompositeLit).Elts {
			if key := text(flag.(*ast.KeyValueExpr).Key); flags.Lookup(key) == nil {
				t.Errorf("there is no flag --%s", key)
			}
		}
	}
}

// selected returns the second half of an expression such as ccm.Options if the first
// half is the given name: selected(e, "ccm") returns "Options". For any other
// expression, it returns "".
func selected(e ast.Expr, of string) string {
	s, ok := e.(*ast.SelectorExpr)
	if !ok {
		return ""
	}
	if x, ok := s.X.(*ast.Ident); !ok || x.Name != of {
		return ""
	}
	return s.Sel.Name
}

// has reports whether a struct type has a field or method with the name.
func has(of reflect.Type, name string) bool {
	_, isField := of.FieldByName(name)
	_, isMethod := of.MethodByName(name)
	return isField || isMethod
}

// exported returns all names that package ccm declares, including unexported ones.
func exported(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		if file.Name.Name == "ccm" {
			names = slices.AppendSeq(names, maps.Keys(file.Scope.Objects))
		}
	}
	return names
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

// The chart's manifest for a cloud can replace the vendor's manifest. The chart's
// manifest has the provider, the service account and the Lease in
// docs/guides/known-providers.md. Each argument in the chart's manifest has an effect.
// The daemon also starts with the arguments of the vendor's manifest.
func TestChartTakesTheVendorsPlace(t *testing.T) {
	page := readFile(t, "../docs/guides/known-providers.md")
	row := regexp.MustCompile("(?m)^\\| `deploy/examples/(\\w+)` \\| `([^`]+)` \\| `([^`]+)` \\| `([^`]+)` \\|$")
	arguments := regexp.MustCompile("(?m)^- `deploy/examples/(\\w+)`: (.*)$")
	rows := map[string][]string{}
	for _, found := range row.FindAllStringSubmatch(page, -1) {
		rows[found[1]] = found[2:]
	}
	for _, found := range arguments.FindAllStringSubmatch(page, -1) {
		rows[found[1]] = append(rows[found[1]], found[2])
	}
	known := folders(t)
	if got := slices.Sorted(maps.Keys(rows)); !slices.Equal(got, known) {
		t.Errorf("the page has rows for %v, want %v", got, known)
	}
	for folder, cells := range rows {
		t.Run(folder, func(t *testing.T) {
			if len(cells) != 4 {
				t.Fatalf("the page has %q, want provider, account, Lease and arguments", cells)
			}
			provider, account, lease := cells[0], cells[1], cells[2]
			file := filepath.Join(examples, folder, "manifest.yaml")
			manifest := readFile(t, file)
			for _, want := range []string{
				"\n            - \"--cloud-provider=" + provider + "\"\n",
				"\n      serviceAccountName: " + account + "\n",
				"\nkind: ServiceAccount\nmetadata:\n  name: " + account + "\n  namespace: kube-system\n",
				"\n            - --leader-elect-resource-name=" + lease + "\n",
				"\n      - " + lease + "\n    verbs: [get, update]\n",
			} {
				if !strings.Contains(manifest, want) {
					t.Errorf("%s has no %q", file, want)
				}
			}
			rendered, err := filepath.Glob(filepath.Join(examples, folder, "manifest*.yaml"))
			if err != nil {
				t.Fatal(err)
			}
			for _, file := range rendered {
				starts(t, ccm.Options{}, []string{"-f", file}, "used", "deprecated")
			}
			theirs := []string{"--"}
			for _, argument := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(cells[3], -1) {
				theirs = append(theirs, argument[1])
			}
			if len(theirs) > 1 {
				starts(t, ccm.Options{ProviderName: provider}, theirs, "used", "deprecated", "changes nothing")
			}
		})
	}
}

// starts runs the program's sub-command check-flags on a command line. The test fails
// if the daemon would not start, or if an argument gets a verdict that is not in the
// list verdicts.
func starts(t *testing.T, program ccm.Options, commandLine []string, verdicts ...string) {
	t.Helper()
	var out bytes.Buffer
	cmd := ccm.NewCommand(program)
	cmd.SetOut(&out)
	cmd.SetArgs(append([]string{"check-flags", "-o", "json"}, commandLine...))
	if err := cmd.ExecuteContext(t.Context()); err != nil {
		t.Errorf("%v: %v\n%s", commandLine, err, out.String())
		return
	}
	var answer struct {
		Arguments []struct{ Argument, Verdict, Why string }
	}
	if err := json.Unmarshal(out.Bytes(), &answer); err != nil || len(answer.Arguments) == 0 {
		t.Fatalf("%v: %s", err, out.String())
	}
	for _, a := range answer.Arguments {
		if !slices.Contains(verdicts, a.Verdict) {
			t.Errorf("%+v", a)
		}
	}
}

// folders returns the names of the folders in examples.
func folders(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(examples, "*", "values.yaml"))
	if err != nil || len(files) < 13 {
		t.Fatalf("%v, %v", files, err)
	}
	var names []string
	for _, file := range files {
		names = append(names, filepath.Base(filepath.Dir(file)))
	}
	return names
}

func readFile(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
