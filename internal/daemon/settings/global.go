package settings

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	cliflag "k8s.io/component-base/cli/flag"
	"k8s.io/component-base/cli/globalflag"
	"k8s.io/component-base/logs"
	logsapi "k8s.io/component-base/logs/api/v1"
	_ "k8s.io/component-base/logs/json/register" // --logging-format=json
	"k8s.io/component-base/version"

	"github.com/fairlead-k8s/fairlead/internal/versions"
)

// Global has the settings of the flags that every component of Kubernetes has.
type Global struct {
	name    string
	release string // version of the program, or "" if the program does not state one
	logs    *logsapi.LoggingConfiguration
	version versionFlag
}

func newGlobal(name, release string) Global {
	return Global{name: name, release: release, logs: logsapi.NewLoggingConfiguration(), version: "false"}
}

func (g *Global) addFlags(sections *cliflag.NamedFlagSets) {
	fs := sections.FlagSet("global")
	fs.Var(&g.version, "version", "Print the version and exit. 'raw' prints all of it, vX.Y.Z sets the version that is reported.")
	fs.Lookup("version").NoOptDefVal = "true"
	logsapi.AddFlags(g.logs, fs)
	globalflag.AddGlobalFlags(fs, g.name, logs.SkipLoggingConfigurationFlags())
}

func (g *Global) validate() []error {
	var errs []error
	for _, err := range logsapi.Validate(g.logs, utilfeature.DefaultFeatureGate, nil) {
		errs = append(errs, fmt.Errorf("--%s: %s", loggingFlag(err.Field), err.ErrorBody()))
	}
	return errs
}

func (*Global) show(*configuration) {}

// ApplyLogging applies the flags for logging to the process.
func (g *Global) ApplyLogging() error {
	if errs := g.validate(); len(errs) > 0 {
		return utilerrors.NewAggregate(errs)
	}
	return logsapi.ValidateAndApply(g.logs, utilfeature.DefaultFeatureGate)
}

// loggingFlag returns the flag for a field of the library's logging configuration.
func loggingFlag(path string) string {
	field, _, _ := strings.Cut(path, "[")
	if flag, ok := map[string]string{
		"flushFrequency":              "log-flush-frequency",
		"format":                      "logging-format",
		"verbosity":                   "v",
		"options.text.splitStream":    "log-text-split-stream",
		"options.text.infoBufferSize": "log-text-info-buffer-size",
		"options.json.splitStream":    "log-json-split-stream",
		"options.json.infoBufferSize": "log-json-info-buffer-size",
	}[field]; ok {
		return flag
	}
	return field // field is vmodule, which is also the name of its flag
}

// versionFlag is the value of --version: a bool, "raw", or a version that starts
// with v.
type versionFlag string

func (v *versionFlag) Set(s string) error {
	switch {
	case s == "raw":
		*v = "raw"
		return nil
	case strings.HasPrefix(s, "v"):
		*v = versionFlag(s)
		return version.SetDynamicVersion(s)
	}
	b, err := strconv.ParseBool(s)
	if err != nil {
		return fmt.Errorf("%q is neither a bool, nor 'raw', nor a version: %w", s, err)
	}
	*v = versionFlag(strconv.FormatBool(b))
	return nil
}

func (v *versionFlag) String() string { return string(*v) }

func (*versionFlag) Type() string { return "version" }

// Version returns the version of the program, followed by the version of the Kubernetes
// libraries. If the program does not state its version, the version that Go has
// recorded is used. If the program was built with make, the version of the libraries
// already contains the program's version, so Version returns nothing else.
func (g *Global) Version() string {
	libraries := version.Get().String()
	own := versions.Own(libraries)
	switch {
	case g.release != "":
		return fmt.Sprintf("%s (Kubernetes libraries %s)", g.release, own.Libraries)
	case own.Libraries == libraries:
		return libraries
	default:
		return fmt.Sprintf("%s (Kubernetes libraries %s)", own.Text, own.Libraries)
	}
}

// PrintVersion prints the version if --version requests it. It reports whether it
// has printed.
func (g *Global) PrintVersion(w io.Writer) (bool, error) {
	var err error
	switch g.version {
	case "raw":
		_, err = fmt.Fprintf(w, "%#v\n", version.Get())
	case "true":
		_, err = fmt.Fprintf(w, "%s %s\n", g.name, g.Version())
	default:
		return false, nil
	}
	return true, err
}
