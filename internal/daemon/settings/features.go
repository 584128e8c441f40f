package settings

import (
	"errors"
	"sync"

	"k8s.io/apimachinery/pkg/util/version"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	cliflag "k8s.io/component-base/cli/flag"
	"k8s.io/component-base/featuregate"
	logsapi "k8s.io/component-base/logs/api/v1"
	metricsfeatures "k8s.io/component-base/metrics/features"
	_ "k8s.io/controller-manager/pkg/features/register" // the gates of controller managers
)

// additionalLabels is a gate of 1.38. What it turns on there, the flag
// --node-label-reconcile does here by default. With the gate, labels that somebody else
// has set are overwritten, too.
const additionalLabels featuregate.Feature = "CloudNodeAdditionalLabelsReconciliation"

const flagGates = "feature-gates"

// gatesWithoutEffect lists gates that are accepted only so that manifests keep
// working. It does not contain gates that a program adds itself.
var gatesWithoutEffect = []featuregate.Feature{
	"APIResponseCompression", "APIServerIdentity", "APIServerWebhookAuthenticationToken", "APIServingWithRoutine",
	"AggregatedDiscoveryRemoveBetaType", "AllowParsingUserUIDFromCertAuth", "AllowUnsafeMalformedObjectDeletion",
	"CBORServingAndStorage", "CloudControllerManagerWatchBasedRoutesReconciliation", "CloudControllerManagerWebhook",
	"ConcurrentWatchObjectDecode", "ConsistentListFromCacheSkipTimeoutFallback",
	"ConstrainedImpersonation", "ControllerManagerReleaseLeaderElectionLockOnExit", "CoordinatedLeaderElection",
	"DeclarativeValidationBeta", "DeclarativeValidationTakeover", "DeclarativeValidation", "DetectCacheInconsistency",
	"EtcdRangeStream", "ExcludeAdmissionWebhookVirtualResources", "KMSv1", "ListFromCacheSnapshot",
	"ManifestBasedAdmissionControlConfig", "MutatingAdmissionPolicy", "NativeHistograms", "OpenAPIEnums",
	"RemoteRequestHeaderUID", "SeparateCacheWatchRPC", "ShardedListAndWatch", "SizeBasedListCostEstimate", "StorageVersionAPI",
	"StorageVersionHash", "StructuredAuthenticationConfigurationEgressSelector",
	"StructuredAuthenticationConfigurationJWKSMetrics", "TokenRequestServiceAccountUIDValidation",
	"UnauthenticatedHTTP2DOSMitigation", "UnknownVersionInteroperabilityProxy", "WatchCacheInitializationPostStartHook",
	"WatchListCompression", "WatchList", "WebhookRoundTripLoadBalancing",
}

// addGates adds the gates that the linked libraries do not add themselves. It runs
// once in a process, because no gates can be added once the flag for the gates
// exists.
var addGates = sync.OnceValue(func() error {
	gates, ours := utilfeature.DefaultMutableFeatureGate, map[featuregate.Feature]featuregate.VersionedSpecs{}
	if _, exists := gates.GetAll()[additionalLabels]; !exists { // The libraries of 1.38 add it.
		ours[additionalLabels] = featuregate.VersionedSpecs{{Version: version.MustParse("1.37"), PreRelease: featuregate.Alpha}}
	}
	return errors.Join(logsapi.AddFeatureGates(gates), metricsfeatures.AddFeatureGates(gates), gates.AddVersioned(ours))
})

// Features has the settings of the feature gates, which belong to the process.
type Features struct {
	err error // of the registration
}

func newFeatures() Features { return Features{err: addGates()} }

func (*Features) addFlags(sections *cliflag.NamedFlagSets) {
	utilfeature.DefaultMutableFeatureGate.AddFlag(sections.FlagSet("generic"))
}

func (f *Features) validate() []error {
	if f.err != nil {
		return []error{f.err}
	}
	return nil
}

func (*Features) show(*configuration) {}
