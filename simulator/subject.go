package simulator

import (
	"context"
	"slices"
)

// subject is what a call asks for by ID or name.
type subject struct{ ids, names []string }

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

// filter reports which instances are asked for.
func (s subject) filter() func(*machine) bool {
	if s.everything() {
		return func(*machine) bool { return true }
	}
	ids, names := setOf(s.ids), setOf(s.names)
	return func(m *machine) bool { return ids[m.ID] || names[m.Name] }
}

func setOf(words []string) map[string]bool {
	s := make(map[string]bool, len(words))
	for _, word := range words {
		s[word] = true
	}
	return s
}

// identified adds the names that belong to the IDs, and the IDs to the names.
func (c *Cloud) identified(ctx context.Context, s subject) subject {
	full := subject{ids: slices.Clone(s.ids), names: slices.Clone(s.names)}
	names := setOf(s.names)
	c.look(ctx, view{}, func(t *table[machine]) {
		for _, id := range s.ids {
			if m := t.row(id); m != nil {
				full.names = append(full.names, m.Name)
			}
		}
		if len(names) == 0 {
			return
		}
		for _, m := range t.rows {
			if names[m.Name] {
				full.ids = append(full.ids, m.ID)
			}
		}
	})
	return full
}
