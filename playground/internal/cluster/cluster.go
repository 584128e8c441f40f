// Package cluster brings up a real Kubernetes control plane on the loopback interface: etcd, kube-apiserver,
// kube-controller-manager, kube-scheduler and any number of kubelets, each in a separate process.
package cluster

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"os"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/fairlead-k8s/fairlead/deploy"
	"github.com/fairlead-k8s/fairlead/internal/manifest"
	"github.com/fairlead-k8s/fairlead/internal/ports"
	"github.com/fairlead-k8s/fairlead/playground/internal/await"
	"github.com/fairlead-k8s/fairlead/playground/internal/child"
	"github.com/fairlead-k8s/fairlead/playground/internal/progress"
	"github.com/fairlead-k8s/fairlead/playground/internal/supervisor"
)

// Cluster is one control plane.
type Cluster struct {
	config   Config
	layout   layout
	children *supervisor.Supervisor
	ports    ports.Picker

	// Set by Start.
	at      listeners
	secrets *credentials
	admin   *rest.Config
	client  kubernetes.Interface
}

// New returns a control plane that starts its processes as children. New itself
// starts nothing.
func New(config Config, children *supervisor.Supervisor) *Cluster {
	if len(config.PodCIDRs) == 0 {
		config.PodCIDRs = []netip.Prefix{netip.MustParsePrefix(DefaultPodCIDR)}
	}
	if len(config.ServiceCIDRs) == 0 {
		config.ServiceCIDRs = []netip.Prefix{netip.MustParsePrefix(DefaultServiceCIDR)}
	}
	return &Cluster{config: config, layout: layout{config.DataDir}, children: children}
}

// Start starts the control plane, without nodes. It returns when all components are ready.
func (c *Cluster) Start(ctx context.Context, steps *progress.Steps) error {
	if err := c.prepare(); err != nil {
		return fmt.Errorf("prepare %s: %w", c.config.DataDir, err)
	}
	return steps.Do("etcd, kube-apiserver, kube-controller-manager and kube-scheduler ready", func() error {
		for _, start := range []func(context.Context) error{c.startEtcd, c.startAPIServer, c.startControllers} {
			if err := start(ctx); err != nil {
				return err
			}
		}
		return nil
	})
}

// Endpoints returns the files and addresses for access to the control plane.
// Start must have returned.
func (c *Cluster) Endpoints() Endpoints {
	e := Endpoints{
		Kubeconfig:    c.layout.kubeconfig(adminFile),
		CCMKubeconfig: c.layout.kubeconfig(ccmUser),
		Server:        c.at.apiServerURL(),
		CAFile:        c.layout.pki("ca.crt"),
		DataDir:       c.config.DataDir,
	}
	if c.config.AuditLog {
		e.AuditLog = c.layout.auditLog()
	}
	return e
}

// Client returns an administrator's client. Start must have returned.
func (c *Cluster) Client() kubernetes.Interface { return c.client }

// BootNode starts the kubelet that registers the Node with this name.
func (c *Cluster) BootNode(name string) error {
	dir := c.layout.kubelet(name)
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	port, err := c.ports.Next()
	if err != nil {
		return err
	}
	o := child.KubeletOptions{
		Node: name, Kubeconfig: c.layout.in("kubelets", name, "kubeconfig"), Port: port,
		ServingCertificate: c.config.ServingCertificates, NetworkFile: c.config.NetworkFile,
	}
	if err := c.secrets.writeNodeKubeconfig(o.Kubeconfig, c.at.apiServerURL(), name, c.config.Clock.Now()); err != nil {
		return err
	}
	spec := c.spec(child.Kubelet, o.Args())
	spec.Name, spec.Dir = kubeletChild(name), dir
	return c.children.Start(spec)
}

// KillNode kills the kubelet of the Node with this name, as if its machine had lost
// power.
func (c *Cluster) KillNode(ctx context.Context, name string) error {
	if err := c.children.Forget(ctx, kubeletChild(name)); err != nil {
		return err
	}
	return os.RemoveAll(c.layout.kubelet(name))
}

// AwaitNodes waits until a Node with each of these names is registered.
func (c *Cluster) AwaitNodes(ctx context.Context, names []string) error {
	return await.Until(ctx, "the Nodes", func(ctx context.Context) error {
		for _, name := range names {
			if _, err := c.client.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{}); err != nil {
				return err
			}
		}
		return nil
	})
}

// RunningNodes returns the names of the nodes whose kubelets run. The kubelet's process stands for the machine.
func (c *Cluster) RunningNodes() []string {
	var names []string
	for _, s := range c.children.List() {
		if node, ok := strings.CutPrefix(s.Name, kubeletChild("")); ok && s.PID != 0 {
			names = append(names, node)
		}
	}
	return names
}

func kubeletChild(node string) string { return child.Kubelet + "-" + node }

func (c *Cluster) prepare() error {
	if err := c.layout.create(); err != nil {
		return err
	}
	for _, port := range []*int{&c.at.etcd, &c.at.apiServer, &c.at.controllerManager, &c.at.scheduler} {
		var err error
		if *port, err = c.ports.Next(); err != nil {
			return err
		}
	}
	var err error
	now := c.config.Clock.Now()
	if c.secrets, err = ensureCredentials(c.config, c.layout, now); err != nil {
		return err
	}
	if err := c.secrets.writeKubeconfigs(c.layout, c.at.apiServerURL(), now); err != nil {
		return err
	}
	if c.admin, err = clientcmd.BuildConfigFromFlags("", c.layout.kubeconfig(adminFile)); err != nil {
		return err
	}
	c.admin.RateLimiter, c.admin.QPS = nil, -1
	c.client, err = kubernetes.NewForConfig(c.admin)
	return err
}

func (c *Cluster) startEtcd(ctx context.Context) error {
	if err := c.children.Start(c.spec(child.Etcd, etcdArgs(c.layout, c.at))); err != nil {
		return err
	}
	// etcd requires a client certificate even for a health check.
	probe, err := c.probe(c.at.etcdURL(), rest.TLSClientConfig{
		CAFile: c.layout.etcdPKI("ca.crt"), CertFile: c.layout.etcdPKI("client.crt"), KeyFile: c.layout.etcdPKI("client.key"),
	})
	if err != nil {
		return err
	}
	return await.Until(ctx, child.Etcd, probe("/health"))
}

func (c *Cluster) startAPIServer(ctx context.Context) error {
	args := apiServerArgs(c.config, c.layout, c.at)
	if err := c.children.Start(c.spec(child.APIServer, args)); err != nil {
		return err
	}
	probe, err := c.probe(c.at.apiServerURL(), rest.TLSClientConfig{})
	if err != nil {
		return err
	}
	if err := await.Until(ctx, child.APIServer, probe("/readyz")); err != nil {
		return err
	}
	return grantAccess(ctx, c.admin)
}

func (c *Cluster) startControllers(ctx context.Context) error {
	manager := c.spec(child.ControllerManager, controllerManagerArgs(c.config, c.layout, c.at))
	if err := c.children.Start(manager); err != nil {
		return err
	}
	scheduler := c.spec(child.Scheduler, schedulerArgs(c.config, c.layout, c.at))
	if err := c.children.Start(scheduler); err != nil {
		return err
	}
	probe, err := c.probe("https://"+ports.Address(c.at.scheduler), rest.TLSClientConfig{})
	if err != nil {
		return err
	}
	if err := await.Until(ctx, child.Scheduler, probe("/readyz")); err != nil {
		return err
	}
	// Pods need the default service account, and its existence shows that the controllers run.
	return await.Until(ctx, child.ControllerManager, func(ctx context.Context) error {
		_, err := c.client.CoreV1().ServiceAccounts(metav1.NamespaceDefault).Get(ctx, "default", metav1.GetOptions{})
		return err
	})
}

func (c *Cluster) spec(name string, args []string) supervisor.Spec {
	return supervisor.Spec{Name: name, Command: append([]string{c.config.Executable, child.Run, name}, args...)}
}

// ccmUser is the user of the published kubeconfig for a cloud-controller-manager.
const ccmUser = "cloud-controller-manager"

// grantAccess gives ccmUser the same rights as the daemon's manifest gives the daemon's service
// account. So if a daemon has enough rights here, it also has enough rights with the published
// manifests.
func grantAccess(ctx context.Context, admin *rest.Config) error {
	access, err := manifest.Access(deploy.Deployment, ccmUser)
	if err != nil {
		return fmt.Errorf("rights of %s: %w", ccmUser, err)
	}
	to, err := manifest.In(admin)
	if err != nil {
		return err
	}
	for _, o := range access {
		if err := to.Apply(ctx, o); err != nil {
			return fmt.Errorf("rights of %s: %w", ccmUser, err)
		}
	}
	return nil
}

// probe returns a function that turns a path of the server into a check. The check
// succeeds if the server answers a GET of the path with 200. The server's certificate
// must be signed by the authority in tls or, if tls has none, by the cluster's
// authority.
func (c *Cluster) probe(server string, tls rest.TLSClientConfig) (func(path string) func(context.Context) error, error) {
	tls.CAFile = cmp.Or(tls.CAFile, c.layout.pki("ca.crt"))
	client, err := rest.HTTPClientFor(&rest.Config{Host: server, TLSClientConfig: tls})
	if err != nil {
		return nil, err
	}
	return func(path string) func(context.Context) error {
		return func(ctx context.Context) error { return get(ctx, client, server+path) }
	}, nil
}

func get(ctx context.Context, client *http.Client, url string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(resp.Body, 1<<10))
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s: %s", url, resp.Status, body)
	}
	return err
}
