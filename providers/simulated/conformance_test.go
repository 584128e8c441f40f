package simulated_test

import (
	"context"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/fairlead-k8s/fairlead/provider/conformance"
	world "github.com/fairlead-k8s/fairlead/provider/conformance/simulated"
	"github.com/fairlead-k8s/fairlead/providers/simulated"
	"github.com/fairlead-k8s/fairlead/simulator"
)

// The limits of the cloud.
const (
	pageSize    = 3
	maxBackends = 6
	maxRoutes   = 210
)

const secret = "s3cret-of-the-account"

// shapes returns Services with annotations of this provider.
func shapes() []conformance.Shape {
	annotated := func(key simulated.Annotation, value string) func(*corev1.Service) {
		return func(s *corev1.Service) { s.Annotations = map[string]string{string(key): value} }
	}
	return []conformance.Shape{
		{Name: "drain", Change: annotated(simulated.AnnotationDrain, "30s"), Want: conformance.NotIgnored},
		{Name: "bad drain", Change: annotated(simulated.AnnotationDrain, "soon"), Want: conformance.Refused, Mentions: []string{string(simulated.AnnotationDrain)}},
		{Name: "bad static IP", Change: annotated(simulated.AnnotationStaticIP, "none"), Want: conformance.Refused, Mentions: []string{string(simulated.AnnotationStaticIP)}},
		{Name: "source ranges", Change: annotated(simulated.AnnotationSourceRanges, "192.0.2.0/24"), Want: conformance.Works},
		{Name: "mistyped", Change: annotated(simulated.AnnotationPrefix+"drian", "30s"), Want: conformance.Refused, Mentions: []string{"drian"}},
	}
}

// configured returns a function that makes the provider with a configuration.
// The word URL in the configuration stands for the URL of the cloud.
func configured(text string) func(context.Context, any) (cloudprovider.Interface, error) {
	return func(ctx context.Context, w any) (cloudprovider.Interface, error) {
		cloud, err := simulated.New(strings.NewReader(strings.ReplaceAll(text, "URL", w.(*world.World).URL())))
		if err != nil {
			return nil, err
		}
		cloud.Initialize(nil, ctx.Done()) //nolint:contextcheck // the contract has no context
		return cloud, nil
	}
}

// denied makes the provider for a cloud that refuses its credentials.
func denied(ctx context.Context, w any) (cloudprovider.Interface, error) {
	if _, err := w.(*world.World).SetFault(ctx, conformance.Fault{Kind: conformance.FaultUnauthenticated}); err != nil {
		return nil, err
	}
	return configured("endpoint: URL")(ctx, w)
}

func configuration(w any) string { return "endpoint: " + w.(*world.World).URL() }

// All checks run and pass.
func TestConformance(t *testing.T) {
	report := conformance.Test(t, conformance.Target{
		Name: simulated.Name,
		World: func(ctx context.Context) (any, error) {
			return world.New(ctx, simulator.Config{PageSize: pageSize, MaxBackends: maxBackends, MaxRoutes: maxRoutes})
		},
		New: configured("endpoint: URL"),
		Configs: []conformance.Config{
			{Flaw: conformance.BadCredentials, New: denied},
			{Flaw: conformance.UnknownKey, New: configured("endpoint: URL\ntoken: " + secret), Mentions: []string{"line 2", "token"}},
			{Flaw: conformance.TwoMistakes, New: configured("endpoint: here\npageSize: many"), Mentions: []string{"endpoint", "pageSize"}},
		},
		Secrets: []string{secret},
		// The region in a provider ID is ignored.
		LegacyProviderIDs: func(m conformance.Machine) []string { return []string{simulated.Name + "://other/" + m.ID} },
		Features: conformance.Features{Supported: []conformance.Feature{
			conformance.UDP, conformance.MixedProtocol, conformance.SourceRanges, conformance.SessionAffinity, conformance.ETPLocal, conformance.StaticIP,
		}},
		Configuration: configuration,

		PageSize:   pageSize,
		MaxTargets: maxBackends,
		MaxRoutes:  maxRoutes,
		Services:   shapes(),
	}, conformance.Options{Timeout: 5 * time.Minute}) // longer than a busy machine takes
	for _, check := range report.Checks {
		if check.Outcome != conformance.Passed {
			t.Errorf("%s: %s: %s", check.ID, check.Outcome, check.Why)
		}
	}
}
