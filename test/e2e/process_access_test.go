package e2e

import (
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-k8s/fairlead/simulator"
)

// The API server decides who may see what the daemon serves.
func TestServingAsksTheAPIServer(t *testing.T) {
	b := onShared(t)
	cloud := b.bareCloud(t)
	d := b.daemon(t, setup{cloud: cloud.url})
	b.joins(t, cloud, soon)
	stranger, scraper := b.account(t, "stranger"), b.scraper(t)
	type answers struct{ Anonymous, Wrong, Stranger, Scraper int }
	for path, want := range map[string]answers{
		"/healthz": {200, 401, 200, 200},
		"/metrics": {403, 401, 403, 200},
		"/configz": {403, 401, 403, 403},
	} {
		got := answers{d.get(t, path, ""), d.get(t, path, "wrong"), d.get(t, path, stranger.token), d.get(t, path, scraper.token)}
		if err := differ(path, want, got); err != nil {
			t.Error(err)
		}
	}
	status, body := d.ask(t.Context(), t, "/readyz?verbose", "")
	if status != http.StatusOK || !strings.Contains(body, "[i]cloud: last answered ") || !strings.Contains(body, "[i]cloud-config: as in the files") {
		t.Errorf("/readyz?verbose answers %d: %s", status, body)
	}
}

// scraper is an account that may read metrics, and nothing else.
func (b *bed) scraper(t *testing.T) account {
	t.Helper()
	scraper := b.account(t, "scraper")
	role := &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{Name: scraper.name},
		Rules:      []rbacv1.PolicyRule{{NonResourceURLs: []string{"/metrics"}, Verbs: []string{"get"}}},
	}
	if _, err := b.admin.RbacV1().ClusterRoles().Create(t.Context(), role, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := b.admin.RbacV1().ClusterRoleBindings().Create(t.Context(), &rbacv1.ClusterRoleBinding{
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

func (b *bed) account(t *testing.T, base string) account {
	t.Helper()
	accounts := b.admin.CoreV1().ServiceAccounts(metav1.NamespaceDefault)
	made, err := accounts.Create(t.Context(), &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: b.name(base)}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	token, err := accounts.CreateToken(t.Context(), made.Name, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return account{made.Name, token.Status.Token}
}

// With --use-service-account-credentials controllers write as their service
// accounts, within the rights that the API server gives these by itself.
func TestControllersActAsServiceAccounts(t *testing.T) {
	b := onShared(t)
	b.withThoseOf(t, serviceAccounts)
	b.forget(t)
	mark := b.audit(t).mark()
	cloud := b.bareCloud(t)
	b.run(t, []string{
		b.programs.path("cloud-controller-manager"), "--cloud-provider=simulated", "--use-service-account-credentials", "--configure-cloud-routes=false",
		"--cloud-config=" + write(t, filepath.Join(t.TempDir(), "cloud.yaml"), "endpoint: "+cloud.url),
		"--kubeconfig=" + b.cluster.CCMKubeconfig, "--leader-elect=false",
	})
	i, node := b.pair(t, cloud, simulator.Instance{Name: b.name("account")})
	b.awaitNode(t, node.Name, soon, is(i, stated(i)...))
	service := b.services().balanced(t, "account")
	b.awaitAddress(t, service)

	writers := map[string]map[string]bool{}
	for _, r := range b.audit(t).since(mark).writes() {
		if !strings.HasPrefix(r.UserAgent, "cloud-controller-manager/") { // Kubernetes' own controllers write, too.
			continue
		}
		if writers[r.resource()] == nil {
			writers[r.resource()] = map[string]bool{}
		}
		writers[r.resource()][strings.TrimPrefix(r.User.Username, "system:serviceaccount:kube-system:")] = true
	}
	delete(writers, "events")
	if err := differ("who writes what", map[string]map[string]bool{
		"nodes":                 {"node-controller": true},
		"nodes/status":          {"node-controller": true},
		"services/status":       {"service-controller": true},
		"serviceaccounts":       {ccmUser: true},
		"serviceaccounts/token": {ccmUser: true},
	}, writers); err != nil {
		t.Error(err)
	}
}
