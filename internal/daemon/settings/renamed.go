package settings

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/pflag"

	"github.com/fairlead-k8s/fairlead/internal/typo"
)

// renamed maps the old names of renamed flags to the new names.
var renamed = map[string]string{
	"route-deletion-crowd-routes":      "route-deletion-budget-routes",
	"route-deletion-crowd-percent":     "route-deletion-budget-percent",
	"route-deletion-crowd-for":         "route-deletion-over-budget-after",
	"node-deletion-crowd-nodes":        "node-deletion-budget-nodes",
	"node-deletion-crowd-percent":      "node-deletion-budget-percent",
	"node-deletion-crowd-absent-for":   "node-deletion-over-budget-after",
	"node-deletion-crowd-pace-nodes":   "node-deletion-over-budget-rate-nodes",
	"node-deletion-crowd-pace-percent": "node-deletion-over-budget-rate-percent",
	"node-deletion-stranger-after":     "node-deletion-foreign-after",
}

// Explain adds an explanation to the error about an unknown flag. For a renamed
// flag, the explanation is the new name. For a flag that upstream has removed, it
// says that. For any other flag, it names similar flags of the set. In the error
// about a wrong value, Explain hides the value if it is secret. Other errors are
// returned unchanged.
func Explain(err error, flags *pflag.FlagSet) error {
	if wrong, ok := errors.AsType[*pflag.InvalidValueError](err); ok && isSecret(wrong.GetFlag()) {
		return fmt.Errorf(`invalid argument %s for "--%s" flag`, secretValue, wrong.GetFlag().Name)
	}
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) {
		return err
	}
	name := strings.ReplaceAll(unknown.GetSpecifiedName(), "_", "-")
	if now, ok := renamed[name]; ok {
		return fmt.Errorf("%w: its name is --%s now", err, now)
	}
	if why, ok := removed[name]; ok {
		return fmt.Errorf("%w: %s", err, why)
	}
	return typo.Flag(err, flags)
}
