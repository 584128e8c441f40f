// Package printable makes text from other sources safe to show in logs, events,
// conditions and answers, and on a terminal. The sources are tenants, kubelets,
// callers of webhooks, and the cloud.
//
// The package is pure, so rules and decisions may import it.
package printable

import (
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"
)

// ellipsis is the end of a text that was cut.
const ellipsis = "…"

// Line returns the text as one line of at most limit bytes, without characters
// that a terminal or a log viewer interprets. A tab or a line break becomes a
// space. U+FFFD replaces other control characters, characters that change the
// direction of writing, and bytes that are not UTF-8. A text that was cut ends
// with "…". The limit must be at least 3.
func Line(text string, limit int) string {
	cut := Cut(text, limit)
	clean := strings.Map(func(r rune) rune {
		switch {
		case r == '\n', r == '\r', r == '\t', r == '\u0085', r == '\u2028', r == '\u2029':
			return ' '
		case obeyed(r):
			return utf8.RuneError
		default:
			return r
		}
	}, cut)
	return Cut(clean, limit) // a replacement can be longer than the original
}

// obeyed reports whether a terminal or a viewer might interpret the character
// instead of showing it.
func obeyed(r rune) bool {
	return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == '\u2028' || r == '\u2029'
}

// Cut returns the text, cut to at most limit bytes. A text that was cut ends with
// "…", which has 3 bytes. The limit must be at least 3.
func Cut(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	end := limit - len(ellipsis)
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + ellipsis
}

// Writer returns a writer to a terminal. Line feeds and tabs stay, because they
// format the output. All other control characters become U+FFFD.
func Writer(to io.Writer) io.Writer { return writer{to} }

type writer struct{ to io.Writer }

func (w writer) Write(p []byte) (int, error) {
	clean := strings.Map(func(r rune) rune {
		if obeyed(r) && r != '\n' && r != '\t' {
			return utf8.RuneError
		}
		return r
	}, string(p))
	if _, err := io.WriteString(w.to, clean); err != nil {
		return 0, err
	}
	return len(p), nil
}

// JSON returns a writer of JSON to a terminal. It escapes control characters in
// strings, so that the values do not change.
func JSON(to io.Writer) io.Writer { return jsonWriter{to} }

type jsonWriter struct{ to io.Writer }

func (w jsonWriter) Write(p []byte) (int, error) {
	var b strings.Builder
	for _, r := range string(p) {
		if obeyed(r) && r != '\n' && r != '\t' {
			fmt.Fprintf(&b, `\u%04x`, r)
		} else {
			b.WriteRune(r)
		}
	}
	if _, err := io.WriteString(w.to, b.String()); err != nil {
		return 0, err
	}
	return len(p), nil
}
