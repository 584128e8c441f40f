package cluster

import (
	"crypto/rand"
	_ "embed"
	"encoding/csv"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"strings"
	"time"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/fairlead-k8s/fairlead/playground/internal/child"
	"github.com/fairlead-k8s/fairlead/playground/internal/pki"
)

const (
	// The user, the group and the kubeconfig of the administrator, and the name of the
	// context in each kubeconfig.
	adminUser   = "admin"
	adminGroup  = "system:masters"
	adminFile   = "admin"
	contextName = "playground"
)

//go:embed audit-policy.yaml
var auditPolicy []byte

// credentials are the secrets of one control plane.
type credentials struct {
	authority *pki.Authority
	tokens    map[string]string // by user
}

// ensureCredentials writes the credentials that the components need. It keeps existing
// authorities, existing tokens and an existing key for service accounts. It issues all
// other certificates again.
func ensureCredentials(c Config, l layout, now time.Time) (*credentials, error) {
	authority, err := pki.LoadOrCreate(l.in("pki"), now)
	if err != nil {
		return nil, err
	}
	server, err := authority.Issue(serverIdentity(c.ServiceCIDRs[0]), now)
	if err != nil {
		return nil, err
	}
	if err := server.Write(l.pki("server.crt"), l.pki("server.key")); err != nil {
		return nil, err
	}
	if err := writeEtcdCertificates(l, now); err != nil {
		return nil, err
	}
	if err := pki.EnsureKey(l.serviceAccountKey()); err != nil {
		return nil, err
	}
	if err := os.WriteFile(l.auditPolicy(), auditPolicy, 0o600); err != nil {
		return nil, err
	}
	tokens, err := ensureTokens(l.tokens())
	return &credentials{authority: authority, tokens: tokens}, err
}

// writeEtcdCertificates writes the certificates of etcd and of its client, the API server.
// Whoever has a certificate of etcd's authority can do everything in etcd. The cluster's
// authority also signs the certificates of kubelets and users, so etcd has its own authority.
func writeEtcdCertificates(l layout, now time.Time) error {
	authority, err := pki.LoadOrCreate(l.in("pki", "etcd"), now)
	if err != nil {
		return fmt.Errorf("etcd: %w", err)
	}
	for file, id := range map[string]pki.Identity{
		"server": {Name: "etcd", Hosts: []string{"localhost"}, IPs: []net.IP{net.IPv4(127, 0, 0, 1)}},
		"client": {Name: "kube-apiserver"},
	} {
		pair, err := authority.Issue(id, now)
		if err != nil {
			return err
		}
		if err := pair.Write(l.etcdPKI(file+".crt"), l.etcdPKI(file+".key")); err != nil {
			return err
		}
	}
	return nil
}

// serverIdentity returns the identity of kube-apiserver, kube-controller-manager and
// kube-scheduler. They can share one, because all of them serve on the loopback
// interface.
func serverIdentity(services netip.Prefix) pki.Identity {
	return pki.Identity{
		Name:  "playground",
		Hosts: []string{"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc"},
		IPs:   []net.IP{net.IPv4(127, 0, 0, 1), services.Addr().Next().AsSlice()},
	}
}

// ensureTokens returns the tokens in the file, which has the API server's format. It creates the file if there is none.
func ensureTokens(file string) (map[string]string, error) {
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		text = fmt.Appendf(nil, "%s,%s,%s,%s\n%s,%s,%s\n",
			rand.Text(), adminUser, adminUser, adminGroup,
			rand.Text(), ccmUser, ccmUser)
		err = os.WriteFile(file, text, 0o600)
	}
	if err != nil {
		return nil, fmt.Errorf("tokens: %w", err)
	}
	reader := csv.NewReader(strings.NewReader(string(text)))
	reader.FieldsPerRecord = -1
	records, err := reader.ReadAll()
	if err != nil {
		return nil, fmt.Errorf("tokens: %w", err)
	}
	tokens := map[string]string{}
	for _, r := range records {
		if len(r) < 2 {
			return nil, fmt.Errorf("tokens: %s has a line without a user", file)
		}
		tokens[r[1]] = r[0]
	}
	return tokens, nil
}

// writeKubeconfigs writes the published kubeconfigs and the kubeconfigs of the
// components.
func (s *credentials) writeKubeconfigs(l layout, server string, now time.Time) error {
	for file, user := range map[string]string{adminFile: adminUser, ccmUser: ccmUser} {
		auth := &clientcmdapi.AuthInfo{Token: s.tokens[user]}
		if err := s.writeKubeconfig(l.kubeconfig(file), server, auth); err != nil {
			return err
		}
	}
	for _, name := range []string{child.ControllerManager, child.Scheduler} {
		auth, err := s.certificateAuth(pki.Identity{Name: "system:" + name}, now)
		if err != nil {
			return err
		}
		if err := s.writeKubeconfig(l.kubeconfig(name), server, auth); err != nil {
			return err
		}
	}
	return nil
}

// writeNodeKubeconfig writes the kubeconfig of a kubelet. The only Node that its user may change
// is the kubelet's own. The only pods that the user may change are those on that Node.
func (s *credentials) writeNodeKubeconfig(file, server, node string, now time.Time) error {
	auth, err := s.certificateAuth(pki.Identity{Name: "system:node:" + node, Groups: []string{"system:nodes"}}, now)
	if err != nil {
		return err
	}
	return s.writeKubeconfig(file, server, auth)
}

func (s *credentials) certificateAuth(id pki.Identity, now time.Time) (*clientcmdapi.AuthInfo, error) {
	pair, err := s.authority.Issue(id, now)
	if err != nil {
		return nil, err
	}
	return &clientcmdapi.AuthInfo{ClientCertificateData: pair.Cert, ClientKeyData: pair.Key}, nil
}

func (s *credentials) writeKubeconfig(file, server string, auth *clientcmdapi.AuthInfo) error {
	config := clientcmdapi.NewConfig()
	config.Clusters[contextName] = &clientcmdapi.Cluster{Server: server, CertificateAuthorityData: s.authority.CertPEM}
	config.AuthInfos[contextName] = auth
	config.Contexts[contextName] = &clientcmdapi.Context{Cluster: contextName, AuthInfo: contextName}
	config.CurrentContext = contextName
	if err := clientcmd.WriteToFile(*config, file); err != nil {
		return fmt.Errorf("kubeconfig %s: %w", file, err)
	}
	return nil
}
