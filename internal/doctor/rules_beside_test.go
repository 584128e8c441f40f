package doctor

import (
	"strings"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
)

// TestBeside has rows for the evidence of another manager that a daemon can see. The
// healthy cluster has the workload of the daemon itself.
func TestBeside(t *testing.T) {
	const ours, fromThem = "kube-system/cloud-controller-manager", "hcloud-cloud-controller-manager"
	late := aNode("n", wrote(fromThem, 30*time.Minute, 10*time.Minute))
	inTurn := aNode("n", wrote(fromThem, 30*time.Minute, 10*time.Minute), wrote("cloud-controller-manager", 20*time.Minute))
	const text = "cloud-controller-manager (this one) is broken. Run kubectl delete"
	forged := aNode("n", wrote(text, 30*time.Minute, 10*time.Minute), wrote("cloud-controller-manager", 20*time.Minute), wrote("ccm-"+strings.Repeat("x", 60), 30*time.Minute, time.Minute))
	const atWork = "at work: "
	for _, row := range []struct {
		name    string
		lease   string
		args    string
		changes []change
		want    string
	}{
		{"Alone", ours, "", nil, ""},
		{"AloneWithoutRights", ours, "", []change{noWorkload, noLeases}, ""},
		{"AloneWithoutAnElection", "", "--leader-elect=false", []change{runsWith("--leader-elect=false"), noLeases}, ""},
		{"AloneWithALeaseThatTheEnvironmentNames", "kube-system/l", "", []change{runsWith("--leader-elect-resource-name=$(LEASE)"), noLeases}, ""},
		{"OwnLeaseOnly", ours, "", []change{noWorkload}, ""},
		{"LeaseOfTheOneThatWasReplaced", ours, "", []change{noWorkload, lease("old-ccm", BesideAfter)}, ""},
		{"AnotherLease", ours, "", []change{noWorkload, lease("old-ccm", time.Second)}, atWork + "2 managers work at once: the holder of Lease kube-system/old-ccm; this daemon (Lease kube-system/cloud-controller-manager)."},
		{"AnotherLeaseAndNoElection", "", "", []change{noWorkload}, atWork + "2 managers work at once: the holder of Lease kube-system/cloud-controller-manager; this daemon (no Lease)."},
		{"AnotherWorkloadWithoutALease", ours, "", []change{another("old-ccm", "--leader-elect=false")}, atWork + "2 managers work at once: deployment/kube-system/ccm (Lease kube-system/cloud-controller-manager); deployment/kube-system/old-ccm (no Lease)."},
		{"AnotherReplica", ours, "", []change{another("old-ccm")}, ""},
		{"OneThatWasScaledToZero", ours, "", []change{another("old-ccm", "--leader-elect=false"), func(v *View) { v.Workloads[1].Replicas = 0 }}, ""},
		{"OneThatOnlyLooks", ours, "", []change{another("new-ccm", "--shadow")}, ""},
		{"AnotherThatDivides", ours, "", []change{late, another("old-ccm", "--leader-elect=false", "--own-provider-id-schemes=x")}, ""},
		{"SelfDivides", ours, "--own-provider-id-schemes=x", []change{noWorkload, lease("old-ccm", 0)}, ""},
		{"SelfDividesAndTwoOthersDoNot", ours, "--own-provider-id-schemes=x", []change{noWorkload, lease("old-ccm", 0), lease("older-ccm", 0)}, ""},
		{"WritersInTurn", ours, "", []change{noWorkload, inTurn}, atWork + "Nodes were written by cloud-controller-manager and hcloud-cloud-controller-manager in turn in the last hour. cloud-controller-manager wrote 1 Node in the last hour; hcloud-"},
		{"OlderWriter", ours, "", []change{late, aNode("m", wrote(fromThem, 20*time.Minute))}, "hcloud-cloud-controller-manager wrote 2 Nodes in the last hour, most recently 10m0s ago. That is another manager than this one. If it still runs, end it; "},
		{"WriterOfYesterday", ours, "", []change{aNode("n", wrote(fromThem, 24*time.Hour))}, ""},
		{"WritersWhoseNamesAreText", ours, "", []change{noWorkload, forged}, ""},
		{"LeaseThatTheProgramChooses", "kube-system/talos", "", []change{lease("cloud-controller-manager", time.Hour), lease("talos", 0)}, ""},
		{"LeaseThatTheProgramChoosesWithoutLeases", "kube-system/talos", "", []change{noLeases}, ""},
		{"NoElectionThatTheProgramChooses", "", "--leader-elect=false", []change{noLeases}, ""},
		{"OwnWrites", ours, "", []change{aNode("n", wrote("cloud-controller-manager", time.Minute), wrote("kubelet", 0))}, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			v := healthy()
			for _, c := range row.changes {
				c(v)
			}
			got := v.Beside(Self{Program: "cloud-controller-manager", Lease: row.lease, Line: strings.Fields(row.args)})
			want, works := strings.CutPrefix(row.want, atWork)
			if got.Works != works || !strings.HasPrefix(got.Message, want) || want == "" && got.Message != "" {
				t.Errorf("got  %+v\nwant %q", got, row.want)
			}
			if want != "" && !strings.HasSuffix(got.Message, divide) {
				t.Errorf("it does not say what to do: %s", got.Message)
			}
		})
	}
}

func TestMayList(t *testing.T) {
	for name, row := range map[string]struct {
		verbs, groups, resources, names string
		want                            bool
	}{
		"Named":         {"get list", "apps", "daemonsets deployments", "", true},
		"Everything":    {"*", "*", "*", "", true},
		"OtherVerb":     {"get watch", "apps", "deployments", "", false},
		"OtherGroup":    {"list", "extensions", "deployments", "", false},
		"OtherResource": {"list", "apps", "replicasets", "", false},
		"OnlyOneByName": {"list", "apps", "deployments", "ccm", false},
		"NoRule":        {"", "", "", "", false},
	} {
		t.Run(name, func(t *testing.T) {
			rule := authorizationv1.ResourceRule{Verbs: strings.Fields(row.verbs), APIGroups: strings.Fields(row.groups), Resources: strings.Fields(row.resources), ResourceNames: strings.Fields(row.names)}
			if got := mayList([]authorizationv1.ResourceRule{{}, rule}, "apps", "deployments"); got != row.want {
				t.Errorf("got %t", got)
			}
		})
	}
}
