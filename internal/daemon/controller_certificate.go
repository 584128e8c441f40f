package daemon

import (
	"context"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"

	"github.com/fairlead-k8s/fairlead/internal/controller/certificate"
	"github.com/fairlead-k8s/fairlead/internal/kube"
)

// startCertificates makes the controller that approves the serving certificates of
// kubelets.
func startCertificates(c certificate.Config, resync time.Duration) start {
	return func(ctx context.Context, d deps) (Runner, error) {
		instances := d.gateway.Instances()
		if instances == nil {
			return nil, notOffered("the provider offers no instances")
		}
		c.Metrics = d.metrics.certs
		informer := d.informers.Core().V1().Nodes()
		return watch(certificate.New(certificate.Deps{
			Requests:  kube.NewRequests(d.client, certificatesv1.KubeletServingSignerName, resync),
			Nodes:     kube.NewNodes(ctx, d.client, informer),
			Informer:  informer,
			Services:  d.informers.Core().V1().Services(),
			Instances: instances,
			Events:    d.recorder,
		}, c), d.timeouts.read), nil
	}
}
