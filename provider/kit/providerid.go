package kit

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// ProviderIDs prints and parses the provider IDs of one kind of instance. It also
// parses the forms that earlier versions of the provider have written.
type ProviderIDs struct {
	forms []idForm
	valid map[string]func(string) bool
}

// Errors of ProviderIDs.Parse. Neither is an answer about the existence of the instance.
var (
	// ErrForeignProviderID means that the provider ID has the scheme of another cloud.
	// Its Node belongs to another provider.
	ErrForeignProviderID = errors.New("it belongs to another provider")
	// ErrMalformedProviderID means that the provider ID fits no form. It is empty, has no
	// scheme, or has a scheme of this cloud.
	ErrMalformedProviderID = errors.New("it is malformed")
)

// NewProviderIDs returns provider IDs of one form. The first argument is this form,
// such as "acme://{region}/{id}". The names in braces are the parts. Print uses only
// this form. Parse also reads the legacy forms, such as "acme:///{id}", or "{id}" for
// IDs without a scheme. If several forms fit, the first one counts. Between two slashes,
// a form can have nothing, a word, a part, or a word followed by a part, such as
// "bm-{id}". NewProviderIDs panics if a form has anything else there, if a form has no
// part, or if it has the same part twice. It also panics if the first argument has no
// scheme.
//
// Later versions of a provider must not change the first argument, because the
// provider ID of a Node can never change.
func NewProviderIDs(written string, legacy ...string) *ProviderIDs {
	ids := &ProviderIDs{valid: map[string]func(string) bool{}}
	for _, text := range append([]string{written}, legacy...) {
		form, err := parseForm(text)
		if err != nil {
			panic("kit.NewProviderIDs: " + err.Error())
		}
		ids.forms = append(ids.forms, form)
	}
	if ids.forms[0].scheme == "" {
		panic("kit.NewProviderIDs: " + written + " has no scheme")
	}
	return ids
}

// Where returns a copy with a rule for one part. The given function reports whether a
// value is allowed. Without a rule, a part can have only letters, digits, dots, hyphens
// and underscores. Whatever the rule is, a part is never empty, "." or "..". It never
// has a character that could change the path of a request.
func (p *ProviderIDs) Where(part string, valid func(string) bool) *ProviderIDs {
	ids := &ProviderIDs{forms: p.forms, valid: map[string]func(string) bool{part: valid}}
	for other, rule := range p.valid {
		if other != part {
			ids.valid[other] = rule
		}
	}
	return ids
}

// Print returns the provider ID with these parts. The parts have the same order
// as in the first argument of NewProviderIDs. Print returns an error if Parse
// could not read the result.
func (p *ProviderIDs) Print(parts ...string) (string, error) {
	form := p.forms[0]
	text, left := form.scheme+"://", parts
	for n, s := range form.segments {
		if n > 0 {
			text += "/"
		}
		text += s.word
		if s.part == "" {
			continue
		}
		if len(left) == 0 || !p.accepts(s.part, left[0]) {
			return "", Invalidf("provider ID %s: the parts %q do not fit", form.text, parts)
		}
		text, left = text+left[0], left[1:]
	}
	if len(left) > 0 {
		return "", Invalidf("provider ID %s: the parts %q do not fit", form.text, parts)
	}
	return text, nil
}

// Parse returns the parts of a provider ID by their names. If the form of the ID does
// not have a part, that part is empty. The error is an *InvalidError that wraps
// ErrForeignProviderID or ErrMalformedProviderID.
func (p *ProviderIDs) Parse(text string) (map[string]string, error) {
	scheme, rest, found := strings.Cut(text, "://")
	if !found || scheme == "" {
		scheme, rest = "", text
	}
	ours := scheme == ""
	for _, form := range p.forms {
		if form.scheme != scheme {
			continue
		}
		ours = true
		if parts, ok := p.match(form, rest); ok {
			return parts, nil
		}
	}
	if !ours {
		return nil, Invalidf("provider ID %q: %w; provider IDs of this provider are like %s", text, ErrForeignProviderID, p.forms[0].text)
	}
	return nil, Invalidf("provider ID %q: %w; it should be like %s", text, ErrMalformedProviderID, p.spellings())
}

func (p *ProviderIDs) match(form idForm, rest string) (map[string]string, bool) {
	texts := strings.Split(rest, "/")
	if len(texts) != len(form.segments) {
		return nil, false
	}
	parts := map[string]string{}
	for n, s := range form.segments {
		value, ok := strings.CutPrefix(texts[n], s.word)
		switch {
		case !ok, s.part == "" && value != "", s.part != "" && !p.accepts(s.part, value):
			return nil, false
		case s.part != "":
			parts[s.part] = value
		}
	}
	return parts, true
}

var plainPart = regexp.MustCompile(`^[A-Za-z0-9._-]+$`)

func (p *ProviderIDs) accepts(part, value string) bool {
	if value == "" || value == "." || value == ".." || strings.ContainsFunc(value, endsPart) {
		return false
	}
	if rule := p.valid[part]; rule != nil {
		return rule(value)
	}
	return plainPart.MatchString(value)
}

// endsPart reports whether a character is refused in a part, because it could change the
// path of a request.
func endsPart(r rune) bool { return r <= ' ' || r >= 0x7f || strings.ContainsRune(`/\?#%`, r) }

func (p *ProviderIDs) spellings() string {
	var all []string
	for _, form := range p.forms {
		all = append(all, form.text)
	}
	return strings.Join(all, " or ")
}

// idForm is a form of provider IDs.
type idForm struct {
	text, scheme string
	segments     []idSegment
}

// idSegment is the text between two slashes: a word, followed by a part. Each of them
// may be empty.
type idSegment struct{ word, part string }

var (
	schemes  = regexp.MustCompile(`^[a-z][a-z0-9+.-]*$`)
	segments = regexp.MustCompile(`^([A-Za-z0-9._-]*)(?:\{([A-Za-z][A-Za-z0-9]*)\})?$`)
)

func parseForm(text string) (idForm, error) {
	form := idForm{text: text}
	scheme, rest, found := strings.Cut(text, "://")
	switch {
	case !found:
		rest = text
	case !schemes.MatchString(scheme):
		return form, fmt.Errorf("%q has no valid scheme", text)
	default:
		form.scheme = scheme
	}
	var parts []string
	for s := range strings.SplitSeq(rest, "/") {
		found := segments.FindStringSubmatch(s)
		if found == nil || found[2] != "" && slices.Contains(parts, found[2]) {
			return form, fmt.Errorf("%q: the segment %q must be a word, a part, or a word and then a part, and no part may be used twice", text, s)
		}
		if found[2] != "" {
			parts = append(parts, found[2])
		}
		form.segments = append(form.segments, idSegment{found[1], found[2]})
	}
	if len(parts) == 0 {
		return form, fmt.Errorf("%q has no part", text)
	}
	return form, nil
}
