package app

import (
	"os"
	"testing"

	logsapi "k8s.io/component-base/logs/api/v1"
)

func TestMain(m *testing.M) {
	// Several commands run in one process here, with the same logging flags.
	logsapi.ReapplyHandling = logsapi.ReapplyHandlingIgnoreUnchanged
	registerTestProviders()
	os.Exit(m.Run())
}
