package daemon

import (
	"io"
	"testing"

	cloudprovider "k8s.io/cloud-provider"
	logsapi "k8s.io/component-base/logs/api/v1"

	"github.com/fairlead-k8s/fairlead/internal/daemon/provider/providertest"
	"github.com/fairlead-k8s/fairlead/internal/daemon/settings"
	"github.com/fairlead-k8s/fairlead/internal/testlog"
)

// plain is the program without additions.
var plain = Options{Name: settings.ManagerName}

func TestMain(m *testing.M) {
	// Several commands run in one process here, with the same logging flags. They
	// must not change the logging while another test logs.
	logsapi.ReapplyHandling = logsapi.ReapplyHandlingIgnoreUnchanged
	if err := newProgram(plain, nil).Settings.Global.ApplyLogging(); err != nil {
		panic(err)
	}
	cloudprovider.RegisterCloudProvider("test", func(io.Reader) (cloudprovider.Interface, error) { return &providertest.Cloud{}, nil })
	testlog.Run(m)
}
