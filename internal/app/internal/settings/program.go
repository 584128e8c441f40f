package settings

import (
	"fmt"
	"maps"
	"slices"

	"github.com/spf13/pflag"
	cliflag "k8s.io/component-base/cli/flag"
)

// addOwn adds the program's own flags.
func (s *Settings) addOwn(sections *cliflag.NamedFlagSets) {
	ours := map[string]bool{}
	for _, fs := range sections.FlagSets {
		fs.VisitAll(func(f *pflag.Flag) { ours[f.Name] = true })
	}
	for _, heading := range s.program.Flags.Order {
		own := s.program.Flags.FlagSets[heading]
		own.VisitAll(func(f *pflag.Flag) {
			if ours[f.Name] {
				s.wrong = append(s.wrong, fmt.Errorf("the program's own flag --%s exists already", f.Name))
			}
		})
		sections.FlagSet(heading).AddFlagSet(own)
	}
}

// showDefaults puts the program's defaults into the help text. They are not set
// yet: a flag that holds a list would add the values of the command line to
// them.
func (s *Settings) showDefaults() {
	for _, name := range slices.Sorted(maps.Keys(s.program.Defaults)) {
		f := s.flags.Lookup(name)
		if f == nil {
			s.wrong = append(s.wrong, fmt.Errorf("the program has a default for --%s, and there is no such flag", name))
			continue
		}
		f.DefValue = s.program.Defaults[name]
	}
}

// ApplyDefaults sets the program's defaults of the flags that the command line
// does not set. The flags must have been parsed. They count as set afterwards.
func (s *Settings) ApplyDefaults() {
	for _, name := range slices.Sorted(maps.Keys(s.program.Defaults)) {
		f := s.flags.Lookup(name)
		if f == nil || f.Changed {
			continue
		}
		if err := f.Value.Set(s.program.Defaults[name]); err != nil {
			s.wrong = append(s.wrong, fmt.Errorf("the program's default of --%s: %w", name, err))
		}
		f.Changed = true
	}
}
