package certificate

import (
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-k8s/fairlead/internal/controller/requestfact"
)

// onRequest keeps the list of undecided requests up to date. It queues a request if its
// change requires a pass. When a request is decided or deleted, an older request of the
// same Node might be considered next.
func (c *Controller) onRequest(name string, before, now *certificatesv1.CertificateSigningRequest) {
	if before != nil && (now == nil || now.UID != before.UID) { // The request is gone, even if another one has its name.
		c.undecided.remove(before)
	}
	if now != nil {
		c.undecided.set(now)
	}
	switch {
	case before == nil:
		c.Loop.Add(name)
	case now == nil:
		c.Loop.Add(name)
		c.addNewest(requestfact.RequesterOf(before))
	case wakesRequest(before, now):
		c.Loop.Add(name)
		c.addNewest(requestfact.RequesterOf(now))
	}
}

// onNode queues the requests that need a pass after the change of a Node.
func (c *Controller) onNode(name string, before, now *corev1.Node) {
	if now == nil {
		c.forgetNode(name)
	}
	isOther := before == nil || now == nil
	if isOther || wakes(c.claim, before, now) {
		c.addNewest(name)
	}
	if isOther || wakesHolders(before, now) {
		c.addContestants()
	}
}

// addNewest adds the newest undecided requests of the Node to the queue. Older
// requests are not considered.
func (c *Controller) addNewest(node string) {
	for _, name := range c.undecided.newest(node, c.limits.PendingPerNode) {
		c.Loop.Add(name)
	}
}

func (c *Controller) addContestants() {
	for _, name := range c.contestants() {
		c.Loop.Add(name)
	}
}
