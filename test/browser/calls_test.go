package browser

import (
	"sync"
	"testing"

	"github.com/chromedp/chromedp"
)

func TestCallsAreShownAsTheyCome(t *testing.T) {
	c := startCloud(t)
	c.operate("create node-1")
	p := openLive(t, c)
	p.see("#calls", "None yet.") // the page's own calls are not counted

	c.call("instances/i-00000001")
	p.see("#calls", "GetInstance node-1 200 OK")
	p.see("#calls", "Calls 1")
	c.call("instances/i-00000009")
	p.see("#calls", "GetInstance i-00000009 404 NotFound")
	p.see("#calls", "Calls 2 1 failed")
}

func TestCallsAreFiltered(t *testing.T) {
	c := startCloud(t)
	c.operate("create node-1")
	p := openLive(t, c)
	c.call("instances")
	c.call("load-balancers")
	c.call("instances/none")
	p.see("#calls", "404 NotFound")
	p.see("#calls", "ListLoadBalancers")

	p.fill("#calls [type=search]", "notf")
	p.miss("#calls", "ListLoadBalancers")
	p.see("#calls", "404 NotFound")
	p.fill("#calls [type=search]", "listload")
	p.see("#calls", "ListLoadBalancers")
	p.miss("#calls", "404 NotFound")
	p.fill("#calls [type=search]", "nothing of the kind")
	p.see("#calls", "None of the last calls matches the filter.")
	p.fill("#calls [type=search]", "")
	p.see("#calls", "ListLoadBalancers")
	p.do(chromedp.Click(chromedp.CSS("#calls [type=checkbox]")))
	p.miss("#calls", "ListLoadBalancers")
	p.see("#calls", "404 NotFound")
}

func TestCallsArePausedAndForgotten(t *testing.T) {
	c := startCloud(t)
	p := openLive(t, c)
	c.call("instances")
	p.see("#calls", "ListInstances")
	p.press("section[@id='calls']", "Pause")
	c.call("load-balancers")
	p.see("#calls", "Resume (1 new)")
	p.see("#calls", "Calls 2")
	p.miss("#calls", "ListLoadBalancers –")
	p.press("section[@id='calls']", "Resume (1 new)")
	p.see("#calls", "ListLoadBalancers – 200 OK")

	p.do(chromedp.Click(chromedp.CSS("#calls summary")))
	p.see("#calls details", "ListLoadBalancers 1 OK 1")
	c.call("load-balancers")
	p.see("#calls details", "ListLoadBalancers 2 OK 2")

	p.press("section[@id='calls']", "Forget")
	p.see("#calls", "None yet.")
	c.call("static-ips")
	p.see("#calls", "ListStaticIPs – 200 OK")
	p.see("#calls", "Calls 1")
	p.miss("#calls", "ListLoadBalancers")
}

// TestCallsThatComeTooFast checks that the page counts all calls, even if the cloud no
// longer remembers some of them when it sends the next update.
func TestCallsThatComeTooFast(t *testing.T) {
	c := startCloud(t)
	p := openLive(t, c)
	p.see("#calls", "None yet.")
	for range 1200 {
		c.call("instances")
	}
	p.see("#calls", "Calls 1,200")
	p.see("#calls", "not shown. A filter finds them.")
	if rows := evaluate[int](p, `document.querySelectorAll("#calls .scroll tbody tr").length`); rows > 150 {
		t.Errorf("%d calls are shown", rows)
	}
}

func TestThePageSpeaksOfCallsSparingly(t *testing.T) {
	c := startCloud(t)
	p := openLive(t, c)
	p.see("#calls", "None yet.")
	var both sync.WaitGroup // one after the other, they could be too far apart for one announcement
	for _, path := range []string{"instances", "instances/none"} {
		both.Go(func() { c.call(path) })
	}
	both.Wait()
	p.see("#announcement", "2 new calls, 1 failed")
}
