package simulator

import "slices"

// subject is what a call asks for: the resources with one of the IDs or one of
// the names, as far as they have all the tags.
type subject struct {
	ids, names []string
	tags       map[string]string
}

// everything is what a list without a filter asks for.
func (s subject) everything() bool { return len(s.ids)+len(s.names) == 0 }

// one is the only ID or name, if there is only one.
func (s subject) one() string {
	switch {
	case len(s.ids) == 1:
		return s.ids[0]
	case len(s.ids) == 0 && len(s.names) == 1:
		return s.names[0]
	}
	return ""
}

func (s subject) matches(pattern string) bool {
	matching := func(word string) bool { return matches(pattern, word) }
	return slices.ContainsFunc(s.ids, matching) || slices.ContainsFunc(s.names, matching)
}

// filter reports which resources are asked for.
func (s subject) filter() func(identity) bool {
	ids, names := setOf(s.ids), setOf(s.names)
	return func(i identity) bool {
		return (s.everything() || ids[i.id] || names[i.name]) && s.tagged(i)
	}
}

func (s subject) tagged(i identity) bool {
	for key, value := range s.tags {
		if has, ok := i.tags[key]; !ok || has != value {
			return false
		}
	}
	return true
}

func setOf(words []string) map[string]bool {
	s := make(map[string]bool, len(words))
	for _, word := range words {
		s[word] = true
	}
	return s
}
