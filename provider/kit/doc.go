// Package kit has the parts that every provider needs and that are easy to get wrong.
//
//   - ReadConfig reads the configuration file.
//   - ProviderIDs parses and prints provider IDs.
//   - Instances finds the instances of Nodes, and AllPages reads a whole list.
//   - Annotations reads the annotations of Services.
//   - Resource makes, adopts, changes and removes a load balancer or another resource
//     of the cloud, even if replies are lost. Status makes the status of a
//     load balancer, and Pending the error for one that is not ready yet.
//
// Each part works without the others and calls the cloud only through functions
// that the provider passes. No part keeps anything in memory between two calls,
// starts a goroutine, reads a clock or logs. Providers of other daemons can use
// the kit, too.
//
// Three rules apply everywhere. First, an object counts as absent only if the
// cloud's own answer about that one object says so. Second, the kit either
// understands or refuses what users have written, and one error reports all
// problems. Third, nothing is deleted because of an error.
//
// If users have to correct something, the error is an *InvalidError. The daemon
// recognises that error without a provider.ErrorClassifier.
package kit
