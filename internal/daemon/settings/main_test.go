package settings

import (
	"os"
	"testing"

	logsapi "k8s.io/component-base/logs/api/v1"
)

// ours is the program without additions.
var ours = Program{Name: ManagerName, Controllers: Ours()}

func TestMain(m *testing.M) {
	// Several commands run in one process here, with the same logging flags. They
	// must not change the logging while another test logs.
	logsapi.ReapplyHandling = logsapi.ReapplyHandlingIgnoreUnchanged
	os.Exit(m.Run())
}
