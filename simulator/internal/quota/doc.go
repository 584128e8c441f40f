// Package quota has the request quotas of well-known clouds, and reads the files of
// other quotas. A quota is a set of buckets. Each bucket is a fault of the kind
// "throttle" that applies to some calls.
//
// It imports wire, input and faults. Only package simulator imports it.
package quota
