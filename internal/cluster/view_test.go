package cluster_test

import (
	"io"
	"testing"

	"github.com/google/go-cmp/cmp"
	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fairlead-k8s/fairlead/internal/cluster"
	"github.com/fairlead-k8s/fairlead/internal/cluster/clustertest"
)

func TestUnread(t *testing.T) {
	v := clustertest.Healthy()
	v.Missing[cluster.Nodes], v.Missing[cluster.Services] = apierrors.NewForbidden(schema.GroupResource{}, "", nil), io.EOF
	v.Partly[cluster.Volumes] = true
	want := []string{
		"Left out, because the right is missing: list nodes.",
		"Left out, because it failed: list services (EOF).",
		"Left out in part, because not all objects were read: list persistentvolumes.",
	}
	if d := cmp.Diff(want, v.Unread(cluster.Nodes, cluster.Services, cluster.Volumes, cluster.Requests)); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
}

func TestDaemonLease(t *testing.T) {
	for name, row := range map[string]struct {
		args   []string
		leases []string
		want   string
	}{
		"Usual":           {nil, []string{"cloud-controller-manager"}, "kube-system/cloud-controller-manager"},
		"UsualComesFirst": {[]string{"--leader-elect-resource-name=acme"}, []string{"acme", "cloud-controller-manager"}, "kube-system/cloud-controller-manager"},
		"OfTheManager":    {[]string{"--leader-elect-resource-name=acme"}, []string{"acme"}, "kube-system/acme"},
		"NobodyElects":    {[]string{"--leader-elect=false"}, nil, "kube-system/cloud-controller-manager"},
	} {
		t.Run(name, func(t *testing.T) {
			v := clustertest.Healthy()
			clustertest.RunsWith(row.args...)(v)
			v.Leases = []coordinationv1.Lease{}
			for _, name := range row.leases {
				clustertest.Lease(name, 0)(v)
			}
			if got := v.DaemonLease(); got != row.want {
				t.Errorf("got %s, want %s", got, row.want)
			}
		})
	}
}
