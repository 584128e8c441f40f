package deploy_test

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// By default the manifests allow and expose as little as possible.
func TestManifestsAreClosedByDefault(t *testing.T) {
	deployment, daemonSet := read(t, "deployment.yaml"), read(t, "daemonset.yaml")
	confined, podMonitor := read(t, "../charts/fairlead/ci/confined.golden.yaml"), read(t, "../charts/fairlead/ci/pod-monitor.golden.yaml")
	for _, tt := range []struct {
		name, manifest string
		has            []string
		hasNot         []string
	}{
		{"ProfilingIsOff", deployment, []string{"- --profiling=false\n"}, nil},
		{
			"PodIsRestricted", deployment,
			[]string{"runAsNonRoot: true\n", "type: RuntimeDefault\n", "allowPrivilegeEscalation: false\n", "drop:\n              - ALL\n", "readOnlyRootFilesystem: true\n"},
			[]string{"hostPath", "privileged: true", "hostPID", "hostIPC"},
		},
		{"DaemonSetListensOnLoopback", daemonSet, []string{"- --profiling=false\n", `- "--bind-address=127.0.0.1"`}, nil},
		{"DeploymentHasItsOwnNetwork", deployment, nil, []string{"hostNetwork", "--bind-address"}},
		{
			"CertificateIsMountedAndServed", confined,
			[]string{"--tls-cert-file=/etc/fairlead/tls/tls.crt", "--tls-private-key-file=/etc/fairlead/tls/tls.key", "mountPath: /etc/fairlead/tls\n", "secretName: cloud-controller-manager-serving\n"},
			nil,
		},
		{
			"PrometheusVerifiesTheCertificate", confined,
			[]string{"name: cloud-controller-manager-serving\n            key: ca.crt\n", "serverName: cloud-controller-manager-metrics.kube-system.svc\n"},
			nil,
		},
		{
			"PodMonitorVerifiesTheCertificate", podMonitor,
			[]string{"kind: PodMonitor", "name: prometheus-token\n", "name: cloud-controller-manager-serving\n            key: ca.crt\n", "serverName: cloud-controller-manager-metrics.kube-system.svc\n"},
			[]string{"kind: ServiceMonitor", "kind: Service\n"},
		},
		{"NobodyElseMayConnect", confined, []string{"kind: NetworkPolicy", "- Ingress\n", "- Egress\n", "app.kubernetes.io/name: prometheus\n"}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, text := range tt.has {
				if !strings.Contains(tt.manifest, text) {
					t.Errorf("there is no %q", text)
				}
			}
			for _, text := range tt.hasNot {
				if strings.Contains(tt.manifest, text) {
					t.Errorf("there is %q", text)
				}
			}
		})
	}
	if probes := regexp.MustCompile(`host: "127\.0\.0\.1"\n +path: /(livez|readyz)`).FindAllString(daemonSet, -1); len(probes) != 2 {
		t.Errorf("%d probes of the DaemonSet ask 127.0.0.1, want both", len(probes))
	}
}

// Prometheus sends its token to the daemon. Unless a value switches the verification
// off, Prometheus has to verify the daemon's certificate first.
func TestPrometheusTokenIsNotSentToWhoeverAnswers(t *testing.T) {
	files, err := filepath.Glob("../charts/fairlead/ci/*.golden.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range append(files, "deployment.yaml", "daemonset.yaml", "../charts/fairlead/templates/monitoring.yaml") {
		if strings.Contains(read(t, file), "insecureSkipVerify") {
			t.Errorf("%s: the certificate is not verified", file)
		}
	}
	for name, help := range map[string]string{
		"metrics-without-verification":     "tls.secretName, or metrics.serviceMonitor.tlsConfig",
		"pod-monitor-without-verification": "tls.secretName, or metrics.podMonitor.tlsConfig",
		"pod-monitor-without-token":        "metrics.podMonitor.authorization",
	} {
		if refusal := read(t, "../charts/fairlead/ci/refused/"+name+".error"); !strings.Contains(refusal, help) {
			t.Errorf("%s is refused with %q, want the values that help", name, refusal)
		}
	}
}

// Without the Lease, all replicas work at the same time. So the chart allows a daemon
// without a Lease only if there is never a second replica. Otherwise it says what to
// change.
func TestReplicasWithoutALeaseAreRefused(t *testing.T) {
	files, err := filepath.Glob("../charts/fairlead/ci/refused/no-lease-*.error")
	if err != nil || len(files) != 3 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		for _, help := range []string{"extraArgs: --leader", "drop the flag", "replicaCount to 1", "{type: Recreate}"} {
			if refusal := read(t, file); !strings.Contains(refusal, help) {
				t.Errorf("%s: %q does not say %q", file, refusal, help)
			}
		}
	}
	alone := read(t, "../charts/fairlead/ci/no-lease.golden.yaml")
	for _, text := range []string{"replicas: 1\n  strategy:\n    type: Recreate\n", `- "--leader-elect=false"`} {
		if !strings.Contains(alone, text) {
			t.Errorf("a single replica without a Lease has no %q", text)
		}
	}
}

// docs/guides/hardening.md has the names of the objects that docs/guides/install.md
// installs with the chart. With other names, Prometheus would refuse the
// daemon's certificate, and the audit log would lack what the daemon has done.
func TestHardeningNamesWhatIsInstalled(t *testing.T) {
	const install = "helm install cloud-controller-manager charts/fairlead --namespace kube-system "
	if !strings.Contains(read(t, "../docs/guides/install.md"), install) {
		t.Errorf("the installation is not %q, as that of the examples", install)
	}
	name := found(`kind: Deployment\nmetadata:\n  name: (\S+)\n`, read(t, "examples/digitalocean/manifest.yaml"))
	guide := read(t, "../docs/guides/hardening.md")
	for _, text := range []string{
		"dnsNames: [" + name + "-metrics.kube-system.svc]\n",
		`users: ["system:serviceaccount:kube-system:` + name + `"]`,
	} {
		if !strings.Contains(guide, text) {
			t.Errorf("the guide has no %q", text)
		}
	}
}
