package printable

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

const (
	secret = "xxxxx"
	// maxSearched is the maximum number of bytes that WithoutSecrets searches. It
	// bounds the time.
	maxSearched = 16 << 10
	// maxDecoded is how often WithoutSecrets decodes percent-encoded characters. A URL
	// in the query of a URL is encoded twice.
	maxDecoded = 2
)

// secrets match secrets. Each group is one. W stands for the characters that end a
// word.
var secrets = []*regexp.Regexp{
	// The user and the password in a URL. A host with a colon has no port if other
	// characters than digits follow. Then they are the beginning of a password, with a
	// character that should have been escaped, such as a slash.
	pattern(`://(?:([^W/?#]*)@|([^W/?#:@\[]*:[^W/?#]*[^W/?#0-9][^W]*)@)`),
	// Query and fragment of a URL.
	pattern(`://[^W?#]*[?#]([^W]+)`),
	// user:password@ without a scheme. A port and a path are no password.
	pattern(`(?:^|[W=,;(){}/])([^W=,;(){}\[:@/]+:(?:[0-9]*[^W0-9/][^W]*|[0-9]+))@`),
	pattern(`\[([^W=,;(){}\[\]:@/]+:(?:[0-9]*[^W0-9/\]][^W\]]*|[0-9]+))@`),
	// Query and fragment without a scheme.
	pattern(`[?#]([^W=]*=[^W]*)`),
	// Header fields, also as JSON and as Go prints them.
	pattern(`(?i)\b(?:authorization|x-[a-z0-9-]*(?:token|key|secret|signature))["']?[\s\x00]*[:=][\s\x00]*[\["']*((?:(?:bearer|basic|digest|token|negotiate|apikey)\s+)?[^W\]]+)`),
	pattern(`(?i:\bbearer)[\s\x00+]+([a-z]*[A-Z0-9_~+/=-][^W]*)`), // Other letters are probably a word of a sentence.
	// Values with a name, such as token=value and "password": "value". After a colon and
	// a space without quotes, there is probably a sentence.
	pattern(`(?i)(?:token|password|passwd|passphrase|secret|credential|api[_-]?key|access[_-]?key|signature)s?(?:["']?[:=]["']?|["']\s*:\s*["'])([^W]+)`),
}

func pattern(text string) *regexp.Regexp {
	return regexp.MustCompile(strings.ReplaceAll(text, "W", "\\s\"'`<>\\\\"))
}

// WithoutSecrets replaces secrets in the text by "xxxxx": the user, the password, the
// query and the fragment of each URL, and what follows names such as Authorization,
// token and password. It also finds them in escaped JSON, in percent-encoded text and
// in URLs without a scheme. Errors of clients contain the URL of the request, and
// tenants can read events and conditions.
//
// A secret without such a mark cannot be recognised, such as a bare token, nor can the
// beginning of a URL whose end was cut off. A text of more than 16 KiB is cut.
func WithoutSecrets(text string) string {
	text = Cut(text, maxSearched)
	if !mayHaveSecrets(text) {
		return text
	}
	return search(text)
}

// names has a part of each name that the patterns look for.
var names = []string{"authorization", "token", "passw", "passphrase", "secret", "credential", "key", "signature"}

// mayHaveSecrets reports whether a pattern can match. Most messages have none of the
// characters and no value with such a name, and the patterns take a hundred times as long.
func mayHaveSecrets(text string) bool {
	const marks = "@?#\\"
	special := func(r rune) bool { return r >= utf8.RuneSelf || strings.ContainsRune(marks, r) }
	if strings.ContainsFunc(text, special) {
		return true
	}
	for rest := text; ; {
		_, after, found := strings.Cut(rest, "%")
		if !found {
			break
		}
		if _, n := decode("%" + after); n > 1 {
			return true
		}
		rest = after
	}
	lower := strings.ToLower(text)
	return strings.Contains(lower, "bearer") || slices.ContainsFunc(names, func(name string) bool { return hasValue(lower, name) })
}

// hasValue reports whether a colon or an equals sign follows the name.
func hasValue(text, name string) bool {
	for {
		_, after, found := strings.Cut(text, name)
		if !found {
			return false
		}
		// What follows these letters follows each other name in them, too.
		text = strings.TrimLeft(strings.TrimLeft(after, "abcdefghijklmnopqrstuvwxyz"), "\"' \t\n\f\r\x00")
		if text != "" && (text[0] == ':' || text[0] == '=') {
			return true
		}
	}
}

func search(text string) string {
	hidden := make([]bool, len(text))
	v := viewOf(text).rewritten(unescape)
	v.hide(hidden)
	for n := 0; n < maxDecoded && strings.Contains(v.text, "%"); n++ {
		v = v.rewritten(decode)
		v.hide(hidden)
	}
	var b strings.Builder
	for i := range len(text) {
		switch {
		case !hidden[i]:
			b.WriteByte(text[i])
		case i == 0 || !hidden[i-1]:
			b.WriteString(secret)
		}
	}
	return b.String()
}

// view is a text with other characters in place of escape sequences.
type view struct {
	text string
	at   []int // where each byte of text begins in the original, and the length of the original
}

func viewOf(text string) view {
	v := view{text, make([]int, len(text)+1)}
	for i := range v.at {
		v.at[i] = i
	}
	return v
}

// rewritten returns a view in which step has replaced characters. For the beginning of
// a text, step returns one character, and the length of what it stands for.
func (v view) rewritten(step func(string) (byte, int)) view {
	text, at := make([]byte, 0, len(v.text)), make([]int, 0, len(v.at))
	for i := 0; i < len(v.text); {
		c, n := step(v.text[i:])
		text, at = append(text, c), append(at, v.at[i])
		i += n
	}
	return view{string(text), append(at, v.at[len(v.text)])}
}

// hide marks the secrets. A pattern does not see what earlier patterns have marked.
func (v view) hide(hidden []bool) {
	text := []byte(strings.ReplaceAll(v.text, "@sha256:", "\x00sha256:")) // a digest of an image, not a host after a password
	for _, s := range secrets {
		for _, found := range s.FindAllSubmatchIndex(text, -1) {
			for g := 2; g < len(found); g += 2 {
				for i := max(found[g], 0); i < found[g+1]; i++ {
					text[i] = secret[0]
					for n := v.at[i]; n < v.at[i+1]; n++ {
						hidden[n] = true
					}
				}
			}
		}
	}
}

// unescape is a step for characters that JSON escapes, also several times.
func unescape(text string) (byte, int) {
	rest := strings.TrimLeft(text, `\`)
	n := len(text) - len(rest)
	switch {
	case n == 0:
		return text[0], 1
	case rest == "":
		return '\\', n
	case strings.IndexByte(`/"'`, rest[0]) >= 0:
		return rest[0], n + 1
	case strings.IndexByte("ntr", rest[0]) >= 0:
		return ' ', n + 1
	case rest[0] == 'u' && len(rest) >= 5:
		if code, err := strconv.ParseUint(rest[1:5], 16, 16); err == nil {
			return byte(min(code, 0x80)), n + 5
		}
	}
	return '\\', n
}

// decode is a step for percent-encoded characters. None of them ends a word.
func decode(text string) (byte, int) {
	if text[0] != '%' || len(text) < 3 {
		return text[0], 1
	}
	code, err := strconv.ParseUint(text[1:3], 16, 8)
	switch {
	case err != nil:
		return text[0], 1
	case code <= ' ' || strings.IndexByte("\"'`<>\\", byte(code)) >= 0:
		return 0, 3
	default:
		return byte(code), 3
	}
}
