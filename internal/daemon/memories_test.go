package daemon

import (
	"testing"

	"github.com/fairlead-k8s/fairlead/internal/controller/step"
	"github.com/fairlead-k8s/fairlead/internal/daemon/settings"
)

// remembering is a Worker that remembers one object.
type remembering struct {
	Worker // not called

	key string
}

func (r remembering) Recall(key string) (step.Memory, bool) {
	return step.Memory{Reason: "R"}, key == r.key
}

func TestMemoriesOfRunningControllers(t *testing.T) {
	var m memories
	if _, leads := m.of("node", "a"); leads {
		t.Error("a process without controllers leads")
	}
	started := func(name, kind string, c Runner) started {
		return started{registration: registration{Controller: settings.Controller{Name: name}, kind: kind}, controller: c}
	}
	remove := m.add(started("nodes", "node", watched{Worker: remembering{key: "a"}}))
	m.add(started("services", "service", watched{Worker: remembering{key: "a"}}))
	m.add(started("without", "node", watched{Worker: struct{ Worker }{}}))
	m.add(started("theirs", "node", &fakeController{}))
	got, leads := m.of("node", "a")
	if all, ok := got.([]step.Memory); !leads || !ok || len(all) != 1 || all[0].Controller != "nodes" || all[0].Reason != "R" {
		t.Errorf("%+v, leads %v", got, leads)
	}
	if got, leads := m.of("node", "b"); got != nil || !leads {
		t.Errorf("of an object that nobody remembers: %+v, leads %v", got, leads)
	}
	remove()
	if got, leads := m.of("node", "a"); got != nil || !leads {
		t.Errorf("after the controller has ended: %+v, leads %v", got, leads)
	}
}
