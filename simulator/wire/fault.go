package wire

// FaultKind says how a fault changes a call.
type FaultKind string

// The kinds of faults.
const (
	// FaultLatency makes a call wait for Latency plus up to Jitter.
	FaultLatency FaultKind = "latency"
	// FaultHang keeps a call waiting until its caller goes away or the fault is
	// cleared.
	FaultHang FaultKind = "hang"
	// FaultReset resets the connection and does not carry the call out.
	FaultReset FaultKind = "reset"
	// FaultThrottle answers 429 with Retry-After when there are too many calls.
	// It allows Rate calls a second, and Burst calls at once. If several such faults
	// limit a call, all of them have to allow it. A refused call uses up nothing.
	FaultThrottle FaultKind = "throttle"
	// FaultOutage answers 503.
	FaultOutage FaultKind = "outage"
	// FaultDenied answers with Status, which is 401 or 403.
	FaultDenied FaultKind = "denied"
	// FaultError answers 500.
	FaultError FaultKind = "error"
	// FaultNotFound answers 404 to every call.
	FaultNotFound FaultKind = "notFound"
	// FaultStale answers reads with an old state. Age says how old.
	FaultStale FaultKind = "stale"
	// FaultInvisible hides each resource until it is older than Age.
	FaultInvisible FaultKind = "invisible"
	// FaultEmptyList leaves all resources out of a list, and all changes out of a
	// watch.
	FaultEmptyList FaultKind = "emptyList"
	// FaultTruncatedList leaves out the last items of a page. Fraction says how
	// many. The answer says that there are no more pages.
	FaultTruncatedList FaultKind = "truncatedList"
	// FaultDoubledList lists the items of a page twice: first in reverse order, then
	// in the usual order.
	FaultDoubledList FaultKind = "doubledList"
	// FaultLostReply carries the call out and cuts the connection before the answer.
	FaultLostReply FaultKind = "lostReply"
)

// FaultKinds returns all kinds of faults, in the order in which they act on a
// call.
func FaultKinds() []FaultKind {
	return []FaultKind{
		FaultLatency, FaultHang, FaultReset, FaultThrottle, FaultOutage, FaultDenied, FaultError,
		FaultNotFound, FaultStale, FaultInvisible, FaultEmptyList, FaultTruncatedList, FaultDoubledList, FaultLostReply,
	}
}

// Fault is a deliberate failure of calls under /v1.
type Fault struct {
	// Name identifies the fault when it is set and cleared.
	Name string    `json:"name"`
	Kind FaultKind `json:"kind"`
	// Calls are the calls that the fault can hit; empty means all calls that its
	// kind can hit.
	Calls []Call `json:"calls,omitempty"`
	// Match is a pattern of path.Match, such as "node-1*", for the IDs and names of
	// resources of any kind. If Match is set, the fault hits only calls that ask for a
	// matching resource by ID, name or tags. Faults that change lists also hit a list
	// without a filter. There, the kinds "stale", "invisible" and "emptyList" change
	// only the matching resources.
	Match string `json:"match,omitempty"`
	// Skip is the number of calls that the fault lets pass before it hits one.
	Skip int `json:"skip,omitempty"`
	// Count is the maximum number of calls that the fault hits; 0 means no limit.
	Count int `json:"count,omitempty"`
	// Probability is the probability that the fault hits a call; 0 means always.
	Probability float64 `json:"probability,omitempty"`

	// Latency and Jitter belong to the kind "latency". Each call waits for Latency
	// and a random time up to Jitter.
	Latency Duration `json:"latency,omitempty"`
	Jitter  Duration `json:"jitter,omitempty"`
	// Rate and Burst belong to the kind "throttle". Rate is in calls a second.
	Rate  float64 `json:"rate,omitempty"`
	Burst int     `json:"burst,omitempty"`
	// Tokens belongs to the kind "throttle". In a request, it is the number of calls
	// that are allowed at once when the fault is set; nil means Burst. In an answer, it
	// is the number of calls that are allowed at once now.
	Tokens *int `json:"tokens,omitempty"`
	// Status belongs to the kind "denied". It is 401 or 403; 0 means 403.
	Status int `json:"status,omitempty"`
	// Fraction belongs to the kind "truncatedList". It is the part of a page that is
	// left out, between 0 and 1; 0 means a half.
	Fraction float64 `json:"fraction,omitempty"`
	// Age belongs to the kinds "stale" and "invisible"; 0 means one minute.
	Age Duration `json:"age,omitempty"`

	// Hits is the number of calls that the fault has hit. The cloud sets it, and
	// ignores it in a request.
	Hits int `json:"hits,omitempty"`
}

// FaultList lists the faults that are set, ordered by name.
type FaultList struct {
	Items []Fault `json:"items"`
	// Standing lists the permanent faults of the cloud. They cannot be cleared.
	Standing []Fault `json:"standing,omitempty"`
}
