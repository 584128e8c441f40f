package app

import "github.com/spf13/pflag"

// What the reference says of a flag beside its usage. Whose a flag is need not
// be said: the tests know upstream's.
const (
	remarkDeviation = "fairlead.dev/deviation"
	remarkIgnored   = "fairlead.dev/ignored"
)

// deviates notes how a flag of upstream's is another here: its default, which
// is then named, or what it does.
func deviates(fs *pflag.FlagSet, name, how string) { remark(fs, name, remarkDeviation, how) }

// ignored notes that a flag of upstream's changes nothing here, and why it is
// accepted all the same.
func ignored(fs *pflag.FlagSet, name, why string) {
	f := fs.Lookup(name)
	f.Usage = "Accepted and ignored: " + f.Usage
	remark(fs, name, remarkIgnored, why)
}

func remark(fs *pflag.FlagSet, name, key, text string) {
	f := fs.Lookup(name)
	if f.Annotations == nil {
		f.Annotations = map[string][]string{}
	}
	f.Annotations[key] = []string{text}
}
