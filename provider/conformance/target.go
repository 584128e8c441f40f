package conformance

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"
)

// Target describes the provider under test and its environment. Name and New
// must be set.
type Target struct {
	// Name is the name of the provider.
	Name string
	// New returns a provider whose Initialize has been called. The context ends
	// when the provider is no longer used, so ctx.Done() is a good stop channel for
	// Initialize. The argument world is the value that Target.World has returned.
	// New is called for each check, and again when a check restarts the provider.
	New func(ctx context.Context, world any) (cloudprovider.Interface, error)
	// World returns the value with which checks prepare and inspect the cloud. That value
	// can implement any of the interfaces Machines, PowerSwitch, Renamer, Retagger, Meter,
	// Faulter, Inventory, Drifter, Foreigner, Viewer, Holder, Reserver and Announcer.
	// World is called for each check. If the value is an io.Closer, it is closed after the
	// check. If World is nil, only checks that need no world are run.
	World func(ctx context.Context) (any, error)
	// Shared means that World is called only once, and that all checks share the
	// returned value. That value may stand for a live account.
	Shared bool
	// Live means that the world is a real account and not a fake. The check
	// cost/sync-of-100 is then not run, because it creates 100 machines.
	Live bool

	// ClusterName is the name of the cluster. Empty means a new name for each check.
	ClusterName string
	// Features says what the provider supports.
	Features Features
	// Configuration returns the content of the provider's configuration file for the
	// world. Only providers that implement provider.Reloader need it. If the
	// function is nil, the suite calls Reload with a nil reader, as the daemon does
	// without --cloud-config.
	Configuration func(world any) string
	// LegacyProviderIDs returns older forms of the machine's provider ID. The
	// provider must still understand them. The function may be nil.
	LegacyProviderIDs func(Machine) []string
	// EventuallyWithin is the time within which the cloud must show a change. 0
	// means 30 seconds. Except for a live world, the suite measures how late the provider
	// shows a change because of its caches, and waits longer if necessary.
	EventuallyWithin time.Duration
	// PageSize is the number of instances in one page of the cloud's list. If it is
	// 0, pages are not tested.
	PageSize int
	// MaxTargets is the largest number of backends of a load balancer. If it is 0,
	// the limit is not tested.
	MaxTargets int
	// MaxRoutes is the largest number of routes in the cloud. If it is 0, the
	// limit is not tested.
	MaxRoutes int
	// Services lists Services with the vendor's own annotations.
	Services []Shape
	// Configs lists configurations that the provider must refuse.
	Configs []Config
	// Secrets lists parts of the configuration that must never be logged, such
	// as a token.
	Secrets []string
}

// Features lists the features that a provider supports, and those that it does not
// support. If a feature is in neither list, the suite tries it: it must work or be
// refused. If both lists are empty, the suite tries all features.
type Features struct {
	Supported   []Feature
	Unsupported []Feature
}

// Feature is an optional feature of a provider.
type Feature string

// The features.
const (
	Shutdown        Feature = "Shutdown"
	UDP             Feature = "UDP"
	SCTP            Feature = "SCTP"
	MixedProtocol   Feature = "MixedProtocol"
	SourceRanges    Feature = "SourceRanges"
	SessionAffinity Feature = "SessionAffinity"
	ETPLocal        Feature = "ETPLocal" // externalTrafficPolicy: Local
	IPv6            Feature = "IPv6"
	DualStack       Feature = "DualStack"
	StaticIP        Feature = "StaticIP" // spec.loadBalancerIP
)

// Shape is a Service with the vendor's own annotations, and the result that the provider must
// have.
type Shape struct {
	Name string
	// Change gets a Service with one TCP port and sets the rest, such as annotations.
	Change func(*corev1.Service)
	Want   Want
	// Mentions lists texts that the error must contain if the Service is refused, such
	// as the key of an annotation.
	Mentions []string
}

// Want is the result that the provider must have for a Service.
type Want string

// The wanted results for a Service.
const (
	Works      Want = "works"
	Refused    Want = "refused"
	NotIgnored Want = "notIgnored" // it works or is refused
)

// Config is a configuration with a flaw. The provider must refuse it.
type Config struct {
	Flaw Flaw
	// New makes a provider with this configuration, as Target.New does.
	New func(ctx context.Context, world any) (cloudprovider.Interface, error)
	// Mentions lists texts that an error of New must contain, such as a key of
	// the configuration.
	Mentions []string
}

// Flaw is the kind of mistake in a configuration.
type Flaw string

// The flaws.
const (
	// BadCredentials are credentials that the cloud refuses. The provider may refuse them
	// in New, or return an error from its calls.
	BadCredentials Flaw = "badCredentials"
	// UnknownKey is a key that the provider does not know, such as a mistyped one.
	UnknownKey Flaw = "unknownKey"
	// TwoMistakes are two values that are not allowed. The error must name both.
	TwoMistakes Flaw = "twoMistakes"
)
