package bed

import (
	"slices"
	"testing"

	"github.com/fairlead-k8s/fairlead/test/internal/cloud"
	"github.com/fairlead-k8s/fairlead/test/internal/daemon"
)

// On a busy machine, the API server may not answer for longer than a daemon with the
// default lease tries to renew it.
func TestDaemonsRenewTheirLeaseLate(t *testing.T) {
	const late, given = "--leader-elect-renew-deadline=50s", "--leader-elect-renew-deadline=10s"
	b := &Bed{Cloud: &Cloud{&cloud.Cloud{}}}
	argv := b.arguments(t, daemon.Setup{Elect: true, Flags: []string{given}}, 1)
	if at := slices.Index(argv, late); at < 0 || at > slices.Index(argv, given) {
		t.Errorf("the daemon is started with %q, want %s before the flags of the test", argv, late)
	}
	if argv := b.arguments(t, daemon.Setup{}, 1); !slices.Contains(argv, "--leader-elect=false") {
		t.Errorf("the daemon is started with %q, want no election", argv)
	}
}
