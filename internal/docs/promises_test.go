package docs

import (
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

var (
	promiseHeading = regexp.MustCompile(`^([SVPC]\d+): `)
	promiseRow     = regexp.MustCompile(`^\| ([SVPC]\d+)(?: ([a-z]))? \|`)
	quoted         = regexp.MustCompile("`([^`]+)`")
	// A citation names a promise, or a part of one: "S6", "S5 c", "S5 a and b".
	promiseCited = regexp.MustCompile(`(?:^|[^\w./])([SVPC]\d+)\b((?:(?:,| and)? [a-f]\b)*)`)
	parts        = regexp.MustCompile(`\b[a-f]\b`)
)

// promise is a row of the page.
type promise struct{ id, rule, tests, shown string }

// promises returns the rows of the page, and the names that can be cited.
func promises(t *testing.T) (rows []promise, known map[string]bool) {
	t.Helper()
	known = map[string]bool{}
	text := read(t, promisesPage)
	for _, s := range parse(text).sections {
		if m := promiseHeading.FindStringSubmatch(s); m != nil {
			known[m[1]] = true
		}
	}
	for line := range strings.Lines(text) {
		m := promiseRow.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		cells := strings.Split(strings.TrimSpace(line), "|")
		if len(cells) != 7 {
			t.Fatalf("%s: row %s has %d cells", promisesPage, m[1], len(cells)-2)
		}
		id := strings.TrimSpace(m[1] + " " + m[2])
		known[id] = true
		rows = append(rows, promise{id, cells[3], cells[4], cells[5]})
	}
	return rows, known
}

// TestPromisesAreHeld checks that every promise names its rule, its tests and its
// end-to-end test. All of these tests must exist.
func TestPromisesAreHeld(t *testing.T) {
	rows, known := promises(t)
	for _, id := range []string{"S1", "S2", "S3", "S4", "S5", "S6", "S7", "S8", "S9", "S10", "S11", "V1", "V2", "V5", "P1", "P2", "P3", "P4", "C1", "C2"} {
		if !known[id] {
			t.Errorf("%s has no promise %s", promisesPage, id)
		}
	}
	tests := testsOf(t)
	// Sentences outside of the tables can name tests, too.
	for line := range strings.Lines(read(t, promisesPage)) {
		if !strings.HasPrefix(line, "|") {
			tests.check(t, "a sentence", onlyTests(line))
		}
	}
	for _, p := range rows {
		if !strings.Contains(p.rule, "](") && !strings.Contains(p.rule, "the same") {
			t.Errorf("%s names no file of its rule", p.id)
		}
		if tests.check(t, p.id, p.tests) == 0 {
			t.Errorf("%s names no test", p.id)
		}
		if tests.check(t, p.id, p.shown) == 0 {
			t.Errorf("%s names no end-to-end test", p.id)
		}
	}
}

var testName = regexp.MustCompile(`^([a-z][a-z0-9]*)\.(Test\w+)$`)

// TestThreatModelIsHeld checks that the threat model names only tests and rows that
// exist.
func TestThreatModelIsHeld(t *testing.T) {
	const page, tests = "docs/security/threat-model.md", 3 // the column of the tests
	known, named := testsOf(t), 0
	for line := range strings.Lines(read(t, page)) {
		if cells := strings.Split(strings.TrimSpace(line), "|"); len(cells) == tests+2 {
			named += known.check(t, page, cells[tests])
		}
	}
	if named < 30 {
		t.Errorf("%s names %d tests", page, named)
	}
}

// onlyTests returns the quoted names of tests in a sentence.
func onlyTests(line string) string {
	var found []string
	for _, m := range quoted.FindAllStringSubmatch(line, -1) {
		if testName.MatchString(m[1]) {
			found = append(found, m[0])
		}
	}
	return strings.Join(found, " ")
}

// testFunctions has the tests of the repository, by "package.Test". The value has
// all words in the string constants of the test's file. The names of rows are among
// these words.
type testFunctions map[string]map[string]bool

// check reports an error for each test in the cell that does not exist, and for each
// row in the cell that its test does not have. It returns the number of tests in the
// cell.
func (f testFunctions) check(t *testing.T, of, cell string) (named int) {
	t.Helper()
	var texts map[string]bool
	for _, m := range quoted.FindAllStringSubmatch(cell, -1) {
		name := m[1]
		switch {
		case testName.MatchString(name):
			named++
			if texts = f[name]; texts == nil {
				t.Errorf("%s: there is no test %s", of, name)
			}
		case strings.Contains(name, " "): // A command.
		case texts != nil && !texts[name]:
			t.Errorf("%s: the tests beside it have no row %s", of, name)
		}
	}
	return named
}

// testsOf reads all test files of the repository.
func testsOf(t *testing.T) testFunctions {
	t.Helper()
	all := testFunctions{}
	for _, file := range files(t, "_test.go") {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, read(t, file), parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		texts := map[string]bool{}
		ast.Inspect(parsed, func(n ast.Node) bool {
			if l, ok := n.(*ast.BasicLit); ok && l.Kind == token.STRING {
				if text, err := strconv.Unquote(l.Value); err == nil {
					for word := range strings.FieldsSeq(text) { // A text can have one line for each row. The line begins with the row's name.
						texts[word] = true
					}
				}
			}
			return true
		})
		for _, d := range parsed.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil && strings.HasPrefix(f.Name.Name, "Test") {
				all[strings.TrimSuffix(parsed.Name.Name, "_test")+"."+f.Name.Name] = texts
			}
		}
	}
	return all
}

// TestCitedPromisesExist checks that comments and pages cite only promises that exist.
func TestCitedPromisesExist(t *testing.T) {
	_, known := promises(t)
	cited := 0
	for file, text := range prose(t) {
		for _, m := range promiseCited.FindAllStringSubmatch(text, -1) {
			ids := []string{m[1]}
			if strings.Contains(m[2], " ") {
				ids = nil
				for _, part := range parts.FindAllString(m[2], -1) {
					ids = append(ids, m[1]+" "+part)
				}
			}
			for _, id := range ids {
				cited++
				if !known[id] {
					t.Errorf("%s cites the promise %s, which %s does not have", file, id, promisesPage)
				}
			}
		}
	}
	if cited < 30 {
		t.Errorf("found %d citations of %s", cited, promisesPage)
	}
}
