package explain

import (
	_ "embed"
	"encoding/json"
)

// reasons has all reasons of the daemon. "make generate" writes the file from the
// controllers, so that a tool that only looks at a cluster need not link them.
//
//go:embed reasons.json
var reasons []byte

// AllReasons returns all reasons that the daemon writes.
func AllReasons() Reasons {
	var all Reasons
	if err := json.Unmarshal(reasons, &all); err != nil {
		panic(err) // A test reads the file.
	}
	return all
}
