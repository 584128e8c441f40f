package settings

import (
	"slices"
	"strings"

	"github.com/spf13/pflag"
	"k8s.io/klog/v2"

	"github.com/fairlead-k8s/fairlead/internal/printable"
)

const (
	// annotationSecret is the annotation of flags whose values the components of
	// Kubernetes do not show. Programs may give it to their own flags.
	annotationSecret = "classified"
	// secretValue is shown instead of such a value.
	secretValue = "CLASSIFIED"
)

// ShownFlags returns the values of all flags, for those who may read /flagz. It
// hides secrets.
func (s *Settings) ShownFlags() map[string]string {
	all := map[string]string{}
	s.flags.VisitAll(func(f *pflag.Flag) { all[f.Name] = shownValue(f) })
	return all
}

// LogFlags logs the values of all flags, with verbosity 1. It hides secrets.
func (s *Settings) LogFlags(logger klog.Logger) {
	s.flags.VisitAll(func(f *pflag.Flag) { logger.V(1).Info("Flag", "flag", "--"+f.Name, "value", shownValue(f)) })
}

func shownValue(f *pflag.Flag) string {
	value := f.Value.String()
	if value != "" && (f.Annotations[annotationSecret] != nil || isNamedAsSecret(f)) {
		return secretValue
	}
	return printable.WithoutSecrets(value) // for URLs, such as the one in --master
}

// secretWords are words in the name of a flag that may hold a secret.
var secretWords = []string{"credential", "credentials", "key", "passphrase", "passwd", "password", "secret", "token"}

// isNamedAsSecret reports whether a flag holds a secret by its name. Programs add
// their own flags and those of imported packages, most of which are older than the
// annotation. The name of a file that holds a secret is not itself a secret.
func isNamedAsSecret(f *pflag.Flag) bool {
	if !strings.HasPrefix(f.Value.Type(), "string") {
		return false
	}
	words := strings.Split(f.Name, "-")
	if slices.Contains([]string{"dir", "file", "path"}, words[len(words)-1]) {
		return false
	}
	return slices.ContainsFunc(words, func(word string) bool { return slices.Contains(secretWords, word) })
}
