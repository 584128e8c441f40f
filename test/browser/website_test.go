package browser

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// otherSite serves a website that has nothing to do with the cloud, and returns its
// URL.
func otherSite(t *testing.T) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(w, `<!doctype html><title>Another website</title><link rel="icon" href="data:,"><p>hello</p>`)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// outcome is a JavaScript function that makes a request and returns the result as a
// word.
const outcome = `(async (...request) => {
	try { const answer = await fetch(...request); return answer.type === "opaque" ? "sent" : String(answer.status); }
	catch (error) { return "failed"; }
})`

// TestOtherWebsitesReachNothing checks that other websites cannot use the cloud through a
// browser. If another website makes a simple request (as CORS defines it), the browser
// sends the request without asking the cloud first. The browser only hides the answer
// from the website. So the cloud has to refuse the request.
func TestOtherWebsitesReachNothing(t *testing.T) {
	c := startCloud(t)
	c.operate("create node-1")
	p := open(t, otherSite(t))
	p.expect(c.url)
	for _, request := range []string{
		`"` + c.url + `/operator/v1/instances/i-00000001/stop", {method: "POST", mode: "no-cors"}`,
		`"` + c.url + `/operator/v1/instances", {method: "POST", mode: "no-cors", body: JSON.stringify({name: "theirs"})}`,
		`"` + c.url + `/v1/instances", {mode: "no-cors"}`,
		`"` + c.url + `/operator/v1/faults", {method: "DELETE"}`,
	} {
		t.Logf("%s: %s", request, evaluate[string](p, outcome+"("+request+")"))
	}
	if got := c.operate("list"); !strings.Contains(got, "running") || strings.Contains(got, "theirs") {
		t.Errorf("another website has changed the cloud:\n%s", got)
	}
	if got := c.operate("calls"); !strings.Contains(got, "No calls.") {
		t.Errorf("another website was a customer of the cloud:\n%s", got)
	}
}

func TestThePageCannotBeFramed(t *testing.T) {
	c := startCloud(t)
	p := open(t, otherSite(t))
	p.expect("frame-ancestors")
	evaluate[bool](p, `new Promise((done) => {
		const frame = document.createElement("iframe");
		frame.onload = () => done(true);
		frame.src = "`+c.url+`";
		document.body.append(frame);
	})`)
	p.eventually("the browser complains", func() (string, bool) {
		p.mu.Lock()
		defer p.mu.Unlock()
		all := strings.Join(p.complaints, "\n")
		return all, strings.Contains(all, "frame-ancestors")
	})
}

// TestNamesThatPointHereReachNothing checks that requests for other host names are
// refused. A website can point its own name at this machine. For the browser, the website
// then has the same origin as the cloud.
func TestNamesThatPointHereReachNothing(t *testing.T) {
	c := startCloud(t)
	c.operate("create node-1")
	p := open(t, strings.Replace(c.url, "127.0.0.1", rebound, 1))
	p.see("body", "the simulated cloud must be reached by its IP address") // so the name does point to this machine
	p.expect("favicon.ico")                                                // the refusal names no icon, so the browser asks for the default one
	p.expect("403 (Forbidden)")
	for _, request := range []string{
		`"operator/v1/instances/i-00000001", {method: "DELETE"}`,
		`"operator/v1/instances"`,
		`"v1/instances"`,
		`"operator/v1/watch"`,
		`"page/"`,
	} {
		if got := evaluate[string](p, outcome+"("+request+")"); got != "403" {
			t.Errorf("%s ended with %s, want 403", request, got)
		}
	}
	if got := c.operate("list"); !strings.Contains(got, "node-1") {
		t.Errorf("the instance is gone:\n%s", got)
	}
}
