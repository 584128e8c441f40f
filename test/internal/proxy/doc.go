// Package proxy stands between a program and a server that it speaks HTTP to,
// so that a test decides what becomes of the n-th request that it cares about:
// held for as long as the test likes, cut before the server has it, or carried
// out with its reply lost. All other requests, watches among them, pass
// through.
//
// A held request is independent of its sender: it goes on when the test
// releases it, even if the sender has given up or is dead. A slow network or
// server behaves in the same way.
package proxy
