package docs

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fairlead-k8s/fairlead/internal/daemon"
	"github.com/fairlead-k8s/fairlead/internal/golden"
)

// TestReference compares the generated pages with the code and the data from which they
// are made.
func TestReference(t *testing.T) {
	reasons, err := json.MarshalIndent(daemon.AllReasons(), "", "\t")
	if err != nil {
		t.Fatal(err)
	}
	const ofReasons = "the message.Reason in the events.go of its controller"
	for path, page := range map[string]struct{ text, source string }{
		"internal/explain/reasons.json":         {string(reasons) + "\n", ofReasons},
		"docs/reference/doctor.md":              {doctorPage(), "the check in internal/doctor"},
		"docs/reference/conformance.md":         {conformancePage(), "the check in provider/conformance"},
		"docs/reference/events.md":              {eventsPage(), ofReasons},
		"docs/reference/metrics.md":             {metricsPage(t), "the Help of the metric, in a file metrics.go"},
		"docs/promises.md":                      {promisesPage(t), promisesFile},
		"docs/compared-with-upstream.md":        {comparedPage(t), differencesFile},
		"docs/reference/evidence.md":            {evidencePage(t), promisesFile},
		"docs/reference/provider-interfaces.md": {interfacesPage(t), "the comments in provider/"},
	} {
		t.Run(filepath.Base(path), func(t *testing.T) { golden.Compare(t, filepath.Join(root, path), page.text, page.source) })
	}
}

// cell escapes text for a cell of a Markdown table.
var cell = strings.NewReplacer("\n", " ", "|", `\|`, "*", `\*`)

// sentence returns the text for a cell, with a full stop at the end.
func sentence(text string) string {
	if text == "" {
		return ""
	}
	return cell.Replace(strings.TrimSuffix(text, ".")) + "."
}
