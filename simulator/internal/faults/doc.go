// Package faults holds the faults that are set. It decides what they do to a
// call, and returns the decision as a Fate. Package api applies the Fate.
//
// It also has the request quotas of well-known clouds, and reads the files of other
// quotas. A quota is a set of buckets, and each bucket is a fault of the kind "throttle".
//
// It imports wire, input and state. Packages view and api and the root may import it.
package faults
