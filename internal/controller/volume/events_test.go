package volume

import (
	"os"
	"strings"
	"testing"

	"github.com/fairlead-k8s/fairlead/internal/controller/message/messagetest"
)

func TestReasonsAreComplete(t *testing.T) { messagetest.ReasonsAreComplete(t, Reasons()) }

func TestGuideHasAllReasons(t *testing.T) {
	page, err := os.ReadFile("../../../docs/guides/volumes.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range Reasons() {
		if !strings.Contains(string(page), "\n| `"+r.Name+"` |") {
			t.Errorf("the guide's table does not have %s", r.Name)
		}
	}
	if n := strings.Count(string(page), "\n| `"); n != len(Reasons()) {
		t.Errorf("the guide's table has %d reasons, want %d", n, len(Reasons()))
	}
}
