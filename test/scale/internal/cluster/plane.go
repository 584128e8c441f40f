// Package cluster has the Kubernetes side of a benchmark: a real control plane,
// plain Node objects without kubelets, and counts of the requests to the API
// server.
package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/fairlead-k8s/fairlead/test/internal/audit"
	"github.com/fairlead-k8s/fairlead/test/internal/process"
)

const readyWithin = 3 * time.Minute

// LeaseName is the name of the lease of every cloud-controller-manager.
const LeaseName = "cloud-controller-manager"

// PodCIDRs has room for 32,768 Nodes.
const PodCIDRs = "10.128.0.0/9"

// Plane is a control plane, for one run.
type Plane struct {
	Client kubernetes.Interface
	// CCMKubeconfig is the kubeconfig of the daemon under test.
	CCMKubeconfig string

	audit      audit.File
	playground *process.Process
}

// Start starts a control plane. Its files go to dir. If there is the URL of a cloud, each of
// its instances gets a kubelet.
func Start(ctx context.Context, program, dir, cloud string) (p *Plane, err error) {
	ctx, cancel := context.WithTimeout(ctx, readyWithin)
	defer cancel()
	p = &Plane{}
	nodes := []string{"--cloud=" + cloud}
	if cloud == "" {
		nodes = []string{"--nodes=0", "--node-monitor-grace-period=1h"} // Nodes without kubelets stay as they are
	}
	p.playground, err = process.Start(dir, append([]string{
		program, "up", "--output=json", "--audit-log", "--data-dir=" + filepath.Join(dir, "cluster"),
		"--cluster-cidr=" + PodCIDRs,
		"--apiserver-arg=--max-requests-inflight=2000", // the benchmark's own requests must not slow the daemons down
		"--apiserver-arg=--audit-log-maxsize=10000",    // in MB; a rotation would lose requests
	}, nodes...)...)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, p.Stop())
		}
	}()
	line, err := p.playground.Line(ctx)
	if err != nil {
		return p, err
	}
	var ready struct {
		Kubeconfig    string `json:"kubeconfig"`
		CCMKubeconfig string `json:"ccmKubeconfig"`
		AuditLog      string `json:"auditLog"`
	}
	if err := json.Unmarshal([]byte(line), &ready); err != nil {
		return p, fmt.Errorf("the playground says %q: %w", line, err)
	}
	p.CCMKubeconfig, p.audit = ready.CCMKubeconfig, audit.File(ready.AuditLog)
	config, err := clientcmd.BuildConfigFromFlags("", ready.Kubeconfig)
	if err != nil {
		return p, err
	}
	if p.Client, err = client(config); err != nil {
		return p, err
	}
	return p, p.allowSkeleton(ctx)
}

// allowSkeleton gives the daemon under test the right to update Nodes. The
// skeleton needs that right, and Fairlead's chart does not give it.
func (p *Plane) allowSkeleton(ctx context.Context) error {
	meta := metav1.ObjectMeta{Name: "skeleton"}
	role := &rbacv1.ClusterRole{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"nodes"}, Verbs: []string{"update"}}}}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: meta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: meta.Name},
		Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: "cloud-controller-manager"}},
	}
	_, err := p.Client.RbacV1().ClusterRoles().Create(ctx, role, metav1.CreateOptions{})
	if err == nil {
		_, err = p.Client.RbacV1().ClusterRoleBindings().Create(ctx, binding, metav1.CreateOptions{})
	}
	if err != nil {
		return fmt.Errorf("rights of the skeleton: %w", err)
	}
	return nil
}

// client returns a client that does not limit its own requests to the API server.
func client(config *rest.Config) (kubernetes.Interface, error) {
	config.QPS = -1
	config.UserAgent = "bench"
	config.ContentType = "application/vnd.kubernetes.protobuf"
	return kubernetes.NewForConfig(config)
}

// Stop ends the control plane.
func (p *Plane) Stop() error { return p.playground.Stop() }

// Err returns nil while the control plane runs. Afterwards, the error says how the
// control plane has ended.
func (p *Plane) Err() error { return p.playground.Err() }

// Holder returns the holder of the daemon's lease. It is empty if nobody holds the
// lease.
func (p *Plane) Holder(ctx context.Context) (string, error) {
	lease, err := p.Client.CoordinationV1().Leases(metav1.NamespaceSystem).Get(ctx, LeaseName, metav1.GetOptions{})
	if err != nil {
		return "", err
	}
	if lease.Spec.HolderIdentity == nil {
		return "", nil
	}
	return *lease.Spec.HolderIdentity, nil
}
