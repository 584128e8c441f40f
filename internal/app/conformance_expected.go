package app

import (
	"fmt"
	"slices"
	"strings"

	utilerrors "k8s.io/apimachinery/pkg/util/errors"
)

// expectedFailures parses the values of --expect-failure. The value "ID=ISSUE" stands
// for all failures of the check ID. The value "ID: TEXT=ISSUE" stands only for
// failures of this check whose text contains TEXT.
func (f *conformanceFlags) expectedFailures() (map[string]string, error) {
	flag := f.typed.flag("expect-failure")
	all, err := byID(flag, "ISSUE", f.expect)
	errs := []error{err}
	for _, value := range f.expect {
		key, issue, _ := strings.Cut(value, "=")
		id, text, named := strings.Cut(key, ":")
		_, whole := all[id]
		switch {
		case !named:
		case strings.TrimSpace(text) == "":
			errs = append(errs, fmt.Errorf("%s: %q has no text after the colon; want \"ID: TEXT=ISSUE\", or ID=ISSUE for all failures of the check", flag, value))
		case strings.HasPrefix(issue, " "): // as in "… = false, nil"
			errs = append(errs, fmt.Errorf("%s: %q: TEXT ends at the first \"=\"; want a part of the failure without \"=\"", flag, value))
		case whole:
			errs = append(errs, fmt.Errorf("%s: %q has no effect, because all failures of %s are expected", flag, value, id))
		}
	}
	return all, utilerrors.NewAggregate(errs)
}

// checksOf returns the IDs of the checks that are expected to fail.
func checksOf(expected map[string]string) []string {
	var ids []string
	for _, key := range keys(expected) {
		id, _, _ := strings.Cut(key, ":")
		ids = append(ids, id)
	}
	return slices.Compact(ids)
}
