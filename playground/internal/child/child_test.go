package child

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"
)

func TestArgsSetTheOptions(t *testing.T) {
	flags := func(add func(*pflag.FlagSet)) *pflag.FlagSet {
		f := pflag.NewFlagSet("", pflag.ContinueOnError)
		add(f)
		return f
	}

	wantEtcd := EtcdOptions{DataDir: "d", Listen: "https://127.0.0.1:1", CAFile: "ca", CertFile: "cert", KeyFile: "key"}
	var etcd EtcdOptions
	if err := flags(etcd.AddFlags).Parse(wantEtcd.Args()); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(wantEtcd, etcd); diff != "" {
		t.Errorf("etcd: %s", diff)
	}

	wantKubelet := KubeletOptions{Node: "node-1", Kubeconfig: "file", Port: 10250, ServingCertificate: true, NetworkFile: "network"}
	var kubelet KubeletOptions
	if err := flags(kubelet.AddFlags).Parse(wantKubelet.Args()); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(wantKubelet, kubelet); diff != "" {
		t.Errorf("kubelet: %s", diff)
	}
}
