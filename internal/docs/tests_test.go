package docs

import (
	"go/ast"
	"go/token"
	"strings"
	"testing"
)

// testFunctions has the tests of the repository, by "package.Test". The value has
// all words in the string constants of the test's file. The names of rows are among
// these words.
type testFunctions map[string]map[string]bool

// check reports an error if the test does not exist, or does not have one of the rows.
func (f testFunctions) check(t *testing.T, of, name string, rows []string) {
	t.Helper()
	texts := f[name]
	if texts == nil {
		t.Errorf("%s names %s, which is no test", of, name)
		return
	}
	for _, row := range rows {
		if !texts[row] {
			t.Errorf("%s names the row %s, which %s does not have", of, row, name)
		}
	}
}

// testsOf reads all test files of the repository.
func testsOf(t *testing.T) testFunctions {
	t.Helper()
	all := testFunctions{}
	for _, path := range files(t, "_test.go") {
		file, texts := parsed(t, token.NewFileSet(), path), map[string]bool{}
		for _, text := range literals(file) {
			for word := range strings.FieldsSeq(text) { // A text can have one line for each row. The line begins with the row's name.
				texts[word] = true
			}
		}
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil && strings.HasPrefix(f.Name.Name, "Test") {
				all[strings.TrimSuffix(file.Name.Name, "_test")+"."+f.Name.Name] = texts
			}
		}
	}
	return all
}
