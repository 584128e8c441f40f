package settings

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/component-base/configz"
	cmconfig "k8s.io/controller-manager/config/v1alpha1"
)

// configzGroup is the API group of upstream's configuration. /configz shows the
// configuration under this key.
const configzGroup = "cloudcontrollermanager.config.k8s.io"

// configuration is the content of /configz: the settings in effect, in the format of
// upstream's configuration API. Upstream's types have no JSON tags, so the keys are
// the names of Go fields.
type configuration struct {
	metav1.TypeMeta `json:",inline"`

	Generic                     cmconfig.GenericControllerManagerConfiguration
	KubeCloudShared             providerConfiguration
	NodeController              nodeConfiguration
	NodeLifecycleController     lifecycleConfiguration
	NodeOwnership               ownershipConfiguration
	ServiceController           serviceConfiguration
	RouteController             routeControllerConfiguration
	KubeletServingCSRController certificateConfiguration
	NodeIPAMController          ipamConfiguration
	NodeStatusUpdateFrequency   metav1.Duration
	Webhook                     webhookConfiguration
}

// DeepCopyObject is required by the configz registry. A shallow copy is enough,
// because the registry only reads.
func (c *configuration) DeepCopyObject() runtime.Object {
	out := *c
	return &out
}

func (s *Settings) configuration() *configuration {
	c := &configuration{TypeMeta: metav1.TypeMeta{
		Kind:       "CloudControllerManagerConfiguration",
		APIVersion: configzGroup + "/v1alpha1",
	}}
	for _, g := range s.groups() {
		g.show(c)
	}
	return c
}

// RegisterConfigz adds the settings to /configz. They stay there until remove is
// called.
func (s *Settings) RegisterConfigz() (remove func(), err error) {
	entry, err := configz.New(configzGroup)
	if err != nil {
		return nil, fmt.Errorf("configz: %w", err)
	}
	if err := entry.Set(s.configuration()); err != nil {
		return nil, fmt.Errorf("configz: %w", err)
	}
	return func() { configz.Delete(configzGroup) }, nil
}
