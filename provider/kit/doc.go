// Package kit has what every provider needs and what is easy to get wrong.
//
//   - ReadConfig reads the configuration file.
//   - ProviderIDs parses and prints provider IDs.
//   - Instances finds the instances of Nodes, and AllPages reads a whole list.
//   - Annotations reads the annotations of Services.
//   - Resource makes, adopts, changes and removes a load balancer or another resource
//     of the cloud, even if replies are lost. Status and Pending make what the
//     provider returns about it.
//
// Each piece stands alone and calls the cloud only through functions that the
// provider passes. None keeps anything in memory between two calls, starts a
// goroutine, reads a clock or logs. Providers of other daemons can use it, too.
//
// Three rules hold everywhere. An object counts as absent only if the cloud's own
// answer about that one object says so. What users have written is either understood
// or refused, and one error reports all that is wrong. Nothing is deleted because of
// an error.
//
// If users have to correct something, the error is an *InvalidError. The daemon
// recognises it without a provider.ErrorClassifier.
package kit
