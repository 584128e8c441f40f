package ccm_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	cloudprovider "k8s.io/cloud-provider"
	cliflag "k8s.io/component-base/cli/flag"

	"github.com/fairlead-k8s/fairlead/ccm"
	"github.com/fairlead-k8s/fairlead/internal/ports"
)

// program returns options with a provider, a default, a flag, a controller, a webhook
// and Stopped.
func program() ccm.Options {
	var flags cliflag.NamedFlagSets
	zone := flags.FlagSet("acme").String("acme-zone", "north", "The zone of this cluster.")
	return ccm.Options{
		Name:         "acme-ccm",
		ProviderName: "acme",
		Defaults:     map[string]string{"cluster-name": "acme-cluster"},
		Flags:        flags,
		Provider: func(_ context.Context, d ccm.ProviderDeps) (cloudprovider.Interface, error) {
			fmt.Println("provider", d.Name, *zone, "by", d.Flags.Lookup("acme-zone").Value)
			return &cloud{does: "return"}, nil
		},
		Controllers: []ccm.Controller{{
			Name: "acme-controller",
			New: func(_ context.Context, d ccm.ControllerDeps) (ccm.Runner, error) {
				fmt.Printf("controller of %T\n", d.Cloud)
				return runner{}, nil
			},
		}},
		Webhooks: []ccm.Webhook{{
			Name: "acme-webhook",
			Path: "/acme",
			Admit: func(context.Context, *admissionv1.AdmissionRequest) (*admissionv1.AdmissionResponse, error) {
				return &admissionv1.AdmissionResponse{}, nil
			},
		}},
		Stopped: func(ctx context.Context) { fmt.Println("stopped", ctx.Err()) },
	}
}

type runner struct{}

func (runner) Run(ctx context.Context) error {
	fmt.Println("controller runs")
	<-ctx.Done()
	fmt.Println("controller is over")
	return nil
}

func TestProgram(t *testing.T) {
	free, err := new(ports.Picker).Next()
	if err != nil {
		t.Fatal(err)
	}
	port := strconv.Itoa(free)
	cmd, lines := start(t, "program", "--acme-zone=south", "--webhooks=*", "--webhook-bind-address=127.0.0.1", "--webhook-secure-port="+port, "--controllers=acme-controller")
	for _, want := range []string{"provider acme south by south", "Serving securely on 127.0.0.1:" + port, "initialising", "controller of *ccm_test.cloud", "controller runs"} {
		if !skipTo(lines, want) {
			t.Fatalf("no line %q", want)
		}
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"controller is over", "stopped <nil>", "exit code 0"} {
		if !skipTo(lines, want) {
			t.Errorf("no line %q", want)
		}
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}

func TestProgramsHelp(t *testing.T) {
	for line, texts := range map[string][]string{
		"--help": {"acme-ccm [flags]", "\nAcme flags:\n", "--acme-zone string", `(default "acme")`, `"acme-cluster")`},
		"flags":  {"\nAcme flags:\n", "--acme-zone string", "acme-controller", "All webhooks: acme-webhook"},
	} {
		cmd := exec.CommandContext(t.Context(), os.Args[0], line)
		cmd.Env = append(os.Environ(), asDaemon+"=program")
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range texts {
			if !strings.Contains(string(out), want) {
				t.Errorf("%s prints no %q", line, want)
			}
		}
	}
}
