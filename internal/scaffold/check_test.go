package scaffold

import (
	"strings"
	"testing"
)

func TestCheckName(t *testing.T) {
	for text, want := range map[string]string{
		"acme":                  "",
		"a":                     "",
		"acme-2":                "",
		strings.Repeat("a", 35): "",
		"":                      "not a name for a cloud",
		"Acme":                  "not a name for a cloud",
		"2acme":                 "not a name for a cloud",
		"acme-":                 "not a name for a cloud",
		"acme_cloud":            "not a name for a cloud",
		"./acme":                "not a name for a cloud",
		"external":              "any external daemon",
		strings.Repeat("a", 36): "may have at most 35",
	} {
		says(t, text, want, CheckName(text))
	}
}

func TestCheckModule(t *testing.T) {
	for path, want := range map[string]string{
		"github.com/acme/ccm": "",
		"example.com":         "",
		"example.com/a/v2":    "",
		"github.com/fairlead-k8s/fairlead/examples/other": "",
		"":                                      "not the path of a Go module",
		"example.com/":                          "not the path of a Go module",
		"/example.com":                          "not the path of a Go module",
		"example.com/a b":                       "not the path of a Go module",
		"example.com/../a":                      "not the path of a Go module",
		"-a.example.com/b":                      "not the path of a Go module",
		"example.com/vendor/a":                  "not the path of a Go module",
		"https://github.com/acme/ccm":           "URL of a repository",
		"github.com/acme/ccm.git":               "URL of a repository",
		"acme/ccm":                              "does not begin with a domain",
		"acme":                                  "does not begin with a domain",
		"github.com/fairlead-k8s/fairlead":      "within Fairlead itself",
		"github.com/fairlead-k8s/fairlead/mine": "within Fairlead itself",
	} {
		says(t, path, want, CheckModule(path))
	}
}

func says(t *testing.T, input, want string, err error) {
	t.Helper()
	if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
		t.Errorf("%q: got error %v, want %q", input, err, want)
	}
}
