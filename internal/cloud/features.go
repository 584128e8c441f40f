package cloud

import (
	"context"
	"slices"

	"github.com/fairlead-k8s/fairlead/provider"
)

// Features lists the fields of Services that have an effect with this provider;
// see provider.LoadBalancerFeatures. It shares no memory with the provider.
type Features provider.LoadBalancerFeatures

// Features returns the features that the provider declares. ok is false if it
// declares none.
func (p *Provider) Features(ctx context.Context) (declared Features, ok bool, err error) {
	if p.extras.declarer == nil {
		return Features{}, false, nil
	}
	err = guard(ctx, "LoadBalancerFeatures", func() error {
		declared = Features(p.extras.declarer.LoadBalancerFeatures())
		return nil
	})
	if err != nil {
		return Features{}, false, err
	}
	declared.Protocols, declared.IPFamilies = slices.Clone(declared.Protocols), slices.Clone(declared.IPFamilies)
	declared.Annotations = slices.Clone(declared.Annotations)
	return declared, true, nil
}
