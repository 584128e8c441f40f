package app

import (
	"cmp"
	"fmt"
	"time"

	"github.com/spf13/pflag"

	"github.com/fairlead-k8s/fairlead/provider/conformance"
)

// conformanceLimits are limits of the cloud that the suite cannot find out by itself.
// A limit of 0 is not set. The limit of the program's target then applies.
type conformanceLimits struct {
	pageSize, maxTargets, maxRoutes int
	eventuallyWithin                time.Duration
}

func (l *conformanceLimits) addFlags(flags *pflag.FlagSet, name typed) {
	flags.IntVar(&l.pageSize, name("page-size"), 0, "How many instances the cloud returns in one page. The check of pages needs more than twice as many machines.")
	flags.IntVar(&l.maxTargets, name("max-targets"), 0, "How many backends the cloud allows for a load balancer. The check of this limit needs one more machine than that.")
	flags.IntVar(&l.maxRoutes, name("max-routes"), 0, "How many routes the cloud allows. The check of this limit creates that many routes.")
	flags.DurationVar(&l.eventuallyWithin, name("eventually-within"), 0, "How long the cloud may take to show a change. 0 means what the program says, or 30s.")
}

// validate returns all errors of the limits.
func (l *conformanceLimits) validate(f *conformanceFlags) (errs []error) {
	flag := f.typed.flag
	for _, limit := range []struct {
		flag   string
		value  int
		writes bool // whether only checks that change the cloud use the limit
	}{{"page-size", l.pageSize, false}, {"max-targets", l.maxTargets, true}, {"max-routes", l.maxRoutes, true}} {
		switch {
		case limit.value < 0:
			errs = append(errs, fmt.Errorf("%s must not be negative, but got %d", flag(limit.flag), limit.value))
		case limit.value > 0 && limit.writes && !f.allowWrites:
			errs = append(errs, fmt.Errorf("%s has no effect without %s: nothing is created", flag(limit.flag), flag("allow-writes")))
		}
	}
	switch {
	case l.eventuallyWithin < 0:
		errs = append(errs, fmt.Errorf("%s must not be negative, but got %v", flag("eventually-within"), l.eventuallyWithin))
	case l.eventuallyWithin > 0 && f.checkTimeout > 0 && l.eventuallyWithin >= f.checkTimeout:
		errs = append(errs, fmt.Errorf("%s=%v must be less than %s=%v: a check would end before the cloud has shown a change", flag("eventually-within"), l.eventuallyWithin, flag("check-timeout"), f.checkTimeout))
	}
	return errs
}

// apply sets the limits in the target.
func (l *conformanceLimits) apply(t *conformance.Target) {
	t.PageSize = cmp.Or(l.pageSize, t.PageSize)
	t.MaxTargets = cmp.Or(l.maxTargets, t.MaxTargets)
	t.MaxRoutes = cmp.Or(l.maxRoutes, t.MaxRoutes)
	t.EventuallyWithin = cmp.Or(l.eventuallyWithin, t.EventuallyWithin)
}
