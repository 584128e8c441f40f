package app

import (
	"os"
	"testing"

	logsapi "k8s.io/component-base/logs/api/v1"
)

func TestMain(m *testing.M) {
	// Several commands run in one process here, with the same logging flags.
	// They may not change the logging while another test logs.
	logsapi.ReapplyHandling = logsapi.ReapplyHandlingIgnoreUnchanged
	if err := newOptions(managerName, nil).global.applyLogging(); err != nil {
		panic(err)
	}
	registerTestProviders()
	os.Exit(m.Run())
}
