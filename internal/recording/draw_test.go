package main

import (
	"encoding/xml"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

func TestRecord(t *testing.T) {
	var now time.Duration
	lines, err := record(strings.NewReader("  0.1 s  <ready> & well\n\nhello\n\nok 1\nok 2\n"), func() time.Duration {
		now += time.Second
		return now
	})
	if err != nil || len(lines) != 6 || lines[5].at != 6*time.Second {
		t.Fatal(lines, err)
	}
	lines = before(lines, regexp.MustCompile("^ok"))
	if len(lines) != 3 || lines[2].text != "hello" {
		t.Errorf("EndIsCutOff: %v", lines)
	}
	svg := draw(picture{command: "make demo", title: "A \"title\"", lines: lines})
	var drawn struct {
		Title string `xml:"title"`
		Text  []struct {
			Class string `xml:"class,attr"`
			Style string `xml:"style,attr"`
			Span  string `xml:"tspan"`
			Words string `xml:",chardata"`
		} `xml:"text"`
	}
	if err := xml.Unmarshal([]byte(svg), &drawn); err != nil {
		t.Fatal(err)
	}
	if drawn.Title != "A \"title\"" || len(drawn.Text) != 3 {
		t.Fatalf("%+v", drawn)
	}
	if first := drawn.Text[0]; first.Words != "$ make demo" || first.Class != "command" || first.Style != "" {
		t.Errorf("CommandIsThereFromTheBeginning: %+v", first)
	}
	if step := drawn.Text[1]; step.Span != "  0.1 s" || step.Words != "  <ready> & well" || step.Style != "--at: 1.00s" {
		t.Errorf("StepComesAtItsTime: %+v", step)
	}
	if last := drawn.Text[2]; last.Words != "hello" || last.Style != "--at: 3.00s" {
		t.Errorf("EmptyLineTakesItsRow: %+v", last)
	}
	for _, part := range []string{"prefers-color-scheme: dark", "prefers-reduced-motion: reduce", `role="img"`} {
		if !strings.Contains(svg, part) {
			t.Errorf("there is no %s", part)
		}
	}
}

func TestRun(t *testing.T) {
	file := filepath.Join(t.TempDir(), "x.svg")
	args := []string{"-command", "make x", "-title", "x", "-write-to", file, "--", "sh", "-c"}
	if err := run(t.Context(), append(args, "echo hello; exit 1")); err == nil {
		t.Error("a command that fails is no recording")
	}
	if _, err := os.Stat(file); err == nil {
		t.Error("a command that fails has written a picture")
	}
	if err := run(t.Context(), append(args, "echo hello")); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(file); err != nil || !strings.Contains(string(got), ">hello<") {
		t.Errorf("%s, %v", got, err)
	}
	if err := run(t.Context(), args[:6]); err == nil {
		t.Error("no command, no recording")
	}
}
