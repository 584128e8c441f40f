package settings

import "github.com/spf13/pflag"

// The annotations of a flag for the reference page. They do not record which flags
// are upstream's, because the tests have a list of these.
const (
	annotationDeviation = "fairlead.dev/deviation"
	annotationIgnored   = "fairlead.dev/ignored"
)

// ignoredPrefix begins the usage of a flag that is ignored.
const ignoredPrefix = "Accepted and ignored: "

// deviates records how a flag differs from upstream's, in its default or in its
// effect. If the default differs, the text names upstream's.
func deviates(fs *pflag.FlagSet, name, how string) {
	annotate(fs.Lookup(name), annotationDeviation, how)
}

// ignored records that an upstream flag is accepted without effect here, and
// why.
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
