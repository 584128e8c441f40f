package bed

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/fairlead-k8s/fairlead/internal/manifest"
	"github.com/fairlead-k8s/fairlead/test/internal/audit"
	"github.com/fairlead-k8s/fairlead/test/internal/expect"
	"github.com/fairlead-k8s/fairlead/test/internal/rights"
	"github.com/fairlead-k8s/fairlead/test/internal/timeout"
)

// giveRights gives the daemon's user the rights in the manifest b.Access. If b.Access is
// empty, the user keeps the chart's rights, which the playground has given it.
func (b *Bed) giveRights(ctx context.Context) (err error) {
	if b.usual, err = b.AccessIn(cmp.Or(b.Access, rights.Chart)); err != nil {
		return err
	}
	if b.Access != "" {
		return b.give(ctx, b.usual)
	}
	return b.awaitRights(ctx, b.usual)
}

// AccessIn returns the access that a manifest gives. The path is relative to the
// repository.
func (b *Bed) AccessIn(file string) (rights.Access, error) {
	return rights.Of(filepath.Join(b.Repository, file))
}

// UseRightsOf gives the daemons of this test the rights of another manifest.
func (b *Bed) UseRightsOf(t *testing.T, file string) {
	t.Helper()
	other, err := b.AccessIn(file)
	if err != nil {
		t.Fatal(err)
	}
	b.UseRights(t, other)
	ctx := context.WithoutCancel(t.Context())
	t.Cleanup(func() { // On a busy machine it may take longer than expect.Cleanup allows.
		if err := b.give(ctx, b.usual); err != nil {
			t.Errorf("clean up: %v", err)
		}
	})
}

// UseRights gives the daemon these rights until other rights are given.
func (b *Bed) UseRights(t *testing.T, all rights.Access) {
	t.Helper()
	if err := b.give(t.Context(), all); err != nil {
		t.Fatal(err)
	}
}

// give gives the daemon's user only these rights, and waits until the API server
// applies them.
func (b *Bed) give(ctx context.Context, all rights.Access) error {
	rbac, of := b.Admin.RbacV1(), metav1.ListOptions{LabelSelector: "app.kubernetes.io/component=" + audit.DaemonUser}
	var none metav1.DeleteOptions
	err := errors.Join(
		rbac.ClusterRoleBindings().DeleteCollection(ctx, none, of), rbac.ClusterRoles().DeleteCollection(ctx, none, of),
		rbac.RoleBindings(metav1.NamespaceSystem).DeleteCollection(ctx, none, of), rbac.Roles(metav1.NamespaceSystem).DeleteCollection(ctx, none, of),
	)
	if err != nil {
		return err
	}
	to, err := b.Manifests()
	if err != nil {
		return err
	}
	for _, o := range all {
		if err := to.Apply(ctx, o); err != nil {
			return err
		}
	}
	return b.awaitRights(ctx, all)
}

// Manifests returns the cluster of the bed as a target for manifests.
func (b *Bed) Manifests() (manifest.Cluster, error) {
	config, err := clientcmd.BuildConfigFromFlags("", b.Cluster.Kubeconfig)
	if err != nil {
		return manifest.Cluster{}, err
	}
	return manifest.In(config)
}

// awaitRights waits until the API server grants exactly these rights to the daemon's
// user and to the controllers' accounts in the manifest. Rights that every user has
// do not count.
func (b *Bed) awaitRights(ctx context.Context, all rights.Access) error {
	daemon, err := NewClient(b.Cluster.CCMKubeconfig)
	if err != nil {
		return err
	}
	unprivileged, err := b.as("unprivileged", "system:authenticated")
	if err != nil {
		return err
	}
	if err := awaitRights(ctx, all, holder{daemon, unprivileged, ""}); err != nil {
		return err
	}
	for _, account := range all.Accounts() {
		who, err := b.as(audit.Account(account)) // The API server adds the groups of an account.
		if err != nil {
			return err
		}
		other, err := b.as(audit.Account("unprivileged"))
		if err != nil {
			return err
		}
		if err := awaitRights(ctx, all, holder{who, other, account}); err != nil {
			return err
		}
	}
	return nil
}

// holder has two clients. The first client (who) belongs to the user whose rights are
// checked. The second (unprivileged) belongs to a user with only the rights that every
// user has.
type holder struct {
	who, unprivileged kubernetes.Interface
	account           string // of a controller; empty means the daemon's user
}

func awaitRights(ctx context.Context, all rights.Access, h holder) error {
	for limit := timeout.New(expect.Soon); ; {
		problem := h.differs(ctx, all)
		if problem == nil {
			return nil
		}
		if limit.IsOver() || ctx.Err() != nil {
			return fmt.Errorf("the rights of %s are not those of the manifest (is bin/playground older than this tree?): %w", cmp.Or(h.account, "the daemon"), problem)
		}
		Pause(ctx, 20*time.Millisecond)
	}
}

// differs returns an error if the rights are not exactly those of the manifest.
func (h holder) differs(ctx context.Context, all rights.Access) error {
	var problem error
	for _, namespace := range []string{metav1.NamespaceSystem, metav1.NamespaceDefault} {
		everybodys, err := rights.GrantedTo(ctx, h.unprivileged, namespace)
		if err != nil {
			return err
		}
		has, err := rights.GrantedTo(ctx, h.who, namespace)
		if err != nil {
			return err
		}
		maps.DeleteFunc(has, func(r rights.Right, _ bool) bool { return everybodys[r] })
		problem = errors.Join(problem, expect.Equal("rights in "+namespace, all.In(namespace, h.account), has))
	}
	return problem
}

// as returns the client of a user. If no groups are given, the API server decides
// which groups the user is in.
func (b *Bed) as(user string, groups ...string) (kubernetes.Interface, error) {
	config, err := clientcmd.BuildConfigFromFlags("", b.Cluster.Kubeconfig)
	if err != nil {
		return nil, err
	}
	config.QPS = -1
	config.Impersonate = rest.ImpersonationConfig{UserName: user, Groups: groups}
	return kubernetes.NewForConfig(config)
}
