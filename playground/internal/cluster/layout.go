package cluster

import (
	"os"
	"path/filepath"
)

// layout has the paths of the control plane's files in the data folder.
type layout struct {
	dir string
}

func (l layout) in(elem ...string) string { return filepath.Join(append([]string{l.dir}, elem...)...) }

func (l layout) pki(file string) string { return l.in("pki", file) }

// etcdPKI returns the path of a file of etcd's own authority.
func (l layout) etcdPKI(file string) string { return l.in("pki", "etcd", file) }

func (l layout) etcd() string                { return l.in("etcd") }
func (l layout) kubelets() string            { return l.in("kubelets") }
func (l layout) kubelet(node string) string  { return l.in("kubelets", node) }
func (l layout) auditLog() string            { return l.in("audit.log") }
func (l layout) auditPolicy() string         { return l.in("audit-policy.yaml") }
func (l layout) tokens() string              { return l.pki("tokens.csv") }
func (l layout) serviceAccountKey() string   { return l.pki("service-accounts.key") }
func (l layout) kubeconfig(of string) string { return l.in(of + ".kubeconfig") }

// create creates the folders. It removes the files of earlier kubelets, because their processes and sockets no longer
// exist.
func (l layout) create() error {
	if err := os.RemoveAll(l.kubelets()); err != nil {
		return err
	}
	for _, dir := range []string{l.dir, l.in("pki"), l.in("pki", "etcd"), l.etcd(), l.kubelets()} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return err
		}
	}
	return nil
}
