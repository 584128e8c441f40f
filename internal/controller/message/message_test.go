package message

import (
	"errors"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

// hostile is a text that would forge log entries, control a terminal, and fill every
// watcher's memory.
var hostile = "a\nforged\x1b[2J\u202e" + strings.Repeat("b", 4<<20)

// TestEveryMessageIsBounded makes events and causes in every possible way.
// docs.TestEventsHaveReasons checks that all controllers use only these ways.
func TestEveryMessageIsBounded(t *testing.T) {
	r := Reason{Name: "R"}
	for name, c := range map[string]struct {
		got   string
		limit int
	}{
		"Event":    {r.Event(hostile).Message, MaxEventBytes},
		"Cause":    {r.Cause(hostile).Message, MaxConditionBytes},
		"After":    {r.Cause(hostile).After(hostile).Message, MaxConditionBytes},
		"Followed": {r.Cause("a").Followed(hostile).Message, MaxConditionBytes},
		"Error":    {Cut(errors.New(hostile)), MaxErrorBytes},
		"Value":    {Value(hostile), MaxValueBytes},
	} {
		t.Run(name, func(t *testing.T) {
			if len(c.got) > c.limit || len(c.got) < c.limit-3 {
				t.Errorf("%d bytes, want %d", len(c.got), c.limit)
			}
			if !utf8.ValidString(c.got) || strings.ContainsFunc(c.got, unicode.IsControl) || strings.ContainsRune(c.got, '\u202e') {
				t.Errorf("got %.100q", c.got)
			}
		})
	}
}

// TestErrorsAreShownWithoutSecrets checks the text of a provider's error that tenants
// can read.
func TestErrorsAreShownWithoutSecrets(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"ShortTextStays":   {"not found", "not found"},
		"TextOfManyLines":  {"AccessDenied: no\n\tstatus code: 403", "AccessDenied: no  status code: 403"},
		"SignatureOfAURL":  {`Put "https://lb.example/v1?X-Signature=abc": EOF`, `Put "https://lb.example/v1?xxxxx": EOF`},
		"UserOfAProxy":     {"proxyconnect http://me:secret@proxy:3128: refused", "proxyconnect http://xxxxx@proxy:3128: refused"},
		"SecretAtTheLimit": {strings.Repeat("a", MaxErrorBytes-15) + " https://me:secret@host", strings.Repeat("a", MaxErrorBytes-15) + " https://xxx…"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, got := range []string{Cut(errors.New(c.text)), Reason{}.Cause(c.text).Message, Reason{}.Event(c.text).Message} {
				if got != c.want && name != "SecretAtTheLimit" || strings.Contains(got, "secret") {
					t.Errorf("got %q, want %q", got, c.want)
				}
			}
		})
	}
}
