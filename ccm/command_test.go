package ccm_test

import (
	"testing"

	"github.com/fairlead-k8s/fairlead/ccm"
)

func TestName(t *testing.T) {
	for name, want := range map[string]string{"": "cloud-controller-manager", "acme-ccm": "acme-ccm"} {
		if got := ccm.NewCommand(ccm.Options{Name: name}).Name(); got != want {
			t.Errorf("%q: the command is called %q, want %q", name, got, want)
		}
	}
}
