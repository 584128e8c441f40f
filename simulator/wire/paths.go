package wire

// The paths under which the same resources are served.
const (
	// CustomerPath is for customers. Calls are counted, and meet the quota and
	// the faults.
	CustomerPath = "/v1"
	// OperatorPath is for the operator. Calls are not counted and meet no faults.
	OperatorPath = "/operator/v1"
)
