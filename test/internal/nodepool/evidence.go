package nodepool

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-k8s/fairlead/simulator"
	"github.com/fairlead-k8s/fairlead/test/internal/audit"
	"github.com/fairlead-k8s/fairlead/test/internal/bed"
	"github.com/fairlead-k8s/fairlead/test/internal/expect"
	"github.com/fairlead-k8s/fairlead/test/internal/timeout"
)

// Answer is one answer of the cloud about one instance.
type Answer struct {
	Began, ended time.Time
	call         simulator.Call
	instance     string // an ID, or a name if the call was a list filtered by that name
	Status       int
}

// String returns the instance, the status, and the times at which the call began and ended.
func (a Answer) String() string {
	const layout = "15:04:05.000"
	return fmt.Sprintf("%s %d %s–%s", a.instance, a.Status, a.Began.Format(layout), a.ended.Format(layout))
}

// AnswersOf returns all answers that the cloud has given, from its log.
func AnswersOf(t *testing.T, c *bed.Cloud) []Answer {
	t.Helper()
	var all []Answer
	for line := range strings.Lines(c.Log()) {
		if a, ok := parseAnswer(t, line); ok {
			all = append(all, a)
		}
	}
	return all
}

var (
	callLine  = regexp.MustCompile(`^I(\d{4} [\d:.]+) .*\] "Call" (.*)$`)
	callField = regexp.MustCompile(`(\w+)="?([^" ]*)"?`)
)

func parseAnswer(t *testing.T, line string) (a Answer, ok bool) {
	t.Helper()
	match := callLine.FindStringSubmatch(strings.TrimSpace(line))
	if match == nil {
		return a, false
	}
	fields := map[string]string{}
	for _, pair := range callField.FindAllStringSubmatch(match[2], -1) {
		fields[pair[1]] = pair[2]
	}
	ended, err := time.ParseInLocation("2006 0102 15:04:05.000000", strconv.Itoa(time.Now().Year())+" "+match[1], time.Local)
	if err != nil {
		t.Fatal(err)
	}
	took, err := time.ParseDuration(fields["duration"])
	if err != nil {
		t.Fatalf("%v: %s", err, line)
	}
	status, err := strconv.Atoi(fields["status"])
	if err != nil {
		t.Fatalf("%v: %s", err, line)
	}
	return Answer{ended.Add(-took), ended, simulator.Call(fields["call"]), fields["instance"], status}, true
}

// About returns the answers about one member.
func (m *Member) About(all []Answer) []Answer {
	return slices.DeleteFunc(slices.Clone(all), func(a Answer) bool { return a.instance != m.Instance.ID && a.instance != m.Instance.Name })
}

// AwaitAsked waits until the cloud has been asked about each member at least this many
// times. Earlier questions do not count.
func (p *Pool) AwaitAsked(t *testing.T, times int, members ...*Member) {
	t.Helper()
	before := len(AnswersOf(t, p.Cloud))
	expect.Within(t, 2*time.Minute, func(context.Context) error {
		all := AnswersOf(t, p.Cloud)[before:]
		for _, m := range members {
			if n := len(m.About(all)); n < times {
				return fmt.Errorf("node %s: the cloud was asked %d times about its instance, want %d", m.Name, n, times)
			}
		}
		return nil
	})
}

// AwaitAbsences waits until the cloud has answered, at least this many times for each
// member, that the member's instance does not exist.
func (p *Pool) AwaitAbsences(t *testing.T, times int, members ...*Member) {
	t.Helper()
	expect.Within(t, 2*time.Minute, func(context.Context) error {
		all := AnswersOf(t, p.Cloud)
		for _, m := range members {
			absent := slices.DeleteFunc(m.About(all), func(a Answer) bool { return a.Status != http.StatusNotFound })
			if n := len(absent); n < times {
				return fmt.Errorf("node %s: the cloud has said absent %d times, want %d", m.Name, n, times)
			}
		}
		return nil
	})
}

// Judge checks each deletion: the Node was not healthy, and there was the evidence
// that promise S1 requires (docs/promises.md).
func (p *Pool) Judge(t *testing.T) {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	there, err := p.left(ctx)
	if err != nil {
		t.Error(err)
		return
	}
	instances, err := p.Cloud.Instances(ctx)
	if err != nil {
		t.Error(err)
		return
	}
	healthy, lost := 0, 0
	for _, m := range p.Members {
		if !slices.ContainsFunc(instances, func(i simulator.Instance) bool { return i.ID == m.Instance.ID && i.State != simulator.Terminated }) {
			continue
		}
		healthy++
		if !there[m.UID] && !m.Handled {
			lost++
			t.Errorf("S1: the healthy Node %s (%s) is deleted", m.Name, m.Instance.ID)
		}
	}
	t.Logf("healthy Nodes deleted: %d of %d; other Nodes deleted by the daemon: %d", lost, healthy, len(p.Deletions(t).Done())-lost)
	p.judgeDeletions(t)
}

// judgeDeletions checks that each deletion had its evidence.
func (p *Pool) judgeDeletions(t *testing.T) {
	t.Helper()
	all := AnswersOf(t, p.Cloud)
	seen := map[types.UID]bool{}
	for _, r := range p.Deletions(t) {
		uid, problem := Preconditions(r)
		if problem != "" {
			t.Errorf("S1: %s: %v", problem, r)
			continue
		}
		if r.Status.Code != http.StatusOK {
			continue // The request has deleted nothing.
		}
		n := slices.IndexFunc(p.Members, func(m *Member) bool { return m.UID == uid })
		switch {
		case n < 0:
			t.Errorf("S1: a Node was deleted whose UID no Node of the pool has had: %v", r)
			continue
		case seen[uid]:
			t.Errorf("S1: deleted twice: %v", r)
		}
		seen[uid] = true
		m := p.Members[n]
		if p.Lists || m.Spec.ProviderID == "" {
			continue // The cloud's log has no answers about this instance alone: the provider has looked for it in lists, or by name.
		}
		p.judgeDeletion(t, all, m, r)
	}
}

// judgeDeletion checks that the deletion of this member had its evidence.
func (p *Pool) judgeDeletion(t *testing.T, all []Answer, m *Member, r audit.Request) {
	t.Helper()
	problem := m.unproven(all, r.Time, p.since(r.Time))
	if m.Rules.Terminated {
		problem = p.notEnded(t, m, r.Time)
	}
	if problem != "" {
		t.Errorf("S1: node %s was deleted at %v, but %s", m.Name, r.Time.Local(), problem)
	}
	if !p.readBefore(t, r) {
		t.Errorf("S1: node %s was deleted without a live look", m.Name)
	}
}

// notEnded returns "" if the cloud lists the member's instance as terminated before the
// deletion, and a problem otherwise.
func (p *Pool) notEnded(t *testing.T, m *Member, deleted time.Time) string {
	t.Helper()
	i, err := p.Cloud.Cloud.Instance(context.WithoutCancel(t.Context()), m.Instance.ID)
	if err != nil || i.State != simulator.Terminated || i.TerminatedAt.After(deleted) {
		return fmt.Sprintf("the cloud does not list the instance as terminated before: %+v, %v", i, err)
	}
	return ""
}

// Preconditions returns the UID in the preconditions of a deletion. It returns a problem
// if the preconditions lack the UID or the resourceVersion.
func Preconditions(r audit.Request) (uid types.UID, problem string) {
	var options metav1.DeleteOptions
	if err := json.Unmarshal(r.Body, &options); err != nil {
		return "", "the deletion has no options"
	}
	switch pre := options.Preconditions; {
	case pre == nil || pre.UID == nil || *pre.UID == "":
		return "", "the deletion is not bound to the UID"
	case pre.ResourceVersion == nil || *pre.ResourceVersion == "":
		return *pre.UID, "the deletion is not bound to the resourceVersion"
	default:
		return *pre.UID, ""
	}
}

// since returns the time of the last start of a daemon before this time.
func (p *Pool) since(at time.Time) time.Time {
	var since time.Time
	for _, begun := range p.Begun {
		if begun.Before(at) {
			since = begun
		}
	}
	return since
}

// unproven returns what was missing in the evidence for a deletion, or "" if nothing
// was missing. It reads only the cloud's own answers. Evidence from before the Node
// or the daemon existed does not count.
func (m *Member) unproven(all []Answer, deleted, since time.Time) string {
	if m.CreationTimestamp.After(since) {
		since = m.CreationTimestamp.Time
	}
	var absent []Answer
	// witnesses are the answers "present" about other instances.
	var witnesses []Answer
	for _, a := range all {
		switch about := a.instance == m.Instance.ID; {
		case a.Began.Before(since) || a.ended.After(deleted) || a.call != simulator.GetInstance:
		case about && a.Status == http.StatusOK:
			absent = nil // "Present" resets the evidence.
		case about && a.Status == http.StatusNotFound:
			absent = append(absent, a)
		case !about && a.Status == http.StatusOK:
			witnesses = append(witnesses, a)
		}
	}
	extra := 0 // absences that may come between the confirmation of another Node and the last absence
	if m.Rules.Compared {
		extra = 2
	}
	switch want := m.Rules; {
	case len(absent) < want.Absences:
		return fmt.Sprintf("the cloud had said absent %d times, want %d", len(absent), want.Absences)
	case want.span(absent, deleted) < want.AbsentFor:
		return fmt.Sprintf("the cloud had said absent for %v, want %v", want.span(absent, deleted), want.AbsentFor)
	case !want.Alone && !slices.ContainsFunc(witnesses, between(absent[max(want.Absences-2, len(absent)-2-extra)], absent[len(absent)-1])):
		return fmt.Sprintf("between the last absences the cloud had not said present of another one; absences %v, present %v",
			absent[max(0, len(absent)-5):], witnesses[max(0, len(witnesses)-25):])
	}
	return ""
}

// span returns how long the cloud had said absent, from the first answer to the last
// one. A Node without a witness is deleted when its time is over, even if the last
// answer is older. So for such a Node, the time ends with the deletion.
func (r Rules) span(absent []Answer, deleted time.Time) time.Duration {
	until := absent[len(absent)-1].ended
	if r.Alone {
		until = deleted
	}
	return until.Sub(absent[0].Began)
}

// between returns a function that reports whether a call was made between two other
// calls. The call must begin after the first call has returned, and must return before
// the last call begins.
func between(first, last Answer) func(Answer) bool {
	return func(a Answer) bool { return !a.Began.Before(first.ended) && !a.ended.After(last.Began) }
}

// readBefore reports whether the daemon has read the Node in the 30 seconds before the
// deletion. On a busy machine, the questions between the read and the deletion take
// longer, so the time is longer, too.
func (p *Pool) readBefore(t *testing.T, deletion audit.Request) bool {
	t.Helper()
	justBefore := timeout.Extended(30 * time.Second)
	return len(p.Audit(t).Since(p.Mark).OfDaemons().OfNode(deletion.Object.Name).Where(func(r audit.Request) bool {
		return r.Verb == "get" && !r.Time.After(deletion.Time) && deletion.Time.Sub(r.Time) < justBefore
	})) > 0
}
