package certificate

import (
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-k8s/fairlead/internal/controller/allowance"
	"github.com/fairlead-k8s/fairlead/internal/controller/message"
	"github.com/fairlead-k8s/fairlead/internal/controller/ownership"
	"github.com/fairlead-k8s/fairlead/internal/controller/requestfact"
	"github.com/fairlead-k8s/fairlead/internal/controller/showing"
)

// observed is the input of a decision about one request.
type observed struct {
	now     time.Time
	request *certificatesv1.CertificateSigningRequest // must not be changed
	// node is the Node with the requester's name, or nil if there is none. The Node
	// must not be changed.
	node *corev1.Node
	// live means that this pass has read the request and the Node from the API server,
	// and has not asked the cloud since.
	live bool
	// newer is the number of newer undecided requests of the same Node, at most
	// Limits.PendingPerNode.
	newer int
	// holders are other Nodes that have the Node's provider ID, or a provider ID
	// that the cloud has named for the Node.
	holders []*corev1.Node
	// apiServers are the addresses of the Service default/kubernetes.
	apiServers []string
	answer     answer
	// questions is the allowance for questions about the Node, and approvals is the
	// allowance for the approvals of all Nodes together.
	questions, approvals allowance.Allowance
	memory               memory
	// told has the events on the Node and on each holder, by Node name.
	told   map[string]showing.News
	limits Limits
	claim  ownership.Claim
}

// given says how a question to the cloud has ended.
type given int

const (
	notAsked  given = iota
	described       // the cloud has named an instance
	denied          // the cloud has no instance for the Node, or the provider has named none
	failed          // an error after which the cloud may answer later
)

// question identifies the question that an answer belongs to. An answer to another
// question proves nothing.
type question struct {
	request, node types.UID
	providerID    string
}

// answer is the cloud's answer about the Node's instance.
type answer struct {
	given given
	to    question
	asked time.Time // when the question was asked
	// byName is the instance with the Node's name, or nil if the provider cannot look
	// up a name. byID is the instance with the Node's provider ID, or nil if the Node
	// has no provider ID.
	byName, byID *instance
	cause        message.Cause // if given is denied or failed
}

// instance is the cloud's description of an instance.
type instance struct {
	providerID string
	addresses  []corev1.NodeAddress
}

// memory has the facts about a request that this process remembers between passes.
type memory struct {
	uid types.UID
	// reason says why the request waited in the last pass. It is empty before the first
	// pass.
	reason string
	// vain is the number of answers in a row that did not prove the names and
	// addresses in the request.
	vain int
}

// action is the next thing that a pass does.
type action string

const (
	doNothing action = "nothing"
	ask       action = "ask the cloud"            // then decide again
	confirm   action = "read from the API server" // then decide again
	wait      action = "wait"
	approve   action = "approve"
	deny      action = "deny"
)

// plan is what to do with one request, and why.
type plan struct {
	do     action
	why    string
	cause  message.Cause // of wait, approve and deny
	events []recorded
	// soon asks for another pass after a short delay, which grows with each attempt. If
	// soon is false, the field after has the time until the next pass; 0 means that no
	// pass is planned.
	soon   bool
	after  time.Duration
	memory memory
}

// recorded is an event for one Node.
type recorded struct {
	node  *corev1.Node
	event message.Event
}

// decide returns the plan for one request.
func decide(o observed) plan {
	if o.memory.uid != o.request.UID {
		o.memory = memory{uid: o.request.UID}
	}
	if why := requestfact.LeftAlone(o.request, o.now); why != "" {
		return plan{do: doNothing, why: why}
	}
	if cause := isOfAnother(o); cause != nil {
		return holds(o, *cause)
	}
	csr, wrong := readProper(o)
	if wrong != nil {
		return refuses(o, *wrong)
	}
	if cause := first(missings, o); cause != nil {
		return holds(o, *cause)
	}
	if o.answer.given == notAsked || o.answer.to != questionOf(o) {
		return asks(o)
	}
	if cause := first(identityRules, o); cause != nil {
		return holds(o, *cause)
	}
	if cause := namesAreProven(o, csr); cause != nil {
		return refuses(o, *cause)
	}
	return approves(o)
}

// first returns the cause of the first rule that is broken, or nil if no rule is
// broken.
func first(rules []func(observed) *message.Cause, o observed) *message.Cause {
	for _, rule := range rules {
		if cause := rule(o); cause != nil {
			return cause
		}
	}
	return nil
}

// questionOf returns the question whose answer can prove the names in the request.
func questionOf(o observed) question {
	return question{request: o.request.UID, node: o.node.UID, providerID: o.node.Spec.ProviderID}
}

// approves returns the plan for a request in which every name is proven.
func approves(o observed) plan {
	if p := untilApproval(o); p != nil {
		return *p
	}
	if !o.live {
		return plan{do: confirm, why: "the cloud confirms what the request names", memory: o.memory}
	}
	proof := isProven(o)
	return plan{do: approve, why: proof.Message, cause: proof, memory: o.memory}
}
