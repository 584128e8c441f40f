package settings

import (
	"fmt"
	"math"
	"slices"
	"strings"

	apiserveroptions "k8s.io/apiserver/pkg/server/options"
	cloudprovider "k8s.io/cloud-provider"
	cliflag "k8s.io/component-base/cli/flag"
)

// Serving has the settings of the HTTPS server, and of the access to it.
type Serving struct {
	Secure         *apiserveroptions.SecureServingOptions
	Authentication *apiserveroptions.DelegatingAuthenticationOptions
	Authorization  *apiserveroptions.DelegatingAuthorizationOptions
}

func newServing() Serving {
	o := Serving{
		Secure:         apiserveroptions.NewSecureServingOptions(),
		Authentication: apiserveroptions.NewDelegatingAuthenticationOptions(),
		Authorization:  apiserveroptions.NewDelegatingAuthorizationOptions(),
	}
	o.Secure.BindPort = cloudprovider.CloudControllerManagerPort
	o.Secure.ServerCert.CertDirectory = "" // self-signed, in memory
	o.Secure.ServerCert.PairName = ManagerName
	o.Authentication.RemoteKubeConfigFileOptional = true
	o.Authorization.RemoteKubeConfigFileOptional = true
	return o
}

func (o *Serving) addFlags(sections *cliflag.NamedFlagSets) {
	fs := sections.FlagSet("secure serving")
	o.Secure.AddFlags(fs)
	deviates(fs, "http2-max-streams-per-connection", "Zero means 8, here and on the port of the webhooks. Upstream's server has 100.")
	o.Authentication.AddFlags(sections.FlagSet("authentication"))
	o.Authorization.AddFlags(sections.FlagSet("authorization"))
}

func (o *Serving) validate() []error {
	// For a port above 65535, the library's error wrongly says that 0 does not turn
	// the port off.
	errs := slices.DeleteFunc(o.Secure.Validate(), func(err error) bool { return strings.HasPrefix(err.Error(), "--secure-port ") })
	if port := o.Secure.BindPort; port < 0 || port > math.MaxUint16 {
		errs = append(errs, fmt.Errorf("--secure-port must be between 1 and 65535, or 0 to serve nothing, but got %d", port))
	}
	errs = append(errs, tlsErrors("", o.Secure)...)
	errs = append(errs, o.Authentication.Validate()...)
	return append(errs, o.Authorization.Validate()...)
}

// tlsErrors reports errors that would otherwise appear only when the server starts.
// prefix is the prefix of the flags.
func tlsErrors(prefix string, o *apiserveroptions.SecureServingOptions) []error {
	var errs []error
	check := func(flag string, err error) {
		if err != nil {
			errs = append(errs, fmt.Errorf("--%s%s: %w", prefix, flag, err))
		}
	}
	_, err := cliflag.TLSCipherSuites(o.CipherSuites)
	check("tls-cipher-suites", err)
	_, err = cliflag.TLSCurvePreferences(o.CurvePreferences)
	check("tls-curve-preferences", err)
	_, err = cliflag.TLSVersion(o.MinTLSVersion)
	check("tls-min-version", err)
	if cert := o.ServerCert.CertKey; (cert.CertFile == "") != (cert.KeyFile == "") {
		errs = append(errs, fmt.Errorf("--%[1]stls-cert-file and --%[1]stls-private-key-file must be set together", prefix))
	}
	return errs
}

func (o *Serving) show(c *configuration) {
	// Nothing reads this field. The value is upstream's default.
	c.Generic.Address = "0.0.0.0"
}
