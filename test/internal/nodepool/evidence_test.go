package nodepool

import (
	"net/http"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-k8s/fairlead/simulator"
)

// Each row lists the cloud's answers, one a second: A says that the Node's instance is
// absent, P that it is present, and W that another instance is present. A minus means
// that the daemon began after the first answer. A deletion needs three absences, and W
// between the last two. If the rule Compared is set, up to two more absences may
// follow W.
func TestUnproven(t *testing.T) {
	for name, row := range map[string]struct {
		answers  string
		rules    Rules
		unproven string // a part of what unproven returns; empty if the deletion is proven
	}{
		"ConfirmationBeforeTheLastAbsence":    {"AAWA", Rules{}, ""},
		"TooFewAbsences":                      {"AWA", Rules{}, "absent 2 times"},
		"PresentResetsTheEvidence":            {"AAPAWA", Rules{}, "absent 2 times"},
		"AbsentForTooShort":                   {"AAWA", Rules{AbsentFor: time.Minute}, "absent for"},
		"NoConfirmation":                      {"AAA", Rules{}, "not said present"},
		"AloneNeedsNoConfirmation":            {"AAA", Rules{Alone: true}, ""},
		"AloneIsDeletedWhenItsTimeIsOver":     {"AAA", Rules{Alone: true, AbsentFor: 3 * time.Second}, ""},
		"NoAbsenceAfterTheConfirmation":       {"AAAW", Rules{}, "not said present"},
		"AbsenceAfterTheConfirmation":         {"AAWAA", Rules{}, "not said present"},
		"ComparisonAfterTheConfirmation":      {"AAWAAA", Rules{Compared: true}, ""},
		"TooManyAbsencesAfterIt":              {"AAWAAAA", Rules{Compared: true}, "not said present"},
		"ConfirmationBeforeTheEvidence":       {"AWAA", Rules{Compared: true}, "not said present"},
		"ComparisonAndNoAbsenceAfterwards":    {"AAAW", Rules{Compared: true}, "not said present"},
		"ComparisonDoesNotReplaceTheWitness":  {"AAAAA", Rules{Compared: true}, "not said present"},
		"AnswersBeforeTheDaemonBeganDoNotAdd": {"-AAWA", Rules{}, "absent 2 times"},
	} {
		t.Run(name, func(t *testing.T) {
			began := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
			m := &Member{Node: &corev1.Node{}, Instance: simulator.Instance{ID: "i-1"}, Rules: row.rules}
			m.Rules.Absences = Absences
			answers, late := strings.CutPrefix(row.answers, "-")
			since := began
			if late {
				since = began.Add(time.Second)
			}
			var all []Answer
			at := began
			for _, letter := range answers {
				a := Answer{Began: at, ended: at.Add(time.Millisecond), call: simulator.GetInstance, instance: m.Instance.ID, Status: http.StatusOK}
				switch letter {
				case 'A':
					a.Status = http.StatusNotFound
				case 'W':
					a.instance = "i-2"
				}
				all, at = append(all, a), at.Add(time.Second)
			}
			got := m.unproven(all, at, since)
			if (got == "") != (row.unproven == "") || !strings.Contains(got, row.unproven) {
				t.Errorf("%q, want %q", got, row.unproven)
			}
		})
	}
}
