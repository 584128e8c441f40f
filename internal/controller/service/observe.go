package service

import (
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// observe gathers the known facts about a Service. It does no I/O: the Service comes
// from the informer, and everything else from memory.
func (c *Controller) observe(key string) (observed, error) {
	o := observed{now: c.clock.Now(), policy: c.policy}
	service, err := c.services.Cached(key)
	switch {
	case err == nil:
		o.service = service
	case !apierrors.IsNotFound(err):
		return observed{}, err
	}
	set := c.backends.newest()
	o.backends, o.hosts = set.id, len(set.nodes)
	c.store.recall(key, &o)
	return o, nil
}
