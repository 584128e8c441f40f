package cluster

import (
	"context"
	"fmt"

	"k8s.io/client-go/rest"

	"github.com/fairlead-k8s/fairlead/deploy"
	"github.com/fairlead-k8s/fairlead/internal/manifest"
)

// ccmUser is the user of the published kubeconfig for a cloud-controller-manager.
const ccmUser = "cloud-controller-manager"

// grantAccess gives ccmUser the same rights as the daemon's manifest gives the daemon's service
// account. So if a daemon has enough rights here, it also has enough rights with the published
// manifests.
func grantAccess(ctx context.Context, admin *rest.Config) error {
	access, err := manifest.Access(deploy.Deployment, ccmUser)
	if err != nil {
		return fmt.Errorf("rights of %s: %w", ccmUser, err)
	}
	to, err := manifest.In(admin)
	if err != nil {
		return err
	}
	for _, o := range access {
		if err := to.Apply(ctx, o); err != nil {
			return fmt.Errorf("rights of %s: %w", ccmUser, err)
		}
	}
	return nil
}
