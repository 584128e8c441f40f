package cloud

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/fairlead-k8s/fairlead/provider"
)

// applyingTable is a table that also implements provider.RouteApplier.
type applyingTable struct {
	table

	most  int
	apply func(context.Context, []provider.RouteChange) ([]provider.RouteResult, error)
}

func (t *applyingTable) ApplyRoutes(ctx context.Context, _ string, changes []provider.RouteChange) ([]provider.RouteResult, error) {
	return t.apply(ctx, changes)
}

func (t *applyingTable) MaxRouteChanges() int { return t.most }

// The wrappers that TestWrappers uses.
type (
	embeds         struct{ cloudprovider.Routes }
	unwraps        struct{ cloudprovider.Routes }
	overridesOther struct{ cloudprovider.Routes }
	overrides      struct{ cloudprovider.Routes }
	overridesByPtr struct{ cloudprovider.Routes }
	inner          struct{ cloudprovider.Routes } // declares CreateRoute, and is embedded
	embedsOverride struct{ inner }
	unwrapsDeeper  struct{ embeds }
	byHand         struct{ theirs cloudprovider.Routes }
	appliesItself  struct{ cloudprovider.Routes }
	wrapsItself    struct{ cloudprovider.Routes }
	unwrapsToNil   struct{ cloudprovider.Routes }
)

func (w unwraps) Unwrap() cloudprovider.Routes        { return w.Routes }
func (w overridesOther) Unwrap() cloudprovider.Routes { return w.Routes }
func (w overrides) Unwrap() cloudprovider.Routes      { return w.Routes }
func (w *overridesByPtr) Unwrap() cloudprovider.Routes {
	return w.Routes
}
func (w embedsOverride) Unwrap() cloudprovider.Routes { return w.Routes }
func (w unwrapsDeeper) Unwrap() cloudprovider.Routes  { return w.Routes }
func (w byHand) Unwrap() cloudprovider.Routes         { return w.theirs }
func (w *wrapsItself) Unwrap() cloudprovider.Routes   { return w }
func (unwrapsToNil) Unwrap() cloudprovider.Routes     { return (*applyingTable)(nil) }

func (overridesOther) ListRoutes(context.Context, string) ([]*cloudprovider.Route, error) {
	return nil, nil
}
func (overrides) DeleteRoute(context.Context, string, *cloudprovider.Route) error { return nil }
func (*overridesByPtr) CreateRoute(context.Context, string, string, *cloudprovider.Route) error {
	return nil
}
func (inner) CreateRoute(context.Context, string, string, *cloudprovider.Route) error { return nil }

func (byHand) ListRoutes(context.Context, string) ([]*cloudprovider.Route, error) {
	return nil, nil
}

func (byHand) CreateRoute(context.Context, string, string, *cloudprovider.Route) error {
	return nil
}
func (byHand) DeleteRoute(context.Context, string, *cloudprovider.Route) error { return nil }

func (appliesItself) MaxRouteChanges() int { return 7 }
func (appliesItself) ApplyRoutes(context.Context, string, []provider.RouteChange) ([]provider.RouteResult, error) {
	return nil, nil
}

// If a wrapper declares a method itself, that method is called, and no optional
// interface replaces it. If the wrapper has the method Unwrap, other optional
// interfaces behind it are found. If the wrapper only embeds the inner value, they are
// reported as hidden.
func TestWrappers(t *testing.T) {
	offers := &applyingTable{most: 3}
	for _, tt := range []struct {
		name   string
		routes cloudprovider.Routes
		most   int // the maximum of the RouteApplier that is found; 0: none is found
		hidden []string
	}{
		{"NoWrapper", offers, 3, nil},
		{"PlainProvider", table(nil), 0, nil},
		{"EmbeddedInterfaceIsHiddenAndReported", embeds{offers}, 0, []string{"provider.RouteApplier"}},
		{"EmbeddedByPointer", &embeds{offers}, 0, []string{"provider.RouteApplier"}},
		{"UnwrapIsFollowed", unwraps{offers}, 3, nil},
		{"UnwrapIsFollowedThroughAPointer", &unwraps{offers}, 3, nil},
		{"TwoWrappers", unwraps{&overridesOther{offers}}, 3, nil},
		{"AnotherMethodIsOverridden", overridesOther{offers}, 3, nil},
		{"OverriddenMethodWins", overrides{offers}, 0, []string{"provider.RouteApplier"}},
		{"OverriddenMethodWinsThroughAPointer", &overrides{offers}, 0, []string{"provider.RouteApplier"}},
		{"OverriddenByAPointer", &overridesByPtr{offers}, 0, []string{"provider.RouteApplier"}},
		{"OverriddenBehindAnotherWrapper", unwraps{overrides{offers}}, 0, []string{"provider.RouteApplier"}},
		{"OverriddenByWhatIsEmbedded", embedsOverride{inner{offers}}, 0, nil},
		{"EmbeddedTwice", unwrapsDeeper{embeds{offers}}, 3, nil},
		{"DelegatedByHand", byHand{offers}, 0, nil},
		{"OwnInterfaceWins", appliesItself{offers}, 7, nil},
		{"WrapsItself", &wrapsItself{}, 0, nil},
		{"UnwrapsToNil", unwrapsToNil{offers}, 0, []string{"provider.RouteApplier"}},
		{"NothingInside", unwraps{}, 0, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			found := partsOfRoutes(tt.routes)
			most := 0
			if found.applier != nil {
				most = found.applier.MaxRouteChanges()
			}
			if most != tt.most {
				t.Errorf("found an interface with the limit %d, want %d", most, tt.most)
			}
			if diff := cmp.Diff(tt.hidden, found.hidden()); diff != "" {
				t.Errorf("hidden (-want +got):\n%s", diff)
			}
		})
	}
}

// reloads is a provider that can reload.
type reloads struct {
	vendor
	provider.Reloader
}

type (
	wrapper          struct{ cloudprovider.Interface }
	unwrappingVendor struct{ cloudprovider.Interface }
)

func (w unwrappingVendor) Unwrap() cloudprovider.Interface { return w.Interface }

// Routes is called instead of the accessor of the wrapped vendor.
func (w unwrappingVendor) Routes() (cloudprovider.Routes, bool) { return embeds{}, true }

func TestWrappedProvider(t *testing.T) {
	p := reloads{}
	if got := wrap(wrapper{p}); got.CanReload() || !cmp.Equal(got.hidden, []string{"provider.Reloader"}) {
		t.Errorf("reloads: %v, hidden: %v, want it hidden", got.CanReload(), got.hidden)
	}
	got := wrap(unwrappingVendor{p})
	if !got.CanReload() || len(got.hidden) > 0 {
		t.Errorf("reloads: %v, hidden: %v, want it found", got.CanReload(), got.hidden)
	}
	var found parts
	if found.findRoutes(got.theirs); found.routes != (embeds{}) {
		t.Errorf("the routes are %T, want those of the wrapper", found.routes)
	}
}
