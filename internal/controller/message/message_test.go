package message

import (
	"errors"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestCut(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"ShortTextStays":            {"not found", "not found"},
		"TextAtTheLimitStays":       {strings.Repeat("a", MaxErrorBytes), strings.Repeat("a", MaxErrorBytes)},
		"LongTextIsCut":             {strings.Repeat("a", MaxErrorBytes+1), strings.Repeat("a", MaxErrorBytes) + "…"},
		"NoCharacterIsCutInTheHalf": {strings.Repeat("a", MaxErrorBytes-1) + "é", strings.Repeat("a", MaxErrorBytes-1) + "…"},
	} {
		t.Run(name, func(t *testing.T) {
			got := Cut(errors.New(c.text))
			if got != c.want {
				t.Errorf("got %d bytes ending in %q, want %d", len(got), got[max(0, len(got)-10):], len(c.want))
			}
			if !utf8.ValidString(got) {
				t.Error("the text is not valid UTF-8")
			}
		})
	}
}
