package browser

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// timeout is far above the duration of anything in these tests, even on a busy machine.
const timeout = 2 * time.Minute

// page is the cloud's page in a tab.
type page struct {
	t   *testing.T
	ctx context.Context //nolint:containedctx // chromedp keeps the tab in it

	mu         sync.Mutex
	complaints []string // guarded by mu; errors on the console
	expected   []string // guarded by mu; parts of the errors that the test itself causes
}

// open opens a page in a tab of its own. Errors on its console fail the test.
func open(t *testing.T, url string) *page {
	t.Helper()
	ctx, closeTab := chromedp.NewContext(browser)
	p := &page{t: t, ctx: ctx}
	if err := chromedp.Do(ctx); err != nil {
		t.Fatal(err)
	}
	console := chromedp.Console(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for message, err := range console {
			if err != nil {
				return // the tab is closed
			}
			if message.IsException() || message.Type == "error" || message.Type == "warning" {
				p.complain(fmt.Sprintf("%s: %s (%s line %d)", message.Type, message.Text, message.URL, message.Line+1))
			}
		}
	}()
	t.Cleanup(func() {
		if t.Failed() {
			p.keepPicture()
		}
		closeTab()
		<-ended
		for _, complaint := range p.unexpected() {
			t.Errorf("on the console: %s", complaint)
		}
	})
	p.do(chromedp.EmulateViewport(1280, 800), chromedp.Navigate(url))
	return p
}

// openLive opens the page of a cloud and waits until it is live.
func openLive(t *testing.T, c *cloud) *page {
	t.Helper()
	p := open(t, c.url)
	p.see("#live", "live")
	return p
}

func (p *page) complain(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.complaints = append(p.complaints, text)
}

// expect allows errors on the console that contain the text. It is needed because
// browsers log each HTTP error status, even if the page handles the error.
func (p *page) expect(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.expected = append(p.expected, text)
}

func (p *page) unexpected() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	var rest []string
next:
	for _, complaint := range p.complaints {
		for _, part := range p.expected {
			if strings.Contains(complaint, part) {
				continue next
			}
		}
		rest = append(rest, complaint)
	}
	return rest
}

func (p *page) keepPicture() {
	taken, err := chromedp.Run(p.ctx, chromedp.CaptureScreenshot())
	if err != nil {
		p.t.Logf("there is no picture: %v", err)
		return
	}
	p.t.Logf("the page says:\n%s", p.text("body"))
	save(p.t, p.t.ArtifactDir()+"/page.png", taken)
}

func (p *page) do(steps ...chromedp.Action[chromedp.Void]) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, timeout)
	defer cancel()
	if err := chromedp.Do(ctx, steps...); err != nil {
		p.t.Fatal(err)
	}
}

func evaluate[T any](p *page, script string) T {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, timeout)
	defer cancel()
	value, err := chromedp.Run(ctx, chromedp.Evaluate[T](script, chromedp.EvalAwaitPromise))
	if err != nil {
		p.t.Fatalf("%s: %v", script, err)
	}
	return value
}

// eventually calls the function look until it returns true. If that does not happen in
// time, the test fails and shows the last result.
func (p *page) eventually(what string, look func() (seen string, ok bool)) {
	p.t.Helper()
	deadline := time.Now().Add(timeout)
	for {
		seen, ok := look()
		if ok {
			return
		}
		if time.Now().After(deadline) {
			p.t.Fatalf("%s: this is seen instead: %q", what, seen)
		}
		p.do(chromedp.Sleep(50 * time.Millisecond))
	}
}

// text returns the text that a person reads in an element, on one line. It returns
// an empty string if the element does not exist.
func (p *page) text(css string) string {
	p.t.Helper()
	text := evaluate[string](p, `document.querySelector(`+strconv.Quote(css)+`)?.innerText ?? ""`)
	return strings.Join(strings.Fields(text), " ")
}

// see waits until an element contains a text.
func (p *page) see(css, text string) {
	p.t.Helper()
	p.eventually(css+" shows "+strconv.Quote(text), func() (string, bool) {
		seen := p.text(css)
		return seen, strings.Contains(seen, text)
	})
}

// miss waits until an element no longer contains a text.
func (p *page) miss(css, text string) {
	p.t.Helper()
	p.eventually(css+" no longer shows "+strconv.Quote(text), func() (string, bool) {
		seen := p.text(css)
		return seen, !strings.Contains(seen, text)
	})
}

// press clicks on the button with this label. The argument within is the XPath of the row
// or section that contains the button.
func (p *page) press(within, label string) {
	p.t.Helper()
	p.do(chromedp.Click(fmt.Sprintf(`//%s//button[normalize-space()=%q]`, within, label)))
}

// rowOf returns the XPath of the table row for the resource with this name. It is an
// argument for press.
func rowOf(name string) string { return fmt.Sprintf(`tr[th/strong=%q]`, name) }

// fill replaces the content of a field by typing a text.
func (p *page) fill(css, text string) {
	p.t.Helper()
	p.do(chromedp.Focus(chromedp.CSS(css)))
	evaluate[bool](p, `document.activeElement.select() === undefined`)
	if text == "" {
		text = "\b"
	}
	p.do(chromedp.KeyEvent(text))
}
