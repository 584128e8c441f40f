package settings

import "github.com/spf13/pflag"

// What the reference says of a flag beside its usage. Whose a flag is need not
// be said: the tests know upstream's.
const (
	annotationDeviation = "fairlead.dev/deviation"
	annotationIgnored   = "fairlead.dev/ignored"
)

// deviates notes how a flag of upstream's is another here: its default, which
// is then named, or what it does.
func deviates(fs *pflag.FlagSet, name, how string) {
	annotate(fs.Lookup(name), annotationDeviation, how)
}

// ignored notes that a flag of upstream's changes nothing here, and why it is
// accepted all the same.
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
