package certificate

import (
	"strings"
	"sync"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	"k8s.io/utils/third_party/forked/golang/btree"

	"github.com/fairlead-k8s/fairlead/internal/controller/requestfact"
)

// pending has the undecided requests of each Node, ordered by age. A kubelet can make
// very many requests, so no method goes through all of them.
type pending struct {
	mu     sync.Mutex
	byNode map[string]*btree.BTree[made] // guarded by mu
}

// made identifies a request by its creation time and its name.
type made struct {
	at   time.Time
	name string
}

func madeOf(r *certificatesv1.CertificateSigningRequest) made {
	return made{r.CreationTimestamp.Time, r.Name}
}

func isOlder(a, b made) bool {
	if a.at.Equal(b.at) {
		return strings.Compare(a.name, b.name) < 0
	}
	return a.at.Before(b.at)
}

// degree is the degree of the B-trees. It is small, because most Nodes have one
// request.
const degree = 2

// set records a new or changed request. It removes a request that is decided.
func (p *pending) set(r *certificatesv1.CertificateSigningRequest) {
	node := requestfact.RequesterOf(r)
	if node == "" {
		return
	}
	if requestfact.IsDecided(r) {
		p.remove(r)
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.byNode == nil {
		p.byNode = map[string]*btree.BTree[made]{}
	}
	if p.byNode[node] == nil {
		p.byNode[node] = btree.NewWithFreeList(degree, isOlder, btree.NewFreeList[made](0))
	}
	p.byNode[node].ReplaceOrInsert(madeOf(r))
}

// remove drops a request that is decided or no longer exists.
func (p *pending) remove(r *certificatesv1.CertificateSigningRequest) {
	node := requestfact.RequesterOf(r)
	p.mu.Lock()
	defer p.mu.Unlock()
	all := p.byNode[node]
	if all == nil {
		return
	}
	if all.Delete(madeOf(r)); all.Len() == 0 {
		delete(p.byNode, node)
	}
}

// newest returns the names of a Node's newest requests, at most n.
func (p *pending) newest(node string, n int) (names []string) {
	p.descend(node, func(m made) bool {
		if len(names) < n {
			names = append(names, m.name)
		}
		return len(names) < n
	})
	return names
}

// newer counts the requests of the same Node that are newer than this request. It stops
// when it has counted as many as its last parameter says.
func (p *pending) newer(than *certificatesv1.CertificateSigningRequest, enough int) (newer int) {
	p.descend(requestfact.RequesterOf(than), func(m made) bool {
		if newer < enough && isOlder(madeOf(than), m) {
			newer++
			return true
		}
		return false
	})
	return newer
}

// descend calls f for a Node's requests, the newest first, until f returns false.
func (p *pending) descend(node string, f func(made) bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if all := p.byNode[node]; all != nil {
		all.Descend(f)
	}
}
