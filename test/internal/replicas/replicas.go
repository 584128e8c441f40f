// Package replicas starts daemons that elect a leader. Proxies record the daemons'
// requests.
package replicas

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-k8s/fairlead/test/internal/bed"
	"github.com/fairlead-k8s/fairlead/test/internal/daemon"
	"github.com/fairlead-k8s/fairlead/test/internal/expect"
	"github.com/fairlead-k8s/fairlead/test/internal/proxy"
)

// Replica is a daemon that takes part in an election with default flags.
// Proxies record its requests to the API server and to the cloud.
type Replica struct {
	*daemon.Daemon

	API, Cloud *proxy.Proxy
	Lease      string
}

// Pair starts two replicas, the leader first.
func Pair(t *testing.T, b *bed.Bed, c *bed.Cloud, s daemon.Setup) (leader, standby Replica) {
	t.Helper()
	s.Lease = cmp.Or(s.Lease, daemon.LeaseName)
	err := b.Admin.CoordinationV1().Leases(metav1.NamespaceSystem).Delete(t.Context(), s.Lease, metav1.DeleteOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		t.Fatal(err)
	}
	var pair [2]Replica
	for n := range pair {
		r := New(t, b, c, s)
		pair[n] = r
		expect.Within(t, expect.Soon, func(context.Context) error {
			switch {
			case n == 0 && !r.leads():
				return errors.New("the first replica does not lead")
			case n == 1 && len(r.API.Requests(OfLeases)) == 0:
				return errors.New("the second replica has not looked at the lease")
			}
			return nil
		})
	}
	return pair[0], pair[1]
}

// New starts one more replica. Its lease is as long as by default.
func New(t *testing.T, b *bed.Bed, c *bed.Cloud, s daemon.Setup) Replica {
	t.Helper()
	r := Replica{API: b.BeforeAPIServer(t), Cloud: bed.BeforeCloud(t, c), Lease: s.Lease}
	s.API, s.Cloud, s.Elect = r.API, r.Cloud.URL(), true
	s.Flags = slices.Concat([]string{"--leader-elect-lease-duration=15s", "--leader-elect-renew-deadline=10s"}, s.Flags) // the defaults
	r.Daemon = b.Daemon(t, s)
	return r
}

func (r Replica) leads() bool { return r.Logged("Controller runs") }

// OfLeases reports whether a request is about a Lease.
func OfLeases(r proxy.Request) bool { return strings.Contains(r.Path, "/leases") }

// LeaseHolder returns the identity of the lease's holder.
func LeaseHolder(t *testing.T, b *bed.Bed, name string) string {
	t.Helper()
	lease, err := b.Admin.CoordinationV1().Leases(metav1.NamespaceSystem).Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if lease.Spec.HolderIdentity == nil {
		return ""
	}
	return *lease.Spec.HolderIdentity
}
