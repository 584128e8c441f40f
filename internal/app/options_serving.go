package app

import (
	"fmt"
	"net"

	"k8s.io/apiserver/pkg/server"
	apiserveroptions "k8s.io/apiserver/pkg/server/options"
	cloudprovider "k8s.io/cloud-provider"
	cliflag "k8s.io/component-base/cli/flag"
)

type servingOptions struct {
	secure         *apiserveroptions.SecureServingOptions
	authentication *apiserveroptions.DelegatingAuthenticationOptions
	authorization  *apiserveroptions.DelegatingAuthorizationOptions
}

func newServingOptions() servingOptions {
	o := servingOptions{
		secure:         apiserveroptions.NewSecureServingOptions(),
		authentication: apiserveroptions.NewDelegatingAuthenticationOptions(),
		authorization:  apiserveroptions.NewDelegatingAuthorizationOptions(),
	}
	o.secure.BindPort = cloudprovider.CloudControllerManagerPort
	o.secure.ServerCert.CertDirectory = "" // self-signed, in memory
	o.secure.ServerCert.PairName = managerName
	o.authentication.RemoteKubeConfigFileOptional = true
	o.authorization.RemoteKubeConfigFileOptional = true
	return o
}

func (o *servingOptions) addFlags(sections *cliflag.NamedFlagSets) {
	o.secure.AddFlags(sections.FlagSet("secure serving"))
	o.authentication.AddFlags(sections.FlagSet("authentication"))
	o.authorization.AddFlags(sections.FlagSet("authorization"))
}

func (o *servingOptions) validate() []error {
	errs := append(o.secure.Validate(), tlsErrors("", o.secure)...)
	errs = append(errs, o.authentication.Validate()...)
	return append(errs, o.authorization.Validate()...)
}

// tlsErrors finds what would only fail when the server starts. The prefix is
// that of the flags.
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
		errs = append(errs, fmt.Errorf("--%[1]stls-cert-file and --%[1]stls-private-key-file need each other", prefix))
	}
	return errs
}

func (o *servingOptions) show(c *configuration) {
	// Upstream's own default of a field that nothing reads.
	c.Generic.Address = "0.0.0.0"
}

// listen binds the port, with a certificate from files or of its own. It
// returns nil for port 0.
func listen(o *apiserveroptions.SecureServingOptions) (info *server.SecureServingInfo, err error) {
	if err := o.MaybeDefaultWithSelfSignedCerts("localhost", nil, []net.IP{net.IPv4(127, 0, 0, 1)}); err != nil {
		return nil, fmt.Errorf("self-signed certificate: %w", err)
	}
	return info, o.ApplyTo(&info)
}

// listener is what the flags say about serving, ready to serve: the port is
// bound and the API server is known to those who check requests.
type listener struct {
	secure         *server.SecureServingInfo
	authentication server.AuthenticationInfo
	authorization  server.AuthorizationInfo
}

// listen binds the port. It returns nil when serving is turned off.
func (o *servingOptions) listen() (*listener, error) {
	secure, err := listen(o.secure)
	if err != nil {
		return nil, fmt.Errorf("serving: %w", err)
	}
	if secure == nil {
		return nil, nil
	}
	l := &listener{secure: secure}
	if err := o.authentication.ApplyTo(&l.authentication, l.secure, nil); err != nil {
		return nil, fmt.Errorf("authentication of requests: %w", err)
	}
	if err := o.authorization.ApplyTo(&l.authorization); err != nil {
		return nil, fmt.Errorf("authorization of requests: %w", err)
	}
	return l, nil
}
