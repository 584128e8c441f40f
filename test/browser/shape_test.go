package browser

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/accessibility"
	"github.com/chromedp/chromedp"
)

// scene returns the page of a cloud with instances, a load balancer, a static IP, a
// route, a fault and calls.
func scene(t *testing.T) *page {
	t.Helper()
	c := startCloud(t)
	createWeb(c, startBackends(t, 3))
	c.operate("create node-4 --address InternalIP=127.0.9.4 --address ExternalIP=203.0.113.4 --label a-rather-long-label=with-a-rather-long-value-of-its-own")
	c.operate("stop node-4")
	c.operate("ip reserve front")
	c.operate("route create node-1 10.244.1.0/24 --target node-1")
	c.operate("fault set denied --match node-2 --calls GetInstance")
	for _, path := range []string{"instances/i-00000001", "instances/i-00000002", "instances"} {
		c.call(path) // one of these calls is denied
	}
	p := openLive(t, c)
	p.see("#calls", "Calls 3")
	p.see(balancersSection, "3 of 3 backends healthy")
	return p
}

func TestNothingIsCutOff(t *testing.T) {
	p := scene(t)
	for _, width := range []int64{1920, 1280, 1024, 700, 400, 320} {
		p.narrow(width)
	}
}

// narrow sets the width of the window, and checks that the page fits into it.
func (p *page) narrow(width int64) {
	p.t.Helper()
	p.do(chromedp.EmulateViewport(width, 800))
	p.eventually(fmt.Sprintf("the page fits into a window of %d", width), func() (string, bool) {
		seen := evaluate[string](p, `Array.from(document.body.querySelectorAll(":not(.scroll *, .backends *)"))
			.filter((e) => e.getBoundingClientRect().right > innerWidth).map((e) => e.tagName + "." + e.className).join(", ")`)
		return seen, evaluate[bool](p, `document.documentElement.scrollWidth <= innerWidth`)
	})
}

// TestEverythingHasAName checks that each control has a name for screen readers.
func TestEverythingHasAName(t *testing.T) {
	p := scene(t)
	p.do(chromedp.Click(chromedp.CSS(`[data-adjust="throttle"]`)))
	p.see("#faults", "Set the fault")
	p.press("section[@id='instances']", "New instance")
	roles := []string{"button", "switch", "textbox", "searchbox", "checkbox", "table", "dialog", "img", "columnheader"}
	seen := map[string]int{}
	look := func() {
		tree, err := chromedp.Call(p.ctx, accessibility.GetFullAXTree, accessibility.GetFullAXTreeParams{})
		if err != nil {
			t.Fatal(err)
		}
		for _, node := range tree.Nodes {
			if node.Ignored || node.Role == nil {
				continue
			}
			role, name := strings.Trim(string(node.Role.Value), `"`), ""
			if node.Name != nil {
				name = strings.Trim(string(node.Name.Value), `" `)
			}
			seen[role]++
			if slices.Contains(roles, role) && name == "" {
				t.Errorf("a %s has no name", role)
			}
		}
	}
	look() // checks the dialog, which hides the rest of the page
	p.press("dialog", "Cancel")
	look()
	for _, role := range []string{"button", "switch", "textbox", "searchbox", "checkbox", "table", "dialog", "status", "heading", "row"} {
		if seen[role] == 0 {
			t.Errorf("there is no %s", role)
		}
	}
}

// TestCommandsThatThePageNames checks that each command on the page exists.
func TestCommandsThatThePageNames(t *testing.T) {
	c := startCloud(t)
	p := openLive(t, c)
	p.see("#calls", "None yet.")
	commands := evaluate[[]string](p, `Array.from(document.querySelectorAll("code"), (c) => c.textContent)`)
	if len(commands) < 4 {
		t.Errorf("the empty page names only %q", commands)
	}
	for _, line := range commands {
		words := strings.Fields(line)
		help, err := c.command(append(words[1:], "--help")...)
		if err != nil {
			t.Errorf("%s: %v", line, err)
		}
		for _, word := range words {
			if strings.HasPrefix(word, "--") && !strings.Contains(help, word+" ") {
				t.Errorf("%s: there is no %s", line, word)
			}
		}
		if usage := regexp.MustCompile(`^simcloud( [a-z]+)+`).FindString(line); !strings.Contains(help, "  "+usage+" ") {
			t.Errorf("%s: --help is that of another command:\n%s", line, help)
		}
	}
}
