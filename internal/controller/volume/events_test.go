package volume

import (
	"testing"

	"github.com/fairlead-k8s/fairlead/internal/controller/message/messagetest"
)

func TestReasonsAreComplete(t *testing.T) { messagetest.ReasonsAreComplete(t, Reasons()) }
