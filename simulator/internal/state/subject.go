package state

import "slices"

// Subject selects the resources that a call is about. Each of them has one of the IDs or
// names, and all of the tags.
type Subject struct {
	IDs, Names []string
	Tags       map[string]string
}

// IsEverything reports whether the subject has neither IDs nor names, for example
// in a list without a filter.
func (a Subject) IsEverything() bool { return len(a.IDs)+len(a.Names) == 0 }

// One returns the only ID, or the only name if there is no ID; else it returns "".
func (a Subject) One() string {
	switch {
	case len(a.IDs) == 1:
		return a.IDs[0]
	case len(a.IDs) == 0 && len(a.Names) == 1:
		return a.Names[0]
	}
	return ""
}

// Matches reports whether the pattern matches one of the IDs and names.
func (a Subject) Matches(pattern string) bool {
	matching := func(word string) bool { return matches(pattern, word) }
	return slices.ContainsFunc(a.IDs, matching) || slices.ContainsFunc(a.Names, matching)
}

// filter returns a function that reports whether a resource belongs to the subject.
func (a Subject) filter() func(identity) bool {
	ids, names := setOf(a.IDs), setOf(a.Names)
	return func(i identity) bool {
		return (a.IsEverything() || ids[i.id] || names[i.name]) && a.isTagged(i)
	}
}

func (a Subject) isTagged(i identity) bool {
	for key, value := range a.Tags {
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
