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
	errs := o.secure.Validate()
	errs = append(errs, o.authentication.Validate()...)
	return append(errs, o.authorization.Validate()...)
}

func (o *servingOptions) show(c *configuration) {
	// Upstream's own default of a field that nothing reads.
	c.Generic.Address = "0.0.0.0"
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
	if err := o.secure.MaybeDefaultWithSelfSignedCerts("localhost", nil, []net.IP{net.IPv4(127, 0, 0, 1)}); err != nil {
		return nil, fmt.Errorf("self-signed certificate: %w", err)
	}
	l := &listener{}
	if err := o.secure.ApplyTo(&l.secure); err != nil {
		return nil, fmt.Errorf("serving: %w", err)
	}
	if l.secure == nil {
		return nil, nil
	}
	if err := o.authentication.ApplyTo(&l.authentication, l.secure, nil); err != nil {
		return nil, fmt.Errorf("authentication of requests: %w", err)
	}
	if err := o.authorization.ApplyTo(&l.authorization); err != nil {
		return nil, fmt.Errorf("authorization of requests: %w", err)
	}
	return l, nil
}
