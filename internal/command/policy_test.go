package command

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	cloudprovider "k8s.io/cloud-provider"

	"github.com/fairlead-k8s/fairlead/internal/daemon"
	"github.com/fairlead-k8s/fairlead/internal/manifest"
	theirs "github.com/fairlead-k8s/fairlead/provider"
)

// declarer is a provider that declares the features of its load balancers.
type declarer struct{ cloudprovider.Interface }

func (declarer) HasClusterID() bool { return true }

func (declarer) LoadBalancerFeatures() theirs.LoadBalancerFeatures {
	return theirs.LoadBalancerFeatures{SessionAffinity: true, AnnotationPrefix: "acme/"}
}

type silent struct{ cloudprovider.Interface }

func (silent) HasClusterID() bool { return true }

func runPolicy(t *testing.T, p cloudprovider.Interface, args ...string) (string, error) {
	t.Helper()
	cmd := New(daemon.Options{Name: "acme-ccm", ProviderName: "acme", Provider: func(context.Context, daemon.ProviderDeps) (cloudprovider.Interface, error) {
		if p == nil {
			return nil, errors.New("no credentials")
		}
		return p, nil
	}})
	var out bytes.Buffer
	cmd.SetOut(&out)
	cmd.SetErr(&out)
	cmd.SetArgs(append([]string{"policy"}, args...))
	err := cmd.ExecuteContext(t.Context())
	return out.String(), err
}

func TestPolicyIsPrinted(t *testing.T) {
	text, err := runPolicy(t, declarer{}, "--load-balancer-class=acme.example.com/a", "--configure-cloud-routes=false")
	if err != nil {
		t.Fatal(err)
	}
	objects, err := manifest.Objects(text)
	if err != nil || len(objects) != 2 || objects[0].GetKind() != "ValidatingAdmissionPolicy" || objects[1].GetName() != "acme-ccm-services" {
		t.Errorf("objects %v, error %v", objects, err)
	}
	for _, want := range []string{`in ["acme.example.com/a"]`, "- Warn", "spec.loadBalancerIP is not implemented"} {
		if !strings.Contains(text, want) {
			t.Errorf("%s does not have %s", text, want)
		}
	}
	text, err = runPolicy(t, declarer{}, "-o", "json", "--action=Deny", "--name=n")
	var list struct {
		Kind  string
		Items []struct{ Kind string }
	}
	if err != nil || json.Unmarshal([]byte(text), &list) != nil || list.Kind != "List" || len(list.Items) != 2 || !strings.Contains(text, `"Deny"`) {
		t.Errorf("error %v, JSON %s", err, text)
	}
}

func TestPolicyThatCannotBePrinted(t *testing.T) {
	for _, tt := range []struct {
		name     string
		provider cloudprovider.Interface
		args     []string
		want     string
	}{
		{"DeclaresNothing", silent{}, nil, `the provider "acme" does not declare what it implements (provider.FeatureDeclarer), so there is no policy`},
		{"NoProvider", nil, nil, `no policy, because the provider cannot be made: cloud provider "acme" without --cloud-config: no credentials`},
		{"UnknownAction", declarer{}, []string{"--action=Refuse"}, `--action: "Refuse" is neither Warn nor Deny`},
		{"UnknownFormat", declarer{}, []string{"-o", "toml"}, `--output: "toml" is neither yaml nor json`},
		{"NoName", declarer{}, []string{"--cloud-provider="}, "--cloud-provider cannot be empty"},
		{"Argument", declarer{}, []string{"x"}, `"acme-ccm policy" does not take any arguments, got ["x"]`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := runPolicy(t, tt.provider, tt.args...); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want %s", err, tt.want)
			}
		})
	}
}

func TestHelpOfPolicy(t *testing.T) {
	text, err := runPolicy(t, declarer{}, "--help")
	if err != nil || !strings.Contains(text, "--action string") || strings.Contains(text, "--secure-port") {
		t.Errorf("error %v, help:\n%s", err, text)
	}
	cmd := New(daemon.Options{Name: "acme-ccm", ProviderName: "acme"})
	var out bytes.Buffer
	cmd.SetOut(&out)
	cmd.SetArgs([]string{"__complete", "policy", "--action", ""})
	if err := cmd.ExecuteContext(t.Context()); err != nil || !slices.Contains(strings.Fields(out.String()), "Deny") {
		t.Errorf("error %v, completion %s", err, out.String())
	}
}
