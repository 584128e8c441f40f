package wire

// FaultKind says how a fault shows.
type FaultKind string

// The kinds of faults.
const (
	// FaultLatency makes a call wait for Latency plus up to Jitter.
	FaultLatency FaultKind = "latency"
	// FaultHang keeps a call until its caller goes away or the fault is cleared.
	FaultHang FaultKind = "hang"
	// FaultReset resets the connection before the call is carried out.
	FaultReset FaultKind = "reset"
	// FaultThrottle answers 429 with Retry-After once the calls it is aimed at
	// exceed Rate a second after a Burst.
	FaultThrottle FaultKind = "throttle"
	// FaultOutage answers 503.
	FaultOutage FaultKind = "outage"
	// FaultDenied answers Status: 401 or 403.
	FaultDenied FaultKind = "denied"
	// FaultError answers 500.
	FaultError FaultKind = "error"
	// FaultNotFound answers 404, whatever was asked for.
	FaultNotFound FaultKind = "notFound"
	// FaultStale answers reads with what was true Age ago.
	FaultStale FaultKind = "stale"
	// FaultInvisible hides each resource until it is Age old.
	FaultInvisible FaultKind = "invisible"
	// FaultEmptyList leaves all resources out of a list.
	FaultEmptyList FaultKind = "emptyList"
	// FaultTruncatedList leaves the last Fraction of a page out and says that
	// there is no further page.
	FaultTruncatedList FaultKind = "truncatedList"
	// FaultLostReply carries the call out and cuts the connection before the answer.
	FaultLostReply FaultKind = "lostReply"
)

// FaultKinds are all kinds of faults, in the order in which they act on a call.
func FaultKinds() []FaultKind {
	return []FaultKind{
		FaultLatency, FaultHang, FaultReset, FaultThrottle, FaultOutage, FaultDenied, FaultError,
		FaultNotFound, FaultStale, FaultInvisible, FaultEmptyList, FaultTruncatedList, FaultLostReply,
	}
}

// Fault is something that goes wrong on purpose, for calls under /v1 only.
type Fault struct {
	// Name is what the fault is set and cleared by.
	Name string    `json:"name"`
	Kind FaultKind `json:"kind"`
	// Calls are the calls it is aimed at; none means all.
	Calls []Call `json:"calls,omitempty"`
	// Match limits the fault to the resources of all kinds whose ID or name it matches; it is a pattern as of path.Match,
	// such as "node-1*". It hits calls that ask for such a resource by ID, name or tags. In a list without a filter, the
	// kinds stale, invisible and emptyList affect only these resources.
	Match string `json:"match,omitempty"`
	// Skip spares the first so many calls that it is aimed at.
	Skip int `json:"skip,omitempty"`
	// Count limits the fault to the first so many calls; 0 means no limit.
	Count int `json:"count,omitempty"`
	// Probability of hitting a call it is aimed at; 0 means always.
	Probability float64 `json:"probability,omitempty"`

	// Latency and Jitter belong to latency.
	Latency Duration `json:"latency,omitempty"`
	Jitter  Duration `json:"jitter,omitempty"`
	// Rate (calls a second) and Burst belong to throttle.
	Rate  float64 `json:"rate,omitempty"`
	Burst int     `json:"burst,omitempty"`
	// Status belongs to denied: 401 or 403; 0 means 403.
	Status int `json:"status,omitempty"`
	// Fraction belongs to truncatedList; 0 means a half.
	Fraction float64 `json:"fraction,omitempty"`
	// Age belongs to stale and invisible; 0 means one minute.
	Age Duration `json:"age,omitempty"`

	// Hits is how many calls the fault has hit. The cloud counts it; in a
	// request it is ignored.
	Hits int `json:"hits,omitempty"`
}

// FaultList is how the faults that are set are written, ordered by name.
type FaultList struct {
	Items []Fault `json:"items"`
	// Standing belong to the cloud and cannot be cleared.
	Standing []Fault `json:"standing,omitempty"`
}
