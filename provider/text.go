package provider

import (
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// maxText is the number of bytes after which the rest of a text is ignored. Some SDKs return
// whole pages.
const maxText = 16 << 10

// maxBroken limits the search for JSON objects in a text. The search ends once it has read
// this many bytes that turned out not to be JSON. Without the limit, the search could read
// the rest of a page again after each brace.
const maxBroken = 2 * maxText

// text has everything that was read from the text of an error.
type text struct {
	words  string // in lower case, without quotes, names, JSON and addresses
	codes  []string
	status int // 0: none
	broken int // bytes that were read as JSON in vain
}

// newText reads the text of an error. It first removes the names, and then
// everything between quotes, because users may have chosen those words.
func newText(err error, names []string) (t text) {
	safely(func() {
		said := err.Error()
		if len(said) > maxText {
			said = said[:maxText]
		}
		// Remove the longest name first, because a name may be a part of another one.
		for _, name := range slices.SortedFunc(slices.Values(names), func(a, b string) int { return len(b) - len(a) }) {
			said = without(said, name)
		}
		said = addresses.ReplaceAllString(t.unquoted(said), " ")
		t.findCodes(said)
		t.findNumber(said)
		t.words = strings.Join(strings.Fields(strings.ToLower(said)), " ")
	})
	return t
}

// without removes a name from a text, except where the name is a part of another word.
func without(said, name string) string {
	if name == "" {
		return said
	}
	var rest strings.Builder
	for {
		i := strings.Index(said, name)
		if i < 0 {
			rest.WriteString(said)
			return rest.String()
		}
		end := i + len(name)
		if (i > 0 && inWord(said[i-1]) && inWord(name[0])) || (end < len(said) && inWord(said[end]) && inWord(name[len(name)-1])) {
			rest.WriteString(said[:end])
		} else {
			rest.WriteString(said[:i] + " ")
		}
		said = said[end:]
	}
}

func inWord(b byte) bool {
	return b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= '0' && b <= '9' || b >= 0x80
}

// unquoted returns the text without the parts between quotes. It replaces each JSON
// object with the messages in it.
func (t *text) unquoted(said string) string {
	var rest strings.Builder
	var unclosed [256]bool // by kind of quote: one was not closed, so no later one is closed
	for i := 0; i < len(said); {
		switch b := said[i]; {
		case b == '{':
			messages, length := t.findJSON(said[i:])
			rest.WriteString(" " + messages)
			i += length
		case b == '"' || b == '`' || b == '\'' && (i == 0 || !inWord(said[i-1])): // not the apostrophe in "can't"
			length := 1
			if !unclosed[b] {
				length = quoted(said[i:])
				unclosed[b] = length == 1
			}
			if codeFollows.MatchString(said[max(i-16, 0):i]) && isListed(said[i:i+length]) {
				t.codes = append(t.codes, said[i:i+length])
			}
			rest.WriteByte(' ')
			i += length
		default:
			rest.WriteByte(b)
			i++
		}
	}
	return rest.String()
}

// quoted returns the length of the quotation at the start of the text. It returns 1
// if the quotation is not closed.
func quoted(said string) int {
	for i := 1; i < len(said); i++ {
		switch said[i] {
		case '\\':
			i++
		case said[0]:
			return i + 1
		}
	}
	return 1
}

// findJSON reads a JSON object at the start of the text. It returns the messages and the
// length of the object. The length is 1 if there is no object, or if the search has reached
// maxBroken.
func (t *text) findJSON(said string) (messages string, length int) {
	if t.broken >= maxBroken {
		return "", 1
	}
	var object map[string]any
	decoder := json.NewDecoder(strings.NewReader(said))
	if err := decoder.Decode(&object); err != nil {
		t.broken += min(len(said), readInVain(err))
		return "", 1
	}
	return t.readJSON(object, maxDepth), int(decoder.InputOffset())
}

// readInVain returns the number of bytes that the decoder had read when it returned the
// error.
func readInVain(err error) int {
	const atOnce = 512 // the decoder reads at least this many bytes
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		return max(int(syntax.Offset), atOnce)
	}
	return maxText
}

// jsonNames are the names of fields that hold a status, a code or a message.
var jsonNames = map[string]bool{
	"status": true, "statuscode": true, "code": true, "error": true, "type": true, "reason": true, "errorcode": true,
	"errordescription": true, "message": true, "msg": true, "detail": true, "description": true, "faultstring": true,
}

func (t *text) readJSON(object map[string]any, depth int) string {
	if depth == 0 {
		return ""
	}
	var messages strings.Builder
	for _, name := range slices.Sorted(maps.Keys(object)) {
		value, read := object[name], jsonNames[plain(name)]
		if list, ok := value.([]any); ok && len(list) > 0 {
			value = list[0]
		}
		switch value := value.(type) {
		case float64:
			if read {
				t.number(int(value))
			}
		case string:
			if read {
				messages.WriteString(t.message(value))
			}
		case map[string]any:
			messages.WriteString(t.readJSON(value, depth-1))
		}
	}
	return messages.String()
}

// message reads a text that was found in JSON. The text may be a code.
func (t *text) message(said string) string {
	if isListed(said) {
		t.codes = append(t.codes, said)
	}
	return t.unquoted(strings.ReplaceAll(said, "{", " ")) + " " // JSON within JSON is not read
}

func (t *text) number(n int) {
	if t.status == 0 && n >= http.StatusBadRequest && n <= 599 {
		t.status = n
	}
}

var (
	addresses = regexp.MustCompile(`[a-zA-Z][a-zA-Z0-9+.-]*://[^\s:]+(?::\d+)?[^\s:]*`)
	// codeFollows matches the words before a quoted code in the texts of oauth2
	// and Azure.
	codeFollows = regexp.MustCompile(`(?i)\b(?:oauth2|code)\s*[:=]\s*$`)
	// statedCodes match these codes, in this order:
	//   - a code after a word such as "reason", as in the texts of AWS, Azure
	//     and Oracle
	//   - a code in brackets at the end, as in the texts of Hetzner
	//   - words in capitals that are joined by underscores
	//   - a code after a status
	statedCodes = []*regexp.Regexp{
		regexp.MustCompile(`(?i)\b(?:api error|error code|service error|code|reason)\s*[:=]?\s*([a-z][a-z0-9_.]+)`),
		regexp.MustCompile(`\(([A-Za-z]+(?:_[A-Za-z]+)*)(?:, [0-9a-zA-Z-]+)?\)\s*$`),
		regexp.MustCompile(`\b([A-Z]+(?:_[A-Z]+)+)\b`),
		regexp.MustCompile(`\b[45]\d\d ([A-Z][a-z]+(?:[A-Z][a-z]+)+)\b`),
	}
	// statedNumbers match a status before or after certain words. They also match a
	// status in square brackets, if it is at the start of a text or after a colon.
	statedNumbers = []*regexp.Regexp{
		regexp.MustCompile(`(?i)\b(?:status|http(?:/\d(?:\.\d)?)?|error|code|response|got|answered)[\s:=\[(]{1,3}([45]\d\d)\b`),
		regexp.MustCompile(`\b([45]\d\d) (?:\(request|instead)\b`),
		regexp.MustCompile(`(?:^|: )\[([45]\d\d)\]`),
	}
	statedStatus = regexp.MustCompile(`\b([45]\d\d)[ :(-]+([A-Z][A-Za-z' -]+)`)
)

// findCodes reads the codes that the text states. A word counts only if it is
// in the list of codes, because the expressions also match other words.
func (t *text) findCodes(said string) {
	for _, stated := range statedCodes {
		for _, found := range stated.FindAllStringSubmatch(said, maxItems) {
			code := strings.Trim(found[1], ".")
			if isListed(code) {
				t.codes = append(t.codes, code)
			}
		}
	}
}

func (t *text) findNumber(said string) {
	for _, stated := range statedNumbers {
		for _, found := range stated.FindAllStringSubmatch(said, maxItems) {
			t.number(atoi(found[1]))
		}
	}
	for _, found := range statedStatus.FindAllStringSubmatch(said, maxItems) {
		if n := atoi(found[1]); http.StatusText(n) != "" && strings.HasPrefix(found[2], http.StatusText(n)) {
			t.number(n)
		}
	}
}

func atoi(digits string) int {
	n, _ := strconv.Atoi(digits)
	return n
}
