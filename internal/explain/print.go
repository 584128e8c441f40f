package explain

import (
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/fairlead-k8s/fairlead/internal/printable"
)

// maxLine bounds the length of a line, in bytes. A cloud or a tenant might have
// written the line.
const maxLine = 4096

// lines builds an answer for people: a heading, and then lines with a word on the left
// and text on the right.
type lines struct {
	w   strings.Builder
	now time.Time
}

// add writes one line. The word is empty if the line continues the previous one.
func (l *lines) add(word, format string, values ...any) {
	fmt.Fprintf(&l.w, "  %-11s %s\n", word, printable.Line(fmt.Sprintf(format, values...), maxLine))
}

// ago returns the time since t, for people.
func (l *lines) ago(t time.Time) string { return duration.HumanDuration(l.now.Sub(t)) }

// text returns an answer for people.
func (a Answer) text(now time.Time) string {
	l := &lines{now: now}
	fmt.Fprintf(&l.w, "%s: %s\n", a.name(), printable.Line(a.Summary, maxLine))
	if a.Since != nil {
		l.add("since", "%s, for %s", a.Since.UTC().Format(time.RFC3339), l.ago(*a.Since))
	}
	if a.Why != nil {
		l.cause("why", *a.Why)
	}
	l.causes("also", a.Also)
	l.causes("reported", a.Reported)
	l.causes("by others", a.Others)
	for i, w := range a.Writers {
		at := ""
		if !w.Time.IsZero() {
			at = ", " + l.ago(w.Time) + " ago"
		}
		l.add(once("written by", i), "%s: %s%s", w.Field, w.Manager, at)
	}
	for _, m := range a.Memory {
		l.memory(m)
	}
	l.daemon(a.Daemon)
	l.add("source", "%s", sources[a.Source])
	if a.NotLive != "" {
		l.add("", "%s", a.NotLive)
	}
	for i, command := range a.Next {
		l.add(once("next", i), "%s", command)
	}
	return l.w.String()
}

// sources describes each source of an answer, for people.
var sources = map[string]string{
	Offline: "offline: what is written in the API server",
	Live:    "live: what is written in the API server, and what the daemon remembers",
}

func (a Answer) name() string { return a.Object.Kind + "/" + a.Object.Key }

// once returns the word for line 0, and the empty string for the other lines.
func once(word string, i int) string {
	if i > 0 {
		return ""
	}
	return word
}

func (l *lines) causes(word string, all []Cause) {
	for i, c := range all {
		l.cause(once(word, i), c)
	}
}

func (l *lines) cause(word string, c Cause) {
	about := ""
	if c.About != "" {
		about = " on " + c.About
	}
	if c.By != "" {
		about += " by " + c.By
	}
	at := ""
	if !c.Since.IsZero() {
		at = ", " + l.ago(c.Since) + " ago"
	}
	l.add(word, "%s: %s", c.Reason, c.Text)
	l.add("", "(%s%s%s)", c.Shown, about, at)
	if c.Do != "" {
		l.add("", "What to do: %s", c.Do)
	}
}

func (l *lines) daemon(d Daemon) {
	if d.Problem != "" {
		l.add("daemon", "%s", d.Problem)
	} else {
		l.add("daemon", "%s leads, since %s; it renewed its Lease %s ago", d.Leader, d.Since.UTC().Format(time.RFC3339), l.ago(d.Renewed))
	}
	l.causes("", d.Reported)
}

// text returns a table of everything that waits.
func (w Waiting) text(now time.Time) string {
	l := &lines{now: now}
	if len(w.Items) == 0 {
		fmt.Fprintln(&l.w, "Nothing waits.")
	} else {
		l.table(w.Items)
	}
	for i, what := range w.Unread {
		l.add(once("not listed", i), "%s", what)
	}
	l.daemon(w.Daemon)
	l.add("source", "%s", sources[w.Source])
	return l.w.String()
}

// table writes a line for each answer.
func (l *lines) table(all []Answer) {
	var rows strings.Builder
	rows.WriteString("AGE\tOBJECT\tREASON\tMESSAGE\n")
	for _, a := range all {
		why, age := Cause{Reason: "-", Text: a.Summary}, "-"
		if a.Why != nil {
			why = *a.Why
		}
		if a.Since != nil {
			age = l.ago(*a.Since)
		}
		fmt.Fprintf(&rows, "%s\t%s\t%s\t%s\n", age, a.name(), why.Reason, printable.Line(why.Text, maxLine))
	}
	table := tabwriter.NewWriter(&l.w, 0, 0, 2, ' ', 0)
	_, _ = table.Write([]byte(rows.String())) // A strings.Builder returns no error.
	_ = table.Flush()
}
