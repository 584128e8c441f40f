package printable

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestLine(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"PlainTextStays":             {"not found: größe 小", "not found: größe 小"},
		"LineFeedIsASpace":           {"a\nI1122 forged", "a I1122 forged"},
		"CarriageReturnIsASpace":     {"a\rforged", "a forged"},
		"SeparatorsOfUnicodeAre":     {"a\u2028b\u2029c\u0085d", "a b c d"},
		"EscapeIsReplaced":           {"\x1b[2Jgone\x1b]0;title\x07", "�[2Jgone�]0;title�"},
		"C1IsReplaced":               {"a\u009b31mred", "a�31mred"},
		"DirectionIsReplaced":        {"a\u202egnp.exe\u2066\u200fb", "a�gnp.exe��b"},
		"DeleteAndNulAreReplaced":    {"a\x7f\x00b", "a��b"},
		"WhatIsNotUTF8IsReplaced":    {"a\xffb", "a�b"},
		"TextAtTheLimitStays":        {strings.Repeat("a", 100), strings.Repeat("a", 100)},
		"LongTextIsCut":              {strings.Repeat("a", 101), strings.Repeat("a", 97) + "…"},
		"NoCharacterIsCutInTheHalf":  {strings.Repeat("a", 96) + "éééé", strings.Repeat("a", 96) + "…"},
		"ReplacementsStayInTheLimit": {strings.Repeat("\x1b", 100), strings.Repeat("�", 32) + "…"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Line(c.text, 100); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestWriter(t *testing.T) {
	var out bytes.Buffer
	text := "a\tb\n\x1b[31mred\rc\u202ed\n"
	if n, err := Writer(&out).Write([]byte(text)); n != len(text) || err != nil {
		t.Errorf("got %d, %v", n, err)
	}
	if want := "a\tb\n�[31mred�c�d\n"; out.String() != want {
		t.Errorf("got %q, want %q", out.String(), want)
	}
}

func TestJSON(t *testing.T) {
	var out bytes.Buffer
	value := "größe\x1b[2J\u009b\u202e\x7f"
	if err := json.NewEncoder(JSON(&out)).Encode(value); err != nil {
		t.Fatal(err)
	}
	var got string
	if err := json.Unmarshal(out.Bytes(), &got); err != nil || got != value {
		t.Errorf("got %q, %v", got, err)
	}
	if strings.ContainsFunc(strings.TrimSuffix(out.String(), "\n"), obeyed) {
		t.Errorf("got %q", out.String())
	}
}

func FuzzLine(f *testing.F) {
	f.Add("a\x1b\n\u202e", 3)
	f.Add(strings.Repeat("é", 50), 20)
	f.Fuzz(func(t *testing.T, text string, limit int) {
		limit = max(3, limit%2000)
		got := Line(text, limit)
		if len(got) > limit || !utf8.ValidString(got) || strings.ContainsFunc(got, obeyed) {
			t.Errorf("got %q", got)
		}
		if again := Line(got, limit); again != got {
			t.Errorf("got %q, then %q", got, again)
		}
	})
}
