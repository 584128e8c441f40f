package serving

import (
	"crypto/tls"
	"fmt"
	"net/http"
	"time"

	"k8s.io/apiserver/pkg/server"
	apiserveroptions "k8s.io/apiserver/pkg/server/options"
	"k8s.io/utils/clock"
)

// certificateCheck fails if one of a server's certificates has expired or is not
// valid yet. Certificate files are read again when they change.
type certificateCheck struct {
	name    string
	serving *server.SecureServingInfo
	clock   clock.PassiveClock
}

// certificates adds a check of a server's certificates to /readyz. It adds no check
// for a self-signed certificate, because clients cannot verify that certificate
// anyway.
func (h *Health) certificates(name string, o *apiserveroptions.SecureServingOptions, s *server.SecureServingInfo) {
	if o.ServerCert.GeneratedCert == nil {
		h.readyz.add(certificateCheck{name, s, clock.RealClock{}})
	}
}

// Name returns the name of the check.
func (c certificateCheck) Name() string { return c.name }

// Check implements healthz.HealthChecker.
func (c certificateCheck) Check(*http.Request) error {
	if c.serving.Cert != nil {
		if err := valid(c.serving.Cert.CurrentCertKeyContent, c.clock.Now()); err != nil {
			return fmt.Errorf("%s: %w", c.serving.Cert.Name(), err)
		}
	}
	for _, sni := range c.serving.SNICerts {
		if err := valid(sni.CurrentCertKeyContent, c.clock.Now()); err != nil {
			return fmt.Errorf("%s: %w", sni.Name(), err)
		}
	}
	return nil
}

func valid(content func() ([]byte, []byte), now time.Time) error {
	pair, err := tls.X509KeyPair(content())
	if err != nil {
		return err
	}
	switch leaf := pair.Leaf; {
	case now.Before(leaf.NotBefore):
		return fmt.Errorf("valid from %v", leaf.NotBefore)
	case now.After(leaf.NotAfter):
		return fmt.Errorf("expired at %v", leaf.NotAfter)
	}
	return nil
}
