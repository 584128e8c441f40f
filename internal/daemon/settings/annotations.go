package settings

import "github.com/spf13/pflag"

// These are the keys of annotations that the reference page shows with a flag. No
// annotation says that a flag is upstream's: the tests have a list of upstream's flags.
const (
	annotationDeviation = "fairlead.dev/deviation"
	annotationIgnored   = "fairlead.dev/ignored"
)

// ignoredPrefix is the beginning of the usage text of an ignored flag.
const ignoredPrefix = "Accepted and ignored: "

// deviates records how the default or the effect of a flag differs from upstream. If
// the default differs, the text names upstream's default.
func deviates(fs *pflag.FlagSet, name, how string) {
	annotate(fs.Lookup(name), annotationDeviation, how)
}

// ignored records that an upstream flag has no effect here, with the reason. The
// flag is accepted.
func ignored(fs *pflag.FlagSet, name, why string) {
	f := fs.Lookup(name)
	f.Usage = ignoredPrefix + f.Usage
	annotate(f, annotationIgnored, why)
}

func annotate(f *pflag.Flag, key, text string) {
	if f.Annotations == nil {
		f.Annotations = map[string][]string{}
	}
	f.Annotations[key] = []string{text}
}

// Ignored is a flag that was set but has no effect here.
type Ignored struct{ Flag, Why string }

// Ignored returns the flags without effect whose value is not the default.
func (s *Settings) Ignored() []Ignored {
	var all []Ignored
	s.flags.Visit(func(f *pflag.Flag) {
		if why := f.Annotations[annotationIgnored]; why != nil && f.Value.String() != f.DefValue {
			all = append(all, Ignored{"--" + f.Name, why[0]})
		}
	})
	if why := s.IPAM.unused(); why != "" && s.program.Read[flagAllocate] == "" {
		all = append(all, Ignored{"--" + flagAllocate, why})
	}
	return all
}
