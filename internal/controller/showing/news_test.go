package showing

import (
	"testing"
	"time"
)

func TestNews(t *testing.T) {
	ago := func(d time.Duration) time.Time { return noon.Add(-d) }
	for name, tt := range map[string]struct {
		news   News
		reason string
		want   bool
	}{
		"FirstReasonIsNew":                   {nil, "A", true},
		"SameReasonIsNotRepeatedSoon":        {News{"A": ago(RepeatAfter - time.Second)}, "A", false},
		"SameReasonIsRepeatedLater":          {News{"A": ago(RepeatAfter)}, "A", true},
		"AnotherReasonIsNewAtOnce":           {News{"A": noon}, "B", true},
		"ReasonsThatAlternateAreNotRepeated": {News{"A": ago(RepeatAfter), "B": ago(time.Second)}, "A", false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := tt.news.IsNew(tt.reason, noon); got != tt.want {
				t.Errorf("IsNew = %v, want %v", got, tt.want)
			}
		})
	}
	before := News{"A": ago(time.Hour)}
	after := before.With("B", noon).With("A", noon)
	if len(before) != 1 || len(after) != 2 || !after.Next().Equal(noon.Add(RepeatAfter)) {
		t.Errorf("before %v, after %v", before, after)
	}
}

func TestPause(t *testing.T) {
	for attempts, want := range []time.Duration{time.Second, time.Second, 2 * time.Second, 4 * time.Second, 5 * time.Second, 5 * time.Second} {
		if got := Pause(attempts, time.Second, 5*time.Second); got != want {
			t.Errorf("after %d: %v, want %v", attempts, got, want)
		}
	}
}
