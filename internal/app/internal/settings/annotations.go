package settings

import "github.com/spf13/pflag"

// Annotations of a flag for the reference. Whether a flag is upstream's is not
// one of them, because the tests have a list of upstream's flags.
const (
	annotationDeviation = "fairlead.dev/deviation"
	annotationIgnored   = "fairlead.dev/ignored"
)

// deviates records how a flag differs from upstream's: in its default, which is
// then named, or in what it does.
func deviates(fs *pflag.FlagSet, name, how string) {
	annotate(fs.Lookup(name), annotationDeviation, how)
}

// ignored records that a flag of upstream's is accepted and changes nothing here,
// and why.
func ignored(fs *pflag.FlagSet, name, why string) {
	f := fs.Lookup(name)
	f.Usage = "Accepted and ignored: " + f.Usage
	annotate(f, annotationIgnored, why)
}

func annotate(f *pflag.Flag, key, text string) {
	if f.Annotations == nil {
		f.Annotations = map[string][]string{}
	}
	f.Annotations[key] = []string{text}
}

// Ignored is a flag that was given and changes nothing here.
type Ignored struct{ Flag, Why string }

// Ignored returns the flags that were given another value than their default,
// and change nothing here.
func (s *Settings) Ignored() []Ignored {
	var all []Ignored
	s.flags.Visit(func(f *pflag.Flag) {
		if why := f.Annotations[annotationIgnored]; why != nil && f.Value.String() != f.DefValue {
			all = append(all, Ignored{"--" + f.Name, why[0]})
		}
	})
	return all
}
