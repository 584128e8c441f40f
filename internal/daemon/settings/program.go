package settings

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/pflag"
	cliflag "k8s.io/component-base/cli/flag"
)

// linkedHeading is the heading of flags that imported packages have put into
// pflag.CommandLine. They are accepted, because cobra accepts them.
const linkedHeading = "linked packages"

// addOwn adds the program's own flags, then those of imported packages.
func (s *Settings) addOwn(sections *cliflag.NamedFlagSets) {
	headings, shorthands := map[string]string{}, map[string]string{} // headings by flag, and flags by shorthand
	for heading, fs := range sections.FlagSets {
		fs.VisitAll(func(f *pflag.Flag) { headings[f.Name], shorthands[f.Shorthand] = heading, f.Name })
	}
	for _, heading := range s.program.Flags.Order {
		own := pflag.NewFlagSet(heading, pflag.ContinueOnError)
		own.SetNormalizeFunc(sections.NormalizeNameFunc)
		s.program.Flags.FlagSets[heading].VisitAll(func(f *pflag.Flag) {
			name := string(sections.NormalizeNameFunc(own, f.Name))
			if other, ok := headings[name]; ok {
				s.wrong = append(s.wrong, fmt.Errorf("the program's own flag --%s, under %q, has the name of the flag --%s under %q; "+
					"rename it, or leave it out and read the existing flag, which is in Flags of ProviderDeps and of ControllerDeps", f.Name, heading, name, other))
				return
			}
			f = s.withoutTaken(f, shorthands)
			own.AddFlag(f)
			headings[f.Name], shorthands[f.Shorthand] = heading, f.Name
		})
		sections.FlagSet(heading).AddFlagSet(own)
	}
	linked := pflag.NewFlagSet(linkedHeading, pflag.ContinueOnError)
	pflag.CommandLine.VisitAll(func(f *pflag.Flag) {
		if _, ok := headings[string(sections.NormalizeNameFunc(linked, f.Name))]; !ok {
			linked.AddFlag(s.withoutTaken(f, shorthands))
		}
	})
	if linked.HasFlags() {
		sections.FlagSet(linkedHeading).AddFlagSet(linked)
	}
}

// withoutTaken returns the flag. If another flag already has its shorthand,
// withoutTaken records an error and returns the flag without the shorthand. A flag
// set panics if two of its flags have the same shorthand.
func (s *Settings) withoutTaken(f *pflag.Flag, shorthands map[string]string) *pflag.Flag {
	if other, ok := shorthands[f.Shorthand]; !ok || f.Shorthand == "" || other == f.Name {
		return f
	}
	s.wrong = append(s.wrong, fmt.Errorf("the program's flag --%s has the shorthand -%s, which --%s already has; give it another shorthand or none",
		f.Name, f.Shorthand, shorthands[f.Shorthand]))
	bare := *f
	bare.Shorthand = ""
	return &bare
}

// unignore removes the marks of an ignored flag from each flag that a controller of the
// program reads.
func (s *Settings) unignore(sections *cliflag.NamedFlagSets) {
	for _, name := range slices.Sorted(maps.Keys(s.program.Read)) {
		var found *pflag.Flag
		for _, fs := range sections.FlagSets {
			if f := fs.Lookup(name); f != nil {
				found = f
			}
		}
		switch {
		case found == nil:
			s.wrong = append(s.wrong, fmt.Errorf("the program's controller %q reads --%s, and there is no such flag", s.program.Read[name], name))
		case found.Annotations[annotationIgnored] != nil:
			found.Usage = strings.TrimPrefix(found.Usage, ignoredPrefix)
			found.Hidden, found.Deprecated = false, ""
			delete(found.Annotations, annotationIgnored)
		}
	}
}

// showDefaults puts the program's defaults into the help text. It does not set the
// flags yet. If a list were set, values on the command line would be added to the
// default instead of replacing it.
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

// ApplyDefaults sets the program's defaults for flags that the command line does not
// set. The flags must have been parsed. A flag that gets a default then counts as
// set.
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
