package follow

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-k8s/fairlead/simulator"
)

func instance(id, name string, state simulator.State) simulator.Instance {
	return simulator.Instance{ID: id, Name: name, State: state}
}

func TestPlan(t *testing.T) {
	type instances = []simulator.Instance
	type machines = map[string]machine
	on, off := machine{"a", true}, machine{"a", false}
	const badName = "only a DNS name in lower case can be a Node's"
	begin := action{boot, "1", "a", "the instance runs"}
	for name, test := range map[string]struct {
		instances instances
		machines  machines
		want      []action
	}{
		"NothingIsNothing":                  {nil, nil, nil},
		"PendingInstanceWaits":              {instances{instance("1", "a", simulator.Pending)}, nil, nil},
		"RunningInstanceBoots":              {instances{instance("1", "a", simulator.Running)}, nil, []action{begin}},
		"BootedInstanceGoesOn":              {instances{instance("1", "a", simulator.Running)}, machines{"1": on}, nil},
		"RenamedInstanceGoesOn":             {instances{instance("1", "b", simulator.Running)}, machines{"1": on}, nil},
		"StoppingInstanceGoesOn":            {instances{instance("1", "a", simulator.Stopping)}, machines{"1": on}, nil},
		"StoppedInstanceIsKilled":           {instances{instance("1", "a", simulator.Stopped)}, machines{"1": on}, []action{{kill, "1", "a", "the instance is stopped"}}},
		"StoppedInstanceStaysOff":           {instances{instance("1", "a", simulator.Stopped)}, machines{"1": off}, nil},
		"NeverStartedInstanceIsNoMachine":   {instances{instance("1", "a", simulator.Stopped)}, nil, nil},
		"StartedInstanceBootsAgain":         {instances{instance("1", "a", simulator.Running)}, machines{"1": off}, []action{begin}},
		"RenamedInstanceBootsUnderFirst":    {instances{instance("1", "b", simulator.Running)}, machines{"1": off}, []action{begin}},
		"TerminatedInstanceIsKilled":        {instances{instance("1", "a", simulator.Terminated)}, machines{"1": on}, []action{{kill, "1", "a", "the instance is terminated"}}},
		"UnlistedInstanceIsKilled":          {nil, machines{"1": on}, []action{{kill, "1", "a", "the cloud no longer lists the instance"}}},
		"StoppedThenTerminatedIsForgotten":  {instances{instance("1", "a", simulator.Terminated)}, machines{"1": off}, []action{{forget, "1", "a", "the instance is terminated"}}},
		"StoppedThenUnlistedIsForgotten":    {nil, machines{"1": off}, []action{{forget, "1", "a", "the cloud no longer lists the instance"}}},
		"NameThatNoNodeCanHaveIsRefused":    {instances{instance("1", "../a", simulator.Running)}, nil, []action{{refuse, "1", "../a", badName}}},
		"NamelessInstanceIsRefused":         {instances{instance("1", "", simulator.Running)}, nil, []action{{refuse, "1", "", badName}}},
		"SecondOfANameIsRefused":            {instances{instance("2", "a", simulator.Running), instance("1", "a", simulator.Running)}, nil, []action{begin, {refuse, "2", "a", "instance 1 runs under the same name"}}},
		"SecondOfANameIsRefusedLater":       {instances{instance("1", "a", simulator.Running), instance("2", "a", simulator.Running)}, machines{"1": on}, []action{{refuse, "2", "a", "instance 1 runs under the same name"}}},
		"NameOfAStoppedMachineMayBeUsed":    {instances{instance("1", "a", simulator.Running), instance("2", "a", simulator.Stopped)}, machines{"2": off}, []action{begin}},
		"NameIsFreeAsSoonAsItsHolderIsDead": {instances{instance("1", "a", simulator.Running), instance("2", "a", simulator.Terminated)}, machines{"2": on}, []action{{kill, "2", "a", "the instance is terminated"}, begin}},
	} {
		t.Run(name, func(t *testing.T) {
			got := plan(test.instances, test.machines)
			if diff := cmp.Diff(test.want, got, cmp.AllowUnexported(action{})); diff != "" {
				t.Error(diff)
			}
		})
	}
}
