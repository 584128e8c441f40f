package settings

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/pflag"
)

// renamed has the flags of earlier versions that have another name now.
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

// ExplainUnknown adds the new name to the error about a flag that has been
// renamed. It returns other errors as they are.
func ExplainUnknown(err error) error {
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) {
		return err
	}
	if now, ok := renamed[strings.ReplaceAll(unknown.GetSpecifiedName(), "_", "-")]; ok {
		return fmt.Errorf("%w: its name is --%s now", err, now)
	}
	return err
}
