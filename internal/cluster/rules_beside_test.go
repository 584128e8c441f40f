package cluster_test

import (
	"strings"
	"testing"
	"time"

	"github.com/fairlead-k8s/fairlead/internal/cluster"
	"github.com/fairlead-k8s/fairlead/internal/cluster/clustertest"
)

// TestBeside has rows for the evidence of another manager that a daemon can see. The
// healthy cluster has the workload of the daemon itself.
func TestBeside(t *testing.T) {
	const ours, fromThem = "kube-system/cloud-controller-manager", "hcloud-cloud-controller-manager"
	late := clustertest.Node("n", clustertest.Wrote(fromThem, 30*time.Minute, 10*time.Minute))
	inTurn := clustertest.Node("n", clustertest.Wrote(fromThem, 10*time.Minute, 30*time.Minute), clustertest.Wrote("cloud-controller-manager", 20*time.Minute))
	const text = "cloud-controller-manager (this one) is broken. Run kubectl delete"
	forged := clustertest.Node("n", clustertest.Wrote(text, 30*time.Minute, 10*time.Minute), clustertest.Wrote("cloud-controller-manager", 20*time.Minute), clustertest.Wrote("ccm-"+strings.Repeat("x", 60), 30*time.Minute, time.Minute))
	const atWork = "at work: "
	for _, row := range []struct {
		name    string
		lease   string
		args    string
		changes []clustertest.Change
		want    string
	}{
		{"Alone", ours, "", nil, ""},
		{"AloneWithoutRights", ours, "", []clustertest.Change{clustertest.NoWorkload, clustertest.NoLeases}, ""},
		{"AloneWithoutAnElection", "", "--leader-elect=false", []clustertest.Change{clustertest.RunsWith("--leader-elect=false"), clustertest.NoLeases}, ""},
		{"AloneWithALeaseThatTheEnvironmentNames", "kube-system/l", "", []clustertest.Change{clustertest.RunsWith("--leader-elect-resource-name=$(LEASE)"), clustertest.NoLeases}, ""},
		{"OwnLeaseOnly", ours, "", []clustertest.Change{clustertest.NoWorkload}, ""},
		{"LeaseOfTheOneThatWasReplaced", ours, "", []clustertest.Change{clustertest.NoWorkload, clustertest.Lease("old-ccm", cluster.BesideAfter)}, ""},
		{"AnotherLease", ours, "", []clustertest.Change{clustertest.NoWorkload, clustertest.Lease("old-ccm", time.Second)}, atWork + "2 managers work at once: the holder of Lease kube-system/old-ccm; this daemon (Lease kube-system/cloud-controller-manager)."},
		{"AnotherLeaseAndNoElection", "", "", []clustertest.Change{clustertest.NoWorkload}, atWork + "2 managers work at once: the holder of Lease kube-system/cloud-controller-manager; this daemon (no Lease)."},
		{"AnotherWorkloadWithoutALease", ours, "", []clustertest.Change{clustertest.Another("old-ccm", "--leader-elect=false")}, atWork + "2 managers work at once: deployment/kube-system/ccm (Lease kube-system/cloud-controller-manager); deployment/kube-system/old-ccm (no Lease)."},
		{"AnotherReplica", ours, "", []clustertest.Change{clustertest.Another("old-ccm")}, ""},
		{"OneThatWasScaledToZero", ours, "", []clustertest.Change{clustertest.Another("old-ccm", "--leader-elect=false"), func(v *cluster.View) { v.Workloads[1].Replicas = 0 }}, ""},
		{"OneThatOnlyLooks", ours, "", []clustertest.Change{clustertest.Another("new-ccm", "--shadow")}, ""},
		{"AnotherThatDivides", ours, "", []clustertest.Change{late, clustertest.Another("old-ccm", "--leader-elect=false", "--own-provider-id-schemes=x")}, ""},
		{"SelfDivides", ours, "--own-provider-id-schemes=x", []clustertest.Change{clustertest.NoWorkload, clustertest.Lease("old-ccm", 0)}, ""},
		{"SelfDividesAndTwoOthersDoNot", ours, "--own-provider-id-schemes=x", []clustertest.Change{clustertest.NoWorkload, clustertest.Lease("old-ccm", 0), clustertest.Lease("older-ccm", 0)}, ""},
		{"WritersInTurn", ours, "", []clustertest.Change{clustertest.NoWorkload, inTurn}, atWork + "Nodes were written by cloud-controller-manager and hcloud-cloud-controller-manager in turn in the last hour. cloud-controller-manager wrote 1 Node in the last hour; hcloud-"},
		{"WritersInTurnThatDivide", ours, "", []clustertest.Change{inTurn, clustertest.Another("old-ccm", "--leader-elect=false", "--own-provider-id-schemes=x")}, ""},
		{"OlderWriter", ours, "", []clustertest.Change{late, clustertest.Node("m", clustertest.Wrote(fromThem, 20*time.Minute))}, "hcloud-cloud-controller-manager wrote 2 Nodes in the last hour, most recently 10m0s ago. That is another manager than this one. If it still runs, end it; "},
		{"WriterOfYesterday", ours, "", []clustertest.Change{clustertest.Node("n", clustertest.Wrote(fromThem, 24*time.Hour))}, ""},
		{"WritersWhoseNamesAreText", ours, "", []clustertest.Change{clustertest.NoWorkload, forged}, ""},
		{"LeaseThatTheProgramChooses", "kube-system/talos", "", []clustertest.Change{clustertest.Lease("cloud-controller-manager", time.Hour), clustertest.Lease("talos", 0)}, ""},
		{"LeaseThatTheProgramChoosesWithoutLeases", "kube-system/talos", "", []clustertest.Change{clustertest.NoLeases}, ""},
		{"NoElectionThatTheProgramChooses", "", "--leader-elect=false", []clustertest.Change{clustertest.NoLeases}, ""},
		{"OwnWrites", ours, "", []clustertest.Change{clustertest.Node("n", clustertest.Wrote("cloud-controller-manager", time.Minute), clustertest.Wrote("kubelet", 0))}, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			v := clustertest.Healthy()
			for _, c := range row.changes {
				c(v)
			}
			got := v.Beside(cluster.Self{Program: "cloud-controller-manager", Lease: row.lease, Line: strings.Fields(row.args)})

			want, works := strings.CutPrefix(row.want, atWork)
			if got.Works != works || !strings.HasPrefix(got.Text, want) || want == "" && got.Text != "" {
				t.Errorf("got  %+v\nwant %q", got, row.want)
			}
			if want != "" && !strings.HasSuffix(got.Text, "docs/guides/two-managers.md says how to divide the objects between two managers.") {
				t.Errorf("it does not say what to do: %s", got.Text)
			}
		})
	}
}
