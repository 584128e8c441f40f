package web

import (
	"io/fs"
	"net/http"
	"net/http/httptest"
	"path"
	"regexp"
	"strings"
	"testing"
)

func get(t *testing.T, path string) *httptest.ResponseRecorder {
	t.Helper()
	answer := httptest.NewRecorder()
	Handler().ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil))
	return answer
}

func TestEveryFileIsServed(t *testing.T) {
	types := map[string]string{
		".html": "text/html; charset=utf-8", ".css": "text/css; charset=utf-8",
		".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml",
	}
	files, err := fs.ReadDir(embedded, "files")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		at := "/page/" + file.Name()
		if file.Name() == "index.html" {
			at = "/"
		}
		answer := get(t, at)
		if got, want := answer.Header().Get("Content-Type"), types[path.Ext(file.Name())]; answer.Code != http.StatusOK || got != want {
			t.Errorf("%s: %d %s, want 200 %s", at, answer.Code, got, want)
		}
		for header, want := range map[string]string{
			"X-Content-Type-Options": "nosniff", "Cache-Control": "no-store", "Referrer-Policy": "no-referrer",
			"Cross-Origin-Resource-Policy": "same-origin", "Content-Security-Policy": policy,
		} {
			if got := answer.Header().Get(header); got != want {
				t.Errorf("%s: %s is %q, want %q", at, header, got, want)
			}
		}
	}
}

func TestNothingElseIsServed(t *testing.T) {
	for _, path := range []string{"/page/", "/page/index.html", "/page/none.js", "/page/../web.go", "/index.html", "/files/"} {
		if answer := get(t, path); answer.Code == http.StatusOK {
			t.Errorf("%s is served", path)
		}
	}
}

// TestNothingIsFetchedFromElsewhere checks that the page requests nothing from
// other hosts. The policy would block such requests.
func TestNothingIsFetchedFromElsewhere(t *testing.T) {
	elsewhere := regexp.MustCompile(`(?i)(https?:)?//[a-z0-9.-]+\.[a-z]{2,}|<script>|\son[a-z]+="|\sstyle="`)
	for _, allowed := range []string{"'unsafe-inline'", "'unsafe-eval'", "*", "http"} {
		if strings.Contains(policy, allowed) {
			t.Errorf("the policy allows %s", allowed)
		}
	}
	files, err := fs.ReadDir(embedded, "files")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		content, err := fs.ReadFile(embedded, "files/"+file.Name())
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range elsewhere.FindAllString(string(content), -1) {
			if found != "//www.w3.org" && found != "http://www.w3.org" { // the namespace of SVG, which no browser fetches
				t.Errorf("%s: %q is not allowed here", file.Name(), found)
			}
		}
	}
}

// TestEveryImportIsThere checks that all imported files exist. The page has no build
// step that would find a wrong name.
func TestEveryImportIsThere(t *testing.T) {
	imported := regexp.MustCompile(`(?m)(?:from|import) "\./([^"]+)"|(?:src|href)="page/([^"]+)"`)
	files, err := fs.ReadDir(embedded, "files")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, file := range files {
		content, err := fs.ReadFile(embedded, "files/"+file.Name())
		if err != nil {
			t.Fatal(err)
		}
		for _, match := range imported.FindAllStringSubmatch(string(content), -1) {
			found++
			name := match[1] + match[2]
			if answer := get(t, "/page/"+name); answer.Code != http.StatusOK {
				t.Errorf("%s wants %s, which is not served", file.Name(), name)
			}
		}
	}
	if found < 5 {
		t.Errorf("only %d imports were found", found)
	}
}
