package browser

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

const instancesSection = "#instances"

func TestInstancesAreShownLive(t *testing.T) {
	c := startCloud(t)
	p := openLive(t, c)
	p.see(instancesSection, "None.")
	evaluate[bool](p, `window.neverReloaded = true`)

	c.operate("create node-1 --zone sim-1b --type large --label rack=r1 --address InternalIP=127.0.1.1 --address ExternalIP=203.0.113.1")
	p.see(instancesSection, "node-1 i-00000001 rack=r1 running large sim-1b in sim-1 127.0.1.1 InternalIP 203.0.113.1 ExternalIP")
	p.see("#summary", "1 instance")
	c.operate("create node-2")
	p.see(instancesSection, "node-2 i-00000002 running")
	p.see("#summary", "2 instances")

	c.operate("stop node-2")
	p.see(`[data-key="i-00000002"]`, "stopped")
	c.operate("terminate node-1")
	p.miss(instancesSection, "node-1")
	if !evaluate[bool](p, `window.neverReloaded === true`) {
		t.Error("the page was loaded again")
	}
}

func TestInstancesAreOperated(t *testing.T) {
	c := startCloud(t, "--terminated-for=1h")
	c.operate("create node-1")
	p := openLive(t, c)
	row := `[data-key="i-00000001"]`

	p.see(row, "running")
	p.press(rowOf("node-1"), "Stop")
	p.see(row, "stopped")
	p.press(rowOf("node-1"), "Start")
	p.see(row, "running")
	p.press(rowOf("node-1"), "Terminate")
	p.see(row, "terminated")
	if got := c.operate("list"); !strings.Contains(got, "terminated") {
		t.Errorf("the cloud knows nothing of it:\n%s", got)
	}
	if !evaluate[bool](p, `Array.from(document.querySelectorAll('`+row+` button')).every((b) => b.disabled)`) {
		t.Error("something is offered for an instance that is gone")
	}
}

func TestInstancesAreCreatedAndEdited(t *testing.T) {
	c := startCloud(t)
	p := openLive(t, c)

	p.press("section[@id='instances']", "New instance")
	p.fill("dialog [name=name]", "node-1")
	p.fill("dialog [name=zone]", "sim-1c")
	p.fill("dialog [name=labels]", "rack=r1\ndisk=ssd")
	p.press("dialog", "Create")
	p.see(instancesSection, "node-1 i-00000001 disk=ssd rack=r1 running small sim-1c in sim-1 127.0.1.1 InternalIP")

	p.press(rowOf("node-1"), "Edit")
	p.fill("dialog [name=type]", "huge")
	p.fill("dialog [name=labels]", "disk=hdd")
	p.fill("dialog [name=addresses]", "127.0.9.9\nExternalIP=203.0.113.9")
	p.press("dialog", "Save")
	p.see(instancesSection, "node-1 i-00000001 disk=hdd running huge sim-1c in sim-1 127.0.9.9 InternalIP 203.0.113.9 ExternalIP")

	p.expect("400 (Bad Request)")
	p.press("section[@id='instances']", "New instance")
	p.fill("dialog [name=name]", "node-2")
	p.fill("dialog [name=addresses]", "127.0.9.9")
	p.press("dialog", "Create")
	p.see("dialog", "addresses[0].address: 127.0.9.9 belongs to instance i-00000001 (node-1)")
	p.press("dialog", "Cancel")
	p.eventually("the dialog is closed", func() (string, bool) {
		return "it is open", !evaluate[bool](p, `document.querySelector("dialog").open`)
	})
	p.see(instancesSection, "Instances 1")
}

func TestManyInstances(t *testing.T) {
	c := startCloud(t)
	for n := range 250 {
		c.post("instances", fmt.Sprintf(`{"name":"node-%d","addresses":[]}`, n))
	}
	p := openLive(t, c)
	p.see(instancesSection, "Instances 250")
	p.see(instancesSection, "200 of 250 are shown")
	p.fill(instancesSection+" [type=search]", "node-249")
	p.see(instancesSection, "node-249 i-00000250 running")
	p.miss(instancesSection, "node-1 ")
	p.fill(instancesSection+" [type=search]", "nothing")
	p.see(instancesSection, "None of 250 matches “nothing”.")
}

// TestNamesAreText checks that the name of an instance cannot run a script in the
// page.
func TestNamesAreText(t *testing.T) {
	c := startCloud(t)
	p := openLive(t, c)
	name := `<img/src=x/onerror=window.taken=1>`
	c.post("instances", `{"name":"`+name+`","addresses":[],"labels":{"`+name+`":"\u0007"}}`)
	p.see(instancesSection, name)
	if evaluate[bool](p, `"taken" in window || document.querySelector("#instances img") !== null`) {
		t.Error("a name was taken for a part of the page")
	}
}

func TestWhatIsWorkedOnStays(t *testing.T) {
	c := startCloud(t)
	for n := range 10 {
		c.post("instances", fmt.Sprintf(`{"name":"node-%d","addresses":[]}`, n))
	}
	p := openLive(t, c)
	p.see(instancesSection, "Instances 10")
	focused := func() string {
		return evaluate[string](p, `document.activeElement.closest("[data-key^='i-']")?.dataset.key + " " + document.activeElement.innerText`)
	}
	p.do(chromedp.Focus(chromedp.CSS(`[data-key="i-00000005"] [data-key=Terminate]`)))
	c.operate("terminate node-0")
	c.operate("terminate node-2")
	c.operate("stop node-4")
	p.see(instancesSection, "Instances 8")
	p.see(`[data-key="i-00000005"]`, "stopped")
	if got := focused(); got != "i-00000005 Terminate" {
		t.Errorf("the focus is at %q, want it where it was", got)
	}
	p.do(chromedp.KeyEvent("\r"))
	p.miss(instancesSection, "node-4")
	p.see(instancesSection, "Instances 7")
}
