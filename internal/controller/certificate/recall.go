package certificate

import (
	certificatesv1 "k8s.io/api/certificates/v1"

	"github.com/fairlead-k8s/fairlead/internal/controller/step"
)

// Recall returns this process's memory of a request. It returns false if the process
// does not remember that the request has waited. Recall does no I/O and changes
// nothing.
func (c *Controller) Recall(name string) (step.Memory, bool) {
	obj, exists, err := c.Informer.GetStore().GetByKey(name)
	if err != nil || !exists {
		return step.Memory{}, false // A request that is gone is forgotten in the next pass.
	}
	o, err := c.observe(obj.(*certificatesv1.CertificateSigningRequest))
	if err != nil || o.memory.uid != o.request.UID {
		return step.Memory{}, false
	}
	return o.recall(), true
}

// recall returns the memory of a request, with the plan that the rules make now.
func (o observed) recall() step.Memory {
	p := decide(o)
	r := step.Memory{Do: string(p.do), Reason: o.memory.reason, Since: o.request.CreationTimestamp.Time, Attempts: o.memory.vain}
	if p.do != wait { // Only a plan to wait has a new reason.
		return r
	}
	r.Reason, r.Text = p.cause.Reason, p.cause.Message
	if p.after > 0 {
		r.NextLook = o.now.Add(p.after)
	}
	return r
}
