package settings

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/component-base/configz"
)

func TestConfigz(t *testing.T) {
	o := parsed(t, "--cloud-provider=test --controllers=*,-cloud-node --concurrent-node-syncs=4 --kubeconfig=/etc/kubeconfig")
	remove, err := o.RegisterConfigz()
	if err != nil {
		t.Fatal(err)
	}
	defer remove()
	mux, answer := http.NewServeMux(), httptest.NewRecorder()
	configz.InstallHandler(mux)
	mux.ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/configz", nil))
	want, err := os.ReadFile("testdata/configz.json")
	if err != nil {
		t.Fatal(err)
	}
	var got bytes.Buffer
	if err := json.Indent(&got, answer.Body.Bytes(), "", "  "); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got.String()+"\n"); diff != "" {
		t.Errorf("/configz (-want +got):\n%s", diff)
	}
}
