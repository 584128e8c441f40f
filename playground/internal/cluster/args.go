package cluster

import (
	"fmt"
	"strconv"

	"github.com/fairlead-k8s/fairlead/internal/ports"
	"github.com/fairlead-k8s/fairlead/playground/internal/child"
)

// listeners holds the ports on which the components serve.
type listeners struct {
	etcd, apiServer, controllerManager, scheduler int
}

func (l listeners) etcdURL() string      { return "https://" + ports.Address(l.etcd) }
func (l listeners) apiServerURL() string { return "https://" + ports.Address(l.apiServer) }

func etcdArgs(l layout, at listeners) []string {
	o := child.EtcdOptions{
		DataDir:  l.etcd(),
		Listen:   at.etcdURL(),
		CAFile:   l.etcdPKI("ca.crt"),
		CertFile: l.etcdPKI("server.crt"),
		KeyFile:  l.etcdPKI("server.key"),
	}
	return o.Args()
}

func apiServerArgs(c Config, l layout, at listeners) []string {
	args := append(serving(l, at.apiServer),
		"--advertise-address=127.0.0.1",
		// A reconciler would try to publish the API server's address and would fail, because that
		// is a loopback address.
		"--endpoint-reconciler-type=none",
		"--etcd-servers="+at.etcdURL(),
		"--etcd-cafile="+l.etcdPKI("ca.crt"),
		"--etcd-certfile="+l.etcdPKI("client.crt"),
		"--etcd-keyfile="+l.etcdPKI("client.key"),
		"--client-ca-file="+l.pki("ca.crt"),
		// There is no authenticating proxy here, but components log an error if this flag is missing.
		"--requestheader-client-ca-file="+l.pki("ca.crt"),
		"--requestheader-allowed-names=front-proxy-client",
		"--requestheader-username-headers=X-Remote-User",
		"--requestheader-group-headers=X-Remote-Group",
		"--requestheader-extra-headers-prefix=X-Remote-Extra-",
		"--token-auth-file="+l.tokens(),
		"--authorization-mode=Node,RBAC",
		"--enable-admission-plugins=NodeRestriction",
		"--service-account-issuer=https://kubernetes.default.svc.cluster.local",
		"--service-account-key-file="+l.serviceAccountKey(),
		"--service-account-signing-key-file="+l.serviceAccountKey(),
		"--service-cluster-ip-range="+join(c.ServiceCIDRs),
	)
	if c.AuditLog {
		args = append(args, "--audit-log-path="+l.auditLog(), "--audit-policy-file="+l.auditPolicy())
	}
	return append(args, c.APIServerArgs...)
}

func controllerManagerArgs(c Config, l layout, at listeners) []string {
	args := append(client(l, child.ControllerManager), serving(l, at.controllerManager)...)
	args = append(args,
		"--leader-elect=false",
		// Each controller of this process fetches a token when it starts. With the default limits,
		// this takes five seconds in all.
		"--kube-api-qps=500",
		"--kube-api-burst=1000",
		"--cloud-provider=external",
		"--use-service-account-credentials",
		"--service-account-private-key-file="+l.serviceAccountKey(),
		"--root-ca-file="+l.pki("ca.crt"),
		"--cluster-signing-cert-file="+l.pki("ca.crt"),
		"--cluster-signing-key-file="+l.pki("ca.key"),
		"--allocate-node-cidrs",
		"--cluster-cidr="+join(c.PodCIDRs),
		"--service-cluster-ip-range="+join(c.ServiceCIDRs),
	)
	if c.NodeMonitorGracePeriod > 0 {
		args = append(args, fmt.Sprintf("--node-monitor-grace-period=%s", c.NodeMonitorGracePeriod))
	}
	return append(args, c.ControllerManagerArgs...)
}

func schedulerArgs(c Config, l layout, at listeners) []string {
	args := append(client(l, child.Scheduler), serving(l, at.scheduler)...)
	args = append(args, "--leader-elect=false")
	return append(args, c.SchedulerArgs...)
}

// serving returns the flags that make a component serve TLS, only on the loopback interface.
func serving(l layout, port int) []string {
	return []string{
		"--bind-address=127.0.0.1",
		"--secure-port=" + strconv.Itoa(port),
		"--tls-cert-file=" + l.pki("server.crt"),
		"--tls-private-key-file=" + l.pki("server.key"),
	}
}

// client returns the flags that make a component use its kubeconfig. With the same kubeconfig, the
// component asks the API server who its callers are and what they may do.
func client(l layout, component string) []string {
	kubeconfig := l.kubeconfig(component)
	return []string{
		"--kubeconfig=" + kubeconfig,
		"--authentication-kubeconfig=" + kubeconfig,
		"--authorization-kubeconfig=" + kubeconfig,
	}
}
