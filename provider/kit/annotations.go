package kit

import (
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fairlead-k8s/fairlead/provider/kit/suggest"
)

// Annotations reads the annotations of a Service or a Node and gathers all problems
// with them. Methods such as Bool read one key. They return false if the annotation is
// missing or wrong. Err returns the problems. For a wrong value, it names the key, the
// value and the allowed values. For an unknown key, it suggests known keys. Read all
// keys before you call Err, because a key that was never read counts as unknown.
type Annotations struct {
	values   map[string]string
	prefix   string
	known    []string
	problems map[string]error
}

// NewAnnotations returns a reader for the annotations. The provider's own keys
// begin with the prefix, such as "acme.example.com/". A key with this prefix
// that is never read, such as "acme.example.com/drian", is an error. With an
// empty prefix, unknown keys are not reported.
func NewAnnotations(values map[string]string, prefix string) *Annotations {
	return &Annotations{values: values, prefix: prefix, problems: map[string]error{}}
}

// Text returns the value without spaces around it. It may be empty.
func (a *Annotations) Text(key string) (string, bool) {
	a.known = append(a.known, key)
	value, ok := a.values[key]
	return strings.TrimSpace(value), ok
}

// Bool reads true or false.
func (a *Annotations) Bool(key string) (value, ok bool) {
	text, ok := a.OneOf(key, "true", "false")
	return text == "true", ok
}

// OneOf reads one of the allowed words.
func (a *Annotations) OneOf(key string, allowed ...string) (string, bool) {
	text, ok := a.Text(key)
	if ok && !slices.Contains(allowed, text) {
		a.Refuse(key, "must be "+strings.Join(allowed, " or ")+suggest.Question(suggest.Near(text, allowed)))
		return "", false
	}
	return text, ok
}

// Int reads a whole number between two bounds.
func (a *Annotations) Int(key string, least, most int) (int, bool) {
	text, ok := a.Text(key)
	if !ok {
		return 0, false
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < least || n > most {
		a.Refuse(key, "must be a whole number from "+strconv.Itoa(least)+" to "+strconv.Itoa(most))
		return 0, false
	}
	return n, true
}

// Duration reads a duration between two bounds, such as 30s.
func (a *Annotations) Duration(key string, least, most time.Duration) (time.Duration, bool) {
	text, ok := a.Text(key)
	if !ok {
		return 0, false
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < least || d > most {
		a.Refuse(key, "must be a duration from "+least.String()+" to "+most.String()+", such as 30s")
		return 0, false
	}
	return d, true
}

// Prefixes reads CIDRs that are separated by commas. It returns them masked, sorted
// and without duplicates. An empty list is an error, because it could mean everyone
// or no one. If one CIDR is wrong, the whole list is refused, because without that
// CIDR the list would have another meaning.
func (a *Annotations) Prefixes(key string) ([]netip.Prefix, bool) {
	text, ok := a.Text(key)
	if !ok {
		return nil, false
	}
	var all []netip.Prefix
	for part := range strings.SplitSeq(text, ",") {
		prefix, err := netip.ParsePrefix(strings.TrimSpace(part))
		if err != nil {
			a.Refuse(key, "must be CIDRs such as 192.0.2.0/24, separated by commas")
			return nil, false
		}
		all = append(all, prefix.Masked())
	}
	slices.SortFunc(all, netip.Prefix.Compare)
	return slices.Compact(all), true
}

// Refuse records that the value of a key cannot be used. The argument allowed is
// the end of the message, such as "must be the name of a network". Use Refuse for
// rules that only the provider knows.
func (a *Annotations) Refuse(key, allowed string) {
	a.problems[key] = Invalidf("annotation %s: %q is refused: it %s", key, a.values[key], allowed)
}

// Err returns an error that names all problems, in one line and in the order of
// the keys. It returns nil if there is no problem.
func (a *Annotations) Err() error {
	problems := maps.Clone(a.problems)
	for key := range a.values {
		if a.prefix != "" && strings.HasPrefix(key, a.prefix) && !slices.Contains(a.known, key) {
			problems[key] = Invalidf("annotation %s: is unknown%s", printable(key), instead(key, a.ours()))
		}
	}
	var all []error
	for _, key := range slices.Sorted(maps.Keys(problems)) {
		all = append(all, problems[key])
	}
	return Join(all...)
}

// ours returns the keys that were read and have the prefix.
func (a *Annotations) ours() (keys []string) {
	for _, key := range a.known {
		if strings.HasPrefix(key, a.prefix) && !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	return keys
}
