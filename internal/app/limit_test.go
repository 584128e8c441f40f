package app

import (
	"testing"

	"github.com/fairlead-k8s/fairlead/internal/cloud"
)

func TestLimitIsTold(t *testing.T) {
	for by, want := range map[cloud.LimitedBy]string{
		cloud.QuotaLimits:   "CloudCallsLimited",
		cloud.CeilingLimits: "CloudCallsLimited",
		cloud.Unlimited:     "CloudCallsNotLimited",
	} {
		if got := limitEvent(cloud.Limit{By: by}); got.Reason != want {
			t.Errorf("event %q for %q, want %q", got.Reason, by, want)
		}
	}
}
