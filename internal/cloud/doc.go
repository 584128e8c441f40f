// Package cloud is the provider's side of the daemon: the gateway through which
// every call to the cloud passes. Nothing else calls a provider.
//
// A provider is somebody else's code that talks to somebody else's machine, so
// the gateway expects the worst of it. Each call has a deadline, and a caller
// that loses patience is let go while the call still occupies its key. A panic
// becomes an error. Equal questions become one. All calls share one pace, which
// follows what the cloud says of its quota, and what users wait for goes before
// refreshes. Every error gets a Kind, whatever it is wrapped in, so that rules
// can tell what the cloud said from what it failed to say.
package cloud
