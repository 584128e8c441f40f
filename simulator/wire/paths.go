package wire

// The paths of the API. Both serve the same resources.
const (
	// CustomerPath is for customers. Calls are counted, and the quota and the
	// faults apply to them.
	CustomerPath = "/v1"
	// OperatorPath is for the operator. Calls are not counted, and no faults apply
	// to them.
	OperatorPath = "/operator/v1"
)
