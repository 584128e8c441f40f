package e2e

import (
	"context"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-k8s/fairlead/simulator"
	"github.com/fairlead-k8s/fairlead/test/internal/audit"
	"github.com/fairlead-k8s/fairlead/test/internal/bed"
	"github.com/fairlead-k8s/fairlead/test/internal/daemon"
	"github.com/fairlead-k8s/fairlead/test/internal/expect"
	"github.com/fairlead-k8s/fairlead/test/internal/lbservice"
	"github.com/fairlead-k8s/fairlead/test/internal/nodes"
)

// The API server decides who may read the daemon's endpoints.
func TestServingAsksTheAPIServer(t *testing.T) {
	b := onShared(t)
	cloud := b.NewCloud(t)
	d := b.Daemon(t, daemon.Setup{Cloud: cloud.URL})
	joins(t, b, cloud, expect.Soon)
	unprivileged, scraper := newAccount(t, b, "unprivileged"), newScraper(t, b)
	expect.Within(t, expect.Soon, func(ctx context.Context) error { // The API server knows a new role only after a moment.
		status, _, err := d.Request(ctx, "/metrics", scraper.token)
		if err == nil && status != http.StatusOK {
			err = fmt.Errorf("/metrics answers %d", status)
		}
		return err
	})
	type answers struct{ Anonymous, Wrong, Unprivileged, Scraper int }
	for path, want := range map[string]answers{
		"/healthz": {200, 401, 200, 200},
		"/metrics": {403, 401, 403, 200},
		"/configz": {403, 401, 403, 403},
		"/flagz":   {403, 401, 403, 403},
		"/statusz": {403, 401, 403, 403},
	} {
		get := func(token string) int {
			status, _ := d.Ask(t.Context(), t, path, token)
			return status
		}
		if err := expect.Equal(path, want, answers{get(""), get("wrong"), get(unprivileged.token), get(scraper.token)}); err != nil {
			t.Error(err)
		}
	}
	expect.Within(t, expect.Soon, func(ctx context.Context) error { // The API server may take longer than this check allows.
		status, body, err := d.Request(ctx, "/readyz?verbose", "")
		if err == nil && (status != http.StatusOK || !strings.Contains(body, "[i]cloud: last answered ") || !strings.Contains(body, "[i]cloud-config: as in the files")) {
			err = fmt.Errorf("/readyz?verbose answers %d: %s", status, body)
		}
		return err
	})
}

// newScraper returns an account that may read metrics, and nothing else.
func newScraper(t *testing.T, b *bed.Bed) account {
	t.Helper()
	scraper := newAccount(t, b, "scraper")
	role := &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{Name: scraper.name},
		Rules:      []rbacv1.PolicyRule{{NonResourceURLs: []string{"/metrics"}, Verbs: []string{"get"}}},
	}
	if _, err := b.Admin.RbacV1().ClusterRoles().Create(t.Context(), role, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Admin.RbacV1().ClusterRoleBindings().Create(t.Context(), &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: scraper.name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: scraper.name},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: metav1.NamespaceDefault, Name: scraper.name}},
	}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	return scraper
}

// account is a service account and its token.
type account struct{ name, token string }

func newAccount(t *testing.T, b *bed.Bed, base string) account {
	t.Helper()
	accounts := b.Admin.CoreV1().ServiceAccounts(metav1.NamespaceDefault)
	made, err := accounts.Create(t.Context(), &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: b.Name(base)}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	token, err := accounts.CreateToken(t.Context(), made.Name, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return account{made.Name, token.Status.Token}
}

// With --use-service-account-credentials, controllers write as their service
// accounts. These accounts have only the rights of the API server's built-in roles.
func TestControllersActAsServiceAccounts(t *testing.T) {
	b := onShared(t)
	b.UseRightsOf(t, serviceAccounts)
	forget(t, b)
	mark := b.Audit(t).Mark()
	cloud := b.NewCloud(t)
	b.Run(t, []string{
		b.Programs.Path("cloud-controller-manager"), "--cloud-provider=simulated", "--use-service-account-credentials", "--configure-cloud-routes=false",
		"--cloud-config=" + bed.WriteFile(t, filepath.Join(t.TempDir(), "cloud.yaml"), "endpoint: "+cloud.URL),
		"--kubeconfig=" + b.Cluster.CCMKubeconfig, "--leader-elect=false",
	})
	i, node := b.Pair(t, cloud, simulator.Instance{Name: b.Name("account")})
	b.AwaitNode(t, node.Name, expect.Soon, nodes.As(i, nodes.AddressesOf(i)...))
	service := lbservice.On(b).Balanced(t, "account")
	awaitAddress(t, b, service)

	expect.Within(t, expect.Soon, func(context.Context) error { // A write can be in the log later than its effect is seen.
		return expect.Equal("who writes what", map[string]map[string]bool{
			"nodes":                 {"node-controller": true},
			"nodes/status":          {"node-controller": true},
			"services/status":       {"service-controller": true},
			"serviceaccounts":       {audit.DaemonUser: true},
			"serviceaccounts/token": {audit.DaemonUser: true},
		}, writersIn(b.Audit(t).Since(mark)))
	})
}

// writersIn returns, by resource, the users that have written it. It leaves out events.
func writersIn(all audit.Requests) map[string]map[string]bool {
	writers := map[string]map[string]bool{}
	for _, r := range all.Writes() {
		if !strings.HasPrefix(r.UserAgent, "cloud-controller-manager/") { // Kubernetes' own controllers write, too.
			continue
		}
		if writers[r.Resource()] == nil {
			writers[r.Resource()] = map[string]bool{}
		}
		writers[r.Resource()][strings.TrimPrefix(r.User.Username, "system:serviceaccount:kube-system:")] = true
	}
	delete(writers, "events")
	return writers
}
