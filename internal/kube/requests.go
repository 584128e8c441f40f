package kube

import (
	"context"
	"fmt"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/informers"
	informersv1 "k8s.io/client-go/informers/certificates/v1"
	"k8s.io/client-go/kubernetes"
	typedv1 "k8s.io/client-go/kubernetes/typed/certificates/v1"
	listersv1 "k8s.io/client-go/listers/certificates/v1"
)

// MaxRequestBytes is the maximum length of a certificate request that is kept. A kubelet
// may make any number of requests, so a longer one is dropped, and counts as malformed.
// The requests of kubelets have less than 2 KiB.
const MaxRequestBytes = 4 << 10

// Requests reads and decides CertificateSigningRequests for one signer.
type Requests struct {
	client   typedv1.CertificateSigningRequestInterface
	factory  informers.SharedInformerFactory
	informer informersv1.CertificateSigningRequestInformer
}

// NewRequests returns the Requests for the signer. Requests has its own informer,
// because the account of the shared informers might have no right to read
// CertificateSigningRequests. resync is the resync period of that informer.
func NewRequests(client kubernetes.Interface, signer string, resync time.Duration) *Requests {
	factory := informers.NewSharedInformerFactoryWithOptions(client, resync, informers.WithTransform(trimRequest),
		informers.WithTweakListOptions(func(o *metav1.ListOptions) {
			NotOlder(o)
			o.FieldSelector = fields.OneTermEqualSelector("spec.signerName", signer).String()
		}))
	return &Requests{
		client:   client.CertificatesV1().CertificateSigningRequests(),
		factory:  factory,
		informer: factory.Certificates().V1().CertificateSigningRequests(),
	}
}

// Informer returns the informer, which does not run before Start.
func (r *Requests) Informer() informersv1.CertificateSigningRequestInformer { return r.informer }

// Start starts the informer, which runs until the context ends. The returned
// function waits for the end of the informer.
func (r *Requests) Start(ctx context.Context) (wait func()) {
	r.informer.Informer() // The factory starts only informers that somebody has asked for.
	r.factory.StartWithContext(ctx)
	return r.factory.Shutdown
}

// Lister returns a lister of the informer's requests. The caller must not change
// the requests.
func (r *Requests) Lister() listersv1.CertificateSigningRequestLister { return r.informer.Lister() }

// Live reads a request from the API server instead of a cache.
func (r *Requests) Live(ctx context.Context, name string) (*certificatesv1.CertificateSigningRequest, error) {
	csr, err := r.client.Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("read certificate signing request %s: %w", name, err)
	}
	return csr, nil
}

// Decision is the approval or the denial of a request.
type Decision struct {
	// Request is the request, as it was read. IsStale reports whether an error of
	// Decide means that it has changed since then.
	Request *certificatesv1.CertificateSigningRequest
	// Verdict is certificatesv1.CertificateApproved or CertificateDenied.
	Verdict certificatesv1.RequestConditionType
	// Reason and Message explain the verdict.
	Reason, Message string
}

// Decide writes the decision with the resourceVersion of the request.
func (r *Requests) Decide(ctx context.Context, d Decision) error {
	csr := d.Request.DeepCopy()
	csr.Status.Conditions = append(csr.Status.Conditions, certificatesv1.CertificateSigningRequestCondition{
		Type: d.Verdict, Status: corev1.ConditionTrue, Reason: d.Reason, Message: d.Message,
	})
	return write(ctx, "decide certificate signing request "+csr.Name, func(ctx context.Context) error {
		_, err := r.client.UpdateApproval(ctx, csr.Name, csr, metav1.UpdateOptions{})
		return err
	})
}

// trimRequest drops the fields that no rule reads, because the author of a
// request decides how large it is.
func trimRequest(obj any) (any, error) {
	whole, ok := obj.(*certificatesv1.CertificateSigningRequest)
	if !ok {
		return obj, nil
	}
	csr := *whole
	csr.ManagedFields, csr.Annotations, csr.Labels = nil, nil, nil
	csr.OwnerReferences, csr.Finalizers = nil, nil
	csr.Spec.Extra = nil
	if isDecided := len(csr.Status.Conditions) > 0; isDecided || len(csr.Spec.Request) > MaxRequestBytes {
		csr.Spec.Request = nil
	}
	if len(csr.Status.Certificate) > 1 {
		csr.Status.Certificate = []byte{0} // Rules need to know only that there is a certificate.
	}
	return &csr, nil
}
