package service

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-k8s/fairlead/internal/controller/message"
	"github.com/fairlead-k8s/fairlead/internal/controller/step"
)

func TestRecall(t *testing.T) {
	at := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	for name, row := range map[string]struct {
		m    memory
		want step.Memory
	}{
		"Nothing": {memory{}, step.Memory{}},
		"Ensured": {memory{ensuredAt: at}, step.Memory{Said: "the load balancer is ensured", SaidAt: at}},
		"Gone":    {memory{ensuredAt: at, deleted: true}, step.Memory{Said: "the load balancer is gone"}},
		"CallThatHasFailed": {
			memory{ensuredAt: at, failure: failure{cause: message.Cause{Reason: "CloudDenied", Message: "No."}, during: ensure, attempts: 4, since: at, until: at.Add(time.Minute)}},
			step.Memory{Said: "the load balancer is ensured", SaidAt: at, Do: "ensure", Reason: "CloudDenied", Text: "No.", Since: at, Attempts: 4, NextLook: at.Add(time.Minute)},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if d := cmp.Diff(row.want, row.m.recall()); d != "" {
				t.Errorf("-want +got:\n%s", d)
			}
		})
	}
}
