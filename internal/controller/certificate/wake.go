package certificate

import (
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/fairlead-k8s/fairlead/internal/controller/requestfact"
)

// requestHandlers returns handlers that keep the list of undecided requests up to date.
// They queue a request if its change requires a pass. When a request is decided or
// deleted, an older request of the same Node might be considered next.
func (c *Controller) requestHandlers() cache.ResourceEventHandler {
	return cache.ResourceEventHandlerFuncs{
		AddFunc: func(obj any) {
			c.undecided.set(obj.(*certificatesv1.CertificateSigningRequest))
			c.add(obj)
		},
		UpdateFunc: func(before, now any) {
			was, is := before.(*certificatesv1.CertificateSigningRequest), now.(*certificatesv1.CertificateSigningRequest)
			if was.UID != is.UID { // Another request of that name.
				c.undecided.remove(was)
			}
			c.undecided.set(is)
			if wakesRequest(was, is) {
				c.add(now)
				c.addNewest(requestfact.RequesterOf(is))
			}
		},
		DeleteFunc: func(obj any) {
			c.add(obj)
			if gone, ok := obj.(cache.DeletedFinalStateUnknown); ok {
				obj = gone.Obj
			}
			if r, ok := obj.(*certificatesv1.CertificateSigningRequest); ok {
				c.undecided.remove(r)
				c.addNewest(requestfact.RequesterOf(r))
			}
		},
	}
}

// nodeHandlers returns handlers for changes of Nodes. They queue the requests that need
// a pass after the change.
func (c *Controller) nodeHandlers() cache.ResourceEventHandler {
	return cache.ResourceEventHandlerFuncs{
		AddFunc: func(obj any) {
			c.addNewest(obj.(*corev1.Node).Name)
			c.addContestants()
		},
		UpdateFunc: func(before, now any) {
			was, is := before.(*corev1.Node), now.(*corev1.Node)
			if wakes(c.claim, was, is) {
				c.addNewest(is.Name)
			}
			if wakesHolders(was, is) {
				c.addContestants()
			}
		},
		DeleteFunc: func(obj any) {
			if key, err := cache.DeletionHandlingMetaNamespaceKeyFunc(obj); err == nil {
				c.forgetNode(key)
				c.addNewest(key)
				c.addContestants()
			}
		},
	}
}

func (c *Controller) add(obj any) {
	if key, err := cache.DeletionHandlingMetaNamespaceKeyFunc(obj); err == nil {
		c.loop.Add(key)
	}
}

// addNewest adds the newest undecided requests of the Node to the queue. Older
// requests are not considered.
func (c *Controller) addNewest(node string) {
	for _, name := range c.undecided.newest(node, c.limits.PendingPerNode) {
		c.loop.Add(name)
	}
}

func (c *Controller) addContestants() {
	for _, name := range c.contestants() {
		c.loop.Add(name)
	}
}
