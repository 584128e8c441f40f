package browser

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// toggle presses the switch for this kind of fault.
func (p *page) toggle(kind string) {
	p.t.Helper()
	p.do(chromedp.Click(chromedp.CSS(`[role=switch][data-fault="` + kind + `"]`)))
}

// seeSwitch waits until the attribute aria-checked of a switch equals the argument checked.
func (p *page) seeSwitch(kind, checked string) {
	p.t.Helper()
	p.eventually("the switch of "+kind+" is "+checked, func() (string, bool) {
		got := evaluate[string](p, `document.querySelector('[data-fault="`+kind+`"]')?.ariaChecked ?? "missing"`)
		return got, got == checked
	})
}

func TestFaultsAreSwitched(t *testing.T) {
	c := startCloud(t)
	c.operate("create node-1")
	p := openLive(t, c)
	p.see("#faults", "Faults none")
	if got := c.call("instances"); got != 200 {
		t.Fatalf("before the fault a call ends with %d", got)
	}
	p.toggle("error")
	p.seeSwitch("error", "true")
	p.see("#faults", "Faults 1 on")
	if got := c.call("instances"); got != 500 {
		t.Errorf("with the fault a call ends with %d, want 500", got)
	}
	p.see(`[data-key="error"]`, "all calls · hit 1 call")
	p.see("#calls", "500 Internal")
	p.toggle("error")
	p.seeSwitch("error", "false")
	if got := c.call("instances"); got != 200 {
		t.Errorf("without the fault a call ends with %d", got)
	}
	p.see("#faults", "Faults none")
}

// TestEveryFaultCanBeSwitched checks that each kind of fault can be switched on with
// its switch alone, without the form.
func TestEveryFaultCanBeSwitched(t *testing.T) {
	c := startCloud(t)
	p := openLive(t, c)
	p.see("#faults", "lostReply")
	kinds := evaluate[[]string](p, `Array.from(document.querySelectorAll("[data-fault]"), (b) => b.dataset.fault)`)
	if len(kinds) < 13 {
		t.Fatalf("only these kinds have a switch: %v", kinds)
	}
	for _, kind := range kinds {
		p.toggle(kind)
		p.seeSwitch(kind, "true")
	}
	listed := c.operate("fault list")
	for _, kind := range kinds {
		if !strings.Contains(listed, "\n"+kind+" ") {
			t.Errorf("%s is not set:\n%s", kind, listed)
		}
	}
	p.press("section[@id='faults']", "Clear all")
	for _, kind := range kinds {
		p.seeSwitch(kind, "false")
	}
}

func TestFaultsAreAdjusted(t *testing.T) {
	c := startCloud(t)
	for _, name := range []string{"node-1", "node-2"} {
		c.operate("create " + name)
	}
	p := openLive(t, c)
	p.see("#faults", "denied")
	p.do(chromedp.Click(chromedp.CSS(`[data-adjust="denied"]`)))
	p.fill("#faults [name=status]", "401")
	p.fill("#faults [name=match]", "node-2")
	p.fill("#faults [name=count]", "2")
	p.do(chromedp.Click(chromedp.CSS(`#faults [value="GetInstance"]`)))
	p.press("section[@id='faults']", "Set the fault")
	p.see(`[data-key="denied"]`, "GetInstance · only node-2 · status 401 · hit 0 of 2 calls")
	p.seeSwitch("denied", "true")

	if got := c.call("instances/i-00000001"); got != 200 {
		t.Errorf("got %d for another instance, want 200", got)
	}
	if got := c.call("instances/i-00000002"); got != 401 {
		t.Errorf("got %d, want 401", got)
	}
	p.see(`[data-key="denied"]`, "hit 1 of 2 calls")
	p.miss("#faults", "Set the fault")

	p.do(chromedp.Click(chromedp.CSS(`[data-adjust="denied"]`)))
	p.see(`[data-key="denied"]`, "Set the fault")
	if got := evaluate[string](p, `document.querySelector("#faults [name=status]").value`); got != "401" {
		t.Errorf("the form of a fault that is set has status %q, want 401", got)
	}
	p.expect("400 (Bad Request)")
	p.fill("#faults [name=match]", "[")
	p.press("section[@id='faults']", "Set the fault")
	p.see(`[data-key="denied"]`, `match: "[" is not a pattern`)
	p.fill("#faults [name=count]", "many")
	p.press("section[@id='faults']", "Set the fault")
	p.see(`[data-key="denied"]`, "Hit at most: “many” is not a number.")
}

func TestFaultsOfOthersAreShown(t *testing.T) {
	c := startCloud(t, "--quota=50", "--latency=1ms")
	p := openLive(t, c)
	p.see("#faults", "Always on, set when the cloud was started: --latency (all calls · latency 1ms · hit 0 calls).")
	for _, number := range []string{"50", "100"} {
		p.see(`#quota [data-key="--quota"]`, number)
	}
	c.operate("fault set stale --name slow-lists --calls ListInstances --age 10s")
	p.see(`[data-key="stale"]`, "slow-lists · ListInstances · age 10s · hit 0 calls")
	p.seeSwitch("stale", "false") // the switch shows a fault only if the fault has its kind as its name
	p.toggle("stale")
	p.seeSwitch("stale", "true")
	p.see("#faults", "Faults 2 on")
	p.press("li[@data-key='stale']", "Clear")
	p.miss("#faults", "slow-lists")
	p.see("#faults", "Faults 1 on")
}

func TestSwitchesWorkByKeyboard(t *testing.T) {
	c := startCloud(t)
	p := openLive(t, c)
	p.see("#faults", "latency")
	p.do(chromedp.Focus(chromedp.CSS(`[data-fault="latency"]`)), chromedp.KeyEvent(" "))
	p.seeSwitch("latency", "true")
	p.do(chromedp.KeyEvent(" "))
	p.seeSwitch("latency", "false")
	p.do(chromedp.KeyEvent("\t"), chromedp.KeyEvent("\r"))
	p.see(`[data-key="latency"]`, "Set the fault")
}
