package daemon

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// accounts is an API server that issues tokens for service accounts. It has the
// account route-controller.
type accounts struct {
	mu    sync.Mutex
	calls []string // guarded by mu
}

func (a *accounts) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	a.calls = append(a.calls, r.Method+" "+r.URL.Path+" as "+r.Header.Get("Authorization"))
	a.mu.Unlock()
	const known = "/api/v1/namespaces/kube-system/serviceaccounts/route-controller"
	var answer any = &corev1.NodeList{TypeMeta: metav1.TypeMeta{Kind: "NodeList", APIVersion: "v1"}}
	switch r.URL.Path {
	case known:
		answer = &corev1.ServiceAccount{TypeMeta: metav1.TypeMeta{Kind: "ServiceAccount", APIVersion: "v1"}}
	case known + "/token":
		answer = &authenticationv1.TokenRequest{
			TypeMeta: metav1.TypeMeta{Kind: "TokenRequest", APIVersion: "authentication.k8s.io/v1"},
			Spec:     authenticationv1.TokenRequestSpec{ExpirationSeconds: new(int64(3600))},
			Status:   authenticationv1.TokenRequestStatus{Token: "of-route-controller"},
		}
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(answer)
}

func TestControllersActAsTheirServiceAccounts(t *testing.T) {
	const account = "/api/v1/namespaces/kube-system/serviceaccounts/route-controller"
	for _, tc := range []struct {
		name string
		args string
		want []string
	}{
		{"AsTheProcess", "", []string{"GET /api/v1/nodes as Bearer own", "GET /api/v1/nodes as Bearer own"}},
		{"AsTheirServiceAccounts", "--use-service-account-credentials", []string{
			"GET " + account + " as Bearer own", // when the client is made
			"GET " + account + " as Bearer own",
			"POST " + account + "/token as Bearer own",
			"GET /api/v1/nodes as Bearer of-route-controller",
			"GET /api/v1/nodes as Bearer own",
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			api := &accounts{}
			server := httptest.NewServer(api)
			defer server.Close()
			o := parsed(t, "--kube-api-content-type=application/json --master="+server.URL+" "+tc.args)
			config, err := o.Settings.Client.RESTConfig()
			if err != nil {
				t.Fatal(err)
			}
			config.BearerToken = "own"
			made, err := newClients(o.Settings.Client, config)
			if err != nil {
				t.Fatal(err)
			}
			each, err := made.each.Client("route-controller")
			if err != nil {
				t.Fatal(err)
			}
			own, err := made.own.Client(informersName)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := each.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{}); err != nil {
				t.Error(err)
			}
			if _, err := own.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{}); err != nil {
				t.Error(err)
			}
			if diff := cmp.Diff(tc.want, api.calls); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}
