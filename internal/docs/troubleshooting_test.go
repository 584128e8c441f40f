package docs

import (
	"regexp"
	"strings"
	"testing"

	"github.com/fairlead-k8s/fairlead/internal/daemon"
)

const troubleshooting = "docs/guides/troubleshooting.md"

// TestTroubleshootingNamesWhatExists checks that the reasons and the log messages in
// the guide exist.
func TestTroubleshootingNamesWhatExists(t *testing.T) {
	known := map[string]bool{"LoadBalancer": true}
	for _, r := range daemon.AllReasons() {
		known[r.Name], known[r.Condition] = true, true
	}
	text, levels, _ := strings.Cut(read(t, troubleshooting), "## What the log says")
	for _, match := range regexp.MustCompile("`([A-Z][A-Za-z]+)`").FindAllStringSubmatch(text, -1) {
		if !known[match[1]] {
			t.Errorf("%s names %s, which is no reason", troubleshooting, match[1])
		}
	}
	var code strings.Builder
	for _, file := range files(t, ".go") {
		if !strings.HasPrefix(file, "internal/") || strings.HasSuffix(file, "_test.go") {
			continue
		}
		code.WriteString(read(t, file))
	}
	messages := regexp.MustCompile("`([A-Z][a-z]+ [a-zA-Z ]+)`").FindAllStringSubmatch(levels, -1)
	if len(messages) < 12 {
		t.Errorf("found only %d messages of the log", len(messages))
	}
	for _, match := range messages {
		if !strings.Contains(code.String(), `"`+match[1]+`"`) {
			t.Errorf("%s names the message %q, which no code logs", troubleshooting, match[1])
		}
	}
}
