package browser

import (
	"path/filepath"
	"syscall"
	"testing"
)

func TestLostConnection(t *testing.T) {
	c := startCloud(t, "--state-file="+filepath.Join(t.TempDir(), "cloud.json"))
	c.operate("create node-1")
	c.call("instances")
	p := openLive(t, c)
	p.see("#calls", "ListInstances")
	p.expect("ERR_CONNECTION_REFUSED")
	p.expect("ERR_INCOMPLETE_CHUNKED_ENCODING")
	p.expect("ERR_EMPTY_RESPONSE")
	p.expect("ERR_CONNECTION_RESET")

	c.kill()
	p.see("#live", "connection lost")
	p.see("#lost", "The connection to the simulated cloud is lost.")
	p.see(instancesSection, "node-1") // unchanged
	p.press(rowOf("node-1"), "Stop")
	p.see(instancesSection, "The simulated cloud does not answer.")

	c.restart()
	p.see("#live", "live")
	p.eventually("the sign is gone", func() (string, bool) {
		return p.text("#lost"), evaluate[bool](p, `document.querySelector("#lost").hidden`)
	})
	p.see("#calls", "None yet.") // a new process has recorded no calls yet
	c.operate("create node-2")
	p.see(instancesSection, "node-2")
	c.call("routes")
	p.see("#calls", "Calls 1")
	p.miss("#calls", "ListInstances")
	p.press(rowOf("node-1"), "Stop")
	p.see(`[data-key="i-00000001"]`, "stopped")
	p.miss(instancesSection, "does not answer")
}

// TestSilentConnection checks that the page notices a connection that is open but
// silent. That happens if the cloud hangs or the machine was asleep.
func TestSilentConnection(t *testing.T) {
	c := startCloud(t)
	p := openLive(t, c)
	c.signal(syscall.SIGSTOP)
	p.see("#live", "connection lost")
	c.signal(syscall.SIGCONT)
	p.see("#live", "live")
	c.operate("create node-1")
	p.see(instancesSection, "node-1")
}
