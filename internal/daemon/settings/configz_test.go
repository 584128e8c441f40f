package settings

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"

	"k8s.io/component-base/configz"

	"github.com/fairlead-k8s/fairlead/internal/golden"
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
	var got bytes.Buffer
	if err := json.Indent(&got, answer.Body.Bytes(), "", "  "); err != nil {
		t.Fatal(err)
	}
	golden.Compare(t, "testdata/configz.json", got.String()+"\n", "the functions show of internal/daemon/settings")
}
