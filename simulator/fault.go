package simulator

// FaultKind says how a fault shows.
type FaultKind string

// The kinds of faults.
const (
	// FaultLatency makes a call wait for Latency plus up to Jitter.
	FaultLatency FaultKind = "latency"
	// FaultError answers 500.
	FaultError FaultKind = "error"
	// FaultOutage answers 503.
	FaultOutage FaultKind = "outage"
	// FaultThrottle answers 429 with Retry-After once the calls it is aimed at
	// exceed Rate a second after a Burst.
	FaultThrottle FaultKind = "throttle"
	// FaultDenied answers Status: 401 or 403.
	FaultDenied FaultKind = "denied"
	// FaultHang keeps a call until its caller goes away or the fault is cleared.
	FaultHang FaultKind = "hang"
	// FaultReset resets the connection before the call is carried out.
	FaultReset FaultKind = "reset"
	// FaultLostReply carries the call out and cuts the connection before the answer.
	FaultLostReply FaultKind = "lostReply"
	// FaultEmptyList leaves all instances out of a list.
	FaultEmptyList FaultKind = "emptyList"
	// FaultTruncatedList leaves the last Fraction of a page out and says that
	// there is no further page.
	FaultTruncatedList FaultKind = "truncatedList"
	// FaultNotFound answers 404, whatever was asked for.
	FaultNotFound FaultKind = "notFound"
	// FaultStale answers reads with what was true Age ago.
	FaultStale FaultKind = "stale"
	// FaultInvisible hides each instance until it is Age old.
	FaultInvisible FaultKind = "invisible"
)

// FaultKinds are all kinds of faults.
func FaultKinds() []FaultKind {
	return []FaultKind{
		FaultLatency, FaultError, FaultOutage, FaultThrottle, FaultDenied, FaultHang, FaultReset,
		FaultLostReply, FaultEmptyList, FaultTruncatedList, FaultNotFound, FaultStale, FaultInvisible,
	}
}

// Fault is something that goes wrong on purpose, for calls under /v1 only.
type Fault struct {
	// Name is what the fault is set and cleared by.
	Name string    `json:"name"`
	Kind FaultKind `json:"kind"`
	// Calls are the calls it is aimed at; none means all.
	Calls []Call `json:"calls,omitempty"`
	// Match limits the fault to one instance, by ID or name. A list counts as
	// a call for the instance if it asks for it by ID or name. The faults that
	// change what is seen (emptyList, truncatedList, stale, invisible) apply to
	// this instance in every list.
	Match string `json:"match,omitempty"`
	// Count limits the fault to that many calls; 0 means no limit.
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
