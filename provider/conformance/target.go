package conformance

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"
)

// Target is the provider under test and what surrounds it. Name and New must be
// set.
type Target struct {
	// Name is the name of the provider, for the report.
	Name string
	// New returns a provider whose Initialize has been called. The context ends
	// when the provider is no longer used; its Done is a good stop channel for
	// Initialize. The argument world is what Target.World has returned. New is
	// called for each check, and again where a check restarts the provider.
	New func(ctx context.Context, world any) (cloudprovider.Interface, error)
	// World returns the value with which checks prepare and inspect the cloud. It has some
	// of the interfaces Machines, PowerSwitch, Renamer, Retagger, Meter, Faulter,
	// Inventory, Drifter, Foreigner, Viewer, Holder, Reserver and Announcer; Lender for
	// runs that change nothing; Finder, ForeignFinder, AddressFinder, FaultClearer and
	// HoldReleaser to clean up; and Identifier. World is called for each check. If the
	// value is an io.Closer, it is closed after the check. If World is nil, only checks
	// that need no world are run.
	World func(ctx context.Context) (any, error)
	// Shared means that World is called once. All checks share the value that it
	// returns, which may stand for a live account.
	Shared bool
	// Singleton means that New works only once in a process. Then checks that
	// restart the provider are not run. It implies Shared.
	Singleton bool
	// Live means that the world is a real account and not a fake. The report says so,
	// and the check cost/sync-of-100, which creates 100 machines, is not run.
	Live bool

	// Account names the account or the cluster of the cloud that the provider uses, if the
	// world does not implement Identifier. A ledger of another account is refused. The name must
	// hold no secret.
	Account string
	// ClusterName is the name of the cluster; empty means a new one for each check.
	ClusterName string
	// Features says what the provider supports.
	Features Features
	// Configuration returns the content of the configuration file with which the
	// provider uses the world. It is for a provider that is a provider.Reloader. If it
	// is nil, Reload gets a nil reader, as without --cloud-config.
	Configuration func(world any) string
	// LegacyProviderIDs returns older forms of the machine's provider ID that must
	// still be understood. It may be nil.
	LegacyProviderIDs func(Machine) []string
	// EventuallyWithin is how long the cloud may take to show a change; 0 means 30
	// seconds.
	EventuallyWithin time.Duration
	// PageSize is how many instances the cloud returns in one page. If it is 0, pages
	// are not tested.
	PageSize int
	// MaxTargets is how many backends the cloud allows for a load balancer. If it is
	// 0, the limit is not tested.
	MaxTargets int
	// MaxRoutes is how many routes the cloud allows. If it is 0, the limit is not
	// tested.
	MaxRoutes int
	// Services are Services with the vendor's own annotations.
	Services []Shape
	// Configs are configurations with a flaw.
	Configs []Config
	// Secrets are parts of the configuration that must never be logged, such as
	// a token.
	Secrets []string
	// URL and Contact are for the report.
	URL     string
	Contact []string
}

// account names the account that the world stands for.
func (t Target) account(ctx context.Context, world any) (string, error) {
	identifier, ok := world.(Identifier)
	if !ok {
		return t.Account, nil
	}
	switch account, err := identifier.Identity(ctx); {
	case errors.Is(err, ErrCannot):
		return t.Account, nil
	case err != nil:
		return "", fmt.Errorf("world: which account this is: %w", err)
	case account == "":
		return "", errors.New("world: which account this is: the answer is empty")
	default:
		return account, nil
	}
}

// Features lists what a provider supports and what it does not. A feature that is in
// neither list is tried: it must work or be refused. If both lists are empty, all are
// tried.
type Features struct {
	Supported   []Feature `json:"supported,omitempty"`
	Unsupported []Feature `json:"unsupported,omitempty"`
}

// Feature is something that a provider may or may not support.
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
	IPMode          Feature = "IPMode"
	Internal        Feature = "Internal"
)

// AllFeatures returns all features.
func AllFeatures() []Feature {
	return []Feature{Shutdown, UDP, SCTP, MixedProtocol, SourceRanges, SessionAffinity, ETPLocal, IPv6, DualStack, StaticIP, IPMode, Internal}
}

// Shape is a Service with the vendor's own annotations, and what must become of it.
type Shape struct {
	Name string
	// Change gets a Service with one TCP port and sets the rest, such as annotations.
	Change func(*corev1.Service)
	Want   Want
	// Mentions are texts that the error must have if the Service is refused, such as the
	// key of an annotation.
	Mentions []string
}

// Want says what must become of a Service.
type Want string

// What may become of a Service.
const (
	Works      Want = "works"
	Refused    Want = "refused"
	NotIgnored Want = "notIgnored" // it works or is refused
)

// Config is a configuration with a flaw, which the provider must refuse.
type Config struct {
	Flaw Flaw
	// New makes a provider with this configuration, as Target.New does.
	New func(ctx context.Context, world any) (cloudprovider.Interface, error)
	// Mentions are texts that an error of New must have, such as a key of the
	// configuration.
	Mentions []string
}

// Flaw is what is wrong with a configuration.
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
