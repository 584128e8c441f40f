package node

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-k8s/fairlead/internal/controller/message"
	"github.com/fairlead-k8s/fairlead/internal/controller/step"
)

func TestRecall(t *testing.T) {
	at := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	waits := memory{uid: "u", waitsSince: at, waitsFor: "InstanceNotFound", vain: 3, nextAsk: at.Add(time.Minute)}
	waiting := step.Memory{Reason: "InstanceNotFound", Since: at, Attempts: 3, NextLook: at.Add(time.Minute)}
	for name, row := range map[string]struct {
		m    memory
		last *fetched
		want step.Memory
	}{
		"NodeThatWaits":          {waits, nil, waiting},
		"NodeThatDoesNotWait":    {memory{uid: "u", waitsFor: "InstanceNotFound"}, nil, step.Memory{}},
		"AnswerOfAnotherNode":    {waits, &fetched{uid: "v", at: at, answer: answer{given: described}}, waiting},
		"AnswerIsADescription":   {memory{uid: "u"}, &fetched{uid: "u", at: at, answer: answer{given: described}}, step.Memory{Said: "the instance is described", SaidAt: at}},
		"AnswerThatAPassHasUsed": {memory{uid: "u"}, &fetched{uid: "u", at: at, used: true}, step.Memory{}},
		"AnswerIsAFailure": {
			memory{},
			&fetched{uid: "u", at: at, answer: answer{given: refused, cause: message.Cause{Reason: "CloudDenied", Message: "No."}}},
			step.Memory{Said: "CloudDenied: No.", SaidAt: at},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if d := cmp.Diff(row.want, row.m.recall(row.last)); d != "" {
				t.Errorf("-want +got:\n%s", d)
			}
		})
	}
}
