package suggest

import (
	"slices"
	"testing"
)

func TestNear(t *testing.T) {
	known := []string{"endpoint", "timeout", "timeouts", "pageSize", "id"}
	for word, want := range map[string][]string{
		"endpont":   {"endpoint"},
		"ENDPOINT":  {"endpoint"},
		"page_size": {"pageSize"},
		"timeoutt":  {"timeout", "timeouts"},
		"timeout":   {"timeout"},
		"ix":        {"id"},
		"x":         nil,
		"":          nil,
		"region":    nil,
	} {
		if got := Near(word, known); !slices.Equal(got, want) {
			t.Errorf("%q: got %q, want %q", word, got, want)
		}
	}
}

func TestQuestion(t *testing.T) {
	if got := Question([]string{"a", "b"}); got != "; did you mean a or b?" {
		t.Error(got)
	}
	if got := Question(nil); got != "" {
		t.Error(got)
	}
}
