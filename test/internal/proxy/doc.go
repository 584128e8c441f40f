// Package proxy is an HTTP proxy between a program and a server. A test can trap
// one request, such as the n-th of a kind. The test can hold the request, cut the
// connection before the request reaches the server, or lose the reply. All other
// requests pass through, including watches.
//
// A held request is independent of its sender: when the test releases it, it goes
// to the server even if the sender has given up or has died. A slow network or
// server behaves in the same way.
package proxy
