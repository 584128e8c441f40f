package wire

// The paths under which the same resources are served.
const (
	// CustomerPath is for customers: with quota and faults, and counted.
	CustomerPath = "/v1"
	// OperatorPath is for the operator: without faults and not counted.
	OperatorPath = "/operator/v1"
)
