package settings

import (
	"slices"
	"strings"

	"github.com/spf13/pflag"
	"k8s.io/klog/v2"

	"github.com/fairlead-k8s/fairlead/internal/printable"
)

const (
	// annotationSecret is the annotation of flags whose values are secret. The
	// components of Kubernetes do not show these values. Programs can set the
	// annotation on their own flags.
	annotationSecret = "classified"
	// secretValue is shown instead of a secret value.
	secretValue = "CLASSIFIED"
)

// ShownFlags returns the values of all flags for /flagz. It hides secrets.
func (s *Settings) ShownFlags() map[string]string {
	all := map[string]string{}
	s.flags.VisitAll(func(f *pflag.Flag) { all[f.Name] = shownValue(f) })
	return all
}

// Line returns the flags that have a value, in the form of a command line. It does
// not hide secrets.
func (s *Settings) Line() []string {
	var line []string
	s.flags.VisitAll(func(f *pflag.Flag) {
		value := f.Value.String()
		if list, ok := f.Value.(pflag.SliceValue); ok {
			value = strings.Join(list.GetSlice(), ",")
		}
		if value != "" {
			line = append(line, "--"+f.Name+"="+value)
		}
	})
	return line
}

// LogFlags logs the values of all flags at verbosity 1. It hides secrets.
func (s *Settings) LogFlags(logger klog.Logger) {
	s.flags.VisitAll(func(f *pflag.Flag) { logger.V(1).Info("Flag", "flag", "--"+f.Name, "value", shownValue(f)) })
}

func shownValue(f *pflag.Flag) string {
	return hiderOf(f)(f.Value.String())
}

// hider returns a value as it may be shown.
type hider func(value string) string

func hiderOf(f *pflag.Flag) hider {
	if isSecret(f) {
		return hideAll
	}
	return printable.WithoutSecrets // for URLs, such as the one in --master
}

func hideAll(value string) string {
	if value == "" {
		return ""
	}
	return secretValue
}

// shownArgument returns an argument of a command line as it may be shown.
func shownArgument(argument string, hide hider) string {
	value := strings.IndexAny(argument, "= ") + 1
	switch {
	case !strings.HasPrefix(argument, "-"):
		value = 0
	case !strings.HasPrefix(argument, "--") && value != len("-v="):
		value = min(len("-v"), len(argument))
	case value == 0:
		value = len(argument)
	}
	return argument[:value] + hide(argument[value:])
}

// isSecret reports whether the value of a flag is secret.
func isSecret(f *pflag.Flag) bool {
	return f.Annotations[annotationSecret] != nil || isNamedAsSecret(f.Name, f.Value.Type())
}

var (
	// A flag might contain a secret if its name contains one of secretNames, or if a
	// word of its name is in secretWords.
	secretNames = []string{"apikey", "credential", "passphrase", "passw", "secret", "token"}
	secretWords = []string{"key", "keys", "pass"}
	// plainTypes lists types whose values are not secrets, by the beginnings of their
	// names.
	plainTypes = []string{"bool", "count", "duration", "float", "int", "uint"}
)

// isNamedAsSecret reports whether a flag probably contains a secret, according to
// its name and the name of its type. Programs add their own flags and those of imported
// packages. Most of these flags do not have the annotation, because they are older
// than it. The name of a file with a secret is not itself a secret.
func isNamedAsSecret(name, kind string) bool {
	if slices.ContainsFunc(plainTypes, func(t string) bool { return strings.HasPrefix(kind, t) }) {
		return false
	}
	name = strings.ReplaceAll(strings.ToLower(name), "_", "-")
	words := strings.Split(name, "-")
	if slices.Contains([]string{"dir", "file", "path"}, words[len(words)-1]) {
		return false
	}
	return slices.ContainsFunc(secretNames, func(part string) bool { return strings.Contains(name, part) }) ||
		slices.ContainsFunc(words, func(word string) bool { return slices.Contains(secretWords, word) })
}
