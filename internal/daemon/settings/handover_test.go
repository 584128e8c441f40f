package settings

import (
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"github.com/fairlead-k8s/fairlead/internal/controller/certificate"
	"github.com/fairlead-k8s/fairlead/internal/controller/ipam"
	"github.com/fairlead-k8s/fairlead/internal/controller/node"
	"github.com/fairlead-k8s/fairlead/internal/controller/nodelifecycle"
	"github.com/fairlead-k8s/fairlead/internal/controller/route"
	"github.com/fairlead-k8s/fairlead/internal/controller/service"
)

// handedOn has the configurations that the controllers get from the settings.
type handedOn struct {
	Node        node.Config
	Lifecycle   nodelifecycle.Config
	Service     service.Config
	Route       route.Config
	Certificate certificate.Config
	IPAM        ipam.Config
}

// handOn returns the configurations of the controllers for the given arguments.
func handOn(t *testing.T, args ...string) handedOn {
	t.Helper()
	s := New(ours)
	if err := flagSet(s).Parse(append([]string{"--cluster-cidr=10.0.0.0/8"}, args...)); err != nil {
		t.Fatal(err)
	}
	claim := s.Ownership.Claim()
	routes, err := s.Route.Config()
	if err != nil {
		t.Fatal(err)
	}
	cidrs, err := s.IPAM.Config(claim)
	if err != nil {
		t.Fatal(err)
	}
	return handedOn{s.Node.Config(claim), s.Lifecycle.Config(claim), s.Service.Config(1), routes, s.Certificate.Config(claim), cidrs}
}

// differing returns the paths of the fields in which a and b differ.
func differing(path string, a, b reflect.Value) (paths []string) {
	if a.Kind() != reflect.Struct {
		if !reflect.DeepEqual(a.Interface(), b.Interface()) {
			return []string{path}
		}
		return nil
	}
	for i := range a.NumField() {
		if f := a.Type().Field(i); f.IsExported() {
			paths = append(paths, differing(strings.TrimPrefix(path+"."+f.Name, "."), a.Field(i), b.Field(i))...)
		}
	}
	return paths
}

// fields returns the paths of all fields.
func fields(path string, of reflect.Type) (paths []string) {
	if of.Kind() != reflect.Struct {
		return []string{path}
	}
	for f := range of.Fields() {
		if f.IsExported() {
			paths = append(paths, fields(strings.TrimPrefix(path+"."+f.Name, "."), f.Type)...)
		}
	}
	return paths
}

// another returns a valid value that is not the flag's default.
func another(t *testing.T, f *pflag.Flag) string {
	t.Helper()
	if value, ok := map[string]string{
		"cluster-cidr":                "10.1.0.0/16",
		"node-label-reconcile":        "type",
		"load-balancer-class":         "a",
		"load-balancer-class-cleanup": "a",
		"service-remove-backends-on":  wakeOnTaint,
		"service-backends":            "endpoints",
		"service-backends-of":         backendsOfOwn,
		"own-provider-id-schemes":     "a",
		"own-node-selector":           "a=b",
		"own-provider-label":          "a",

		"node-deletion-not-found-error": notFoundIsAbsent,
		flagAnnouncingTaints:            "a",
		"node-condition":                conditionAlways,

		"service-cluster-ip-range": "10.2.0.0/16",
		"node-cidr-mask-size":      "25",
		"node-cidr-mask-size-ipv4": "26",
	}[f.Name]; ok {
		return value
	}
	switch f.Value.Type() {
	case "bool":
		return strconv.FormatBool(f.DefValue != "true")
	case "int", "int32":
		return "7"
	case "duration":
		return (7*time.Hour + 7*time.Second).String()
	}
	t.Fatalf("--%s is of type %s: give it a value here", f.Name, f.Value.Type())
	return ""
}

// TestSettingsReachTheirControllers changes one flag of a controller at a time. Exactly
// one field of the controller's configuration must change, and no other flag may change
// that field. The flags in the list called several are exceptions. For each field,
// there must be a flag that changes it, unless package app sets the field.
func TestSettingsReachTheirControllers(t *testing.T) {
	elsewhere := []string{ // fields that no flag sets
		"Node.Metrics", "Node.Clock", "Node.Labels.Overwrite", "Node.MarkIdentity", "Certificate.Metrics", "Certificate.Clock", "Lifecycle.Metrics", "Lifecycle.Clock", "Service.Metrics", "Route.Metrics", "Route.Clock",
		"Route.Lease.Namespace", "Route.Lease.Name", "IPAM.Metrics", "IPAM.Clock", "IPAM.Lease.Namespace", "IPAM.Lease.Name", "Service.Backends.SkipUninitialized", "Service.Backends.Subset.Limit", "Service.Backends.Subset.Choice.Most",
	}
	several := []string{ // flags that change several fields, or a field that another flag also changes
		"concurrent-node-syncs", "own-provider-id-schemes", "own-node-selector", "own-provider-label", "node-restricted-labels-only",
		"cluster-cidr", flagMask, flagMask4,
	}
	sections, reached := sections(), map[string]string{}
	defaults := reflect.ValueOf(handOn(t))
	check := func(f *pflag.Flag) {
		// TestMasks tests flagMask6.
		if len(f.Annotations[annotationIgnored]) > 0 || f.Name == "configure-cloud-routes" || f.Name == flagMask6 {
			return
		}
		paths := differing("", defaults, reflect.ValueOf(handOn(t, "--"+f.Name+"="+another(t, f))))
		if len(paths) == 0 || len(paths) > 1 && !slices.Contains(several, f.Name) {
			t.Errorf("--%s changes the fields %v, want one", f.Name, paths)
		}
		for _, path := range paths {
			if by, known := reached[path]; known && !slices.Contains(several, f.Name) && !slices.Contains(several, by) {
				t.Errorf("--%s and --%s both change %s", by, f.Name, path)
			}
			reached[path] = f.Name
		}
	}
	for _, heading := range []string{NodeController, NodeLifecycleController, ServiceController, RouteController, CertificateController, IPAMController, ownershipHeading} {
		sections.FlagSets[heading].VisitAll(check)
	}
	for _, name := range []string{"cluster-cidr", "route-reconciliation-period"} {
		check(sections.FlagSets["generic"].Lookup(name))
	}
	check(sections.FlagSets["misc"].Lookup("node-status-update-frequency"))
	// So far, the test has tried one value of each flag. With other values, these
	// flags change more fields.
	for _, arg := range []string{"--node-label-reconcile=additional,remove", "--node-label-reconcile=additional", "--service-remove-backends-on=deletion", "--service-remove-backends-on=condition:Terminating", "--load-balancer-class=-"} {
		for _, path := range differing("", defaults, reflect.ValueOf(handOn(t, arg))) {
			reached[path] = arg
		}
	}
	for _, path := range fields("", defaults.Type()) {
		isClaim := strings.Contains(path, ".Claim.")
		if reached[path] == "" && !isClaim && !slices.Contains(elsewhere, path) {
			t.Errorf("no flag changes the field %s", path)
		}
	}
}
