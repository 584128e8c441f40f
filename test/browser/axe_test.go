package browser

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// rules is the path of the accessibility checker axe in the folder of the programs.
// package.json pins axe's version.
const rules = "npm/node_modules/axe-core/axe.min.js"

// prefer makes the browser report that its user prefers this colour scheme and no
// animations. So no check happens in the middle of an animation.
func (p *page) prefer(scheme string) {
	p.t.Helper()
	features := []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}, {Name: "prefers-reduced-motion", Value: "reduce"}}
	if _, err := chromedp.Call(p.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: features}); err != nil {
		p.t.Fatal(err)
	}
}

// accessible checks the current state of the page against all rules of axe: names,
// roles, landmarks, contrast and more. It checks first in light and then in dark
// colours.
func (p *page) accessible(what string) {
	p.t.Helper()
	if !evaluate[bool](p, `"axe" in window`) {
		source, err := os.ReadFile(filepath.Join(filepath.Dir(program), rules))
		if err != nil {
			p.t.Fatalf("%v; `make test-browser` installs it", err)
		}
		evaluate[bool](p, string(source)+"\n;true")
	}
	for _, scheme := range []string{"light", "dark"} {
		p.prefer(scheme)
		found := evaluate[[]string](p, `axe.run(document, {resultTypes: ["violations"]}).then((found) => found.violations.flatMap((rule) =>
			rule.nodes.map((node) => rule.id + ": " + rule.help + ": " + node.target.join(" ") + ": " + node.failureSummary)))`)
		for _, violation := range found {
			p.t.Errorf("%s, %s: %s", what, scheme, strings.Join(strings.Fields(violation), " "))
		}
	}
}

func TestThePageIsAccessible(t *testing.T) {
	t.Parallel()
	p := scene(t)
	p.accessible("the page")
	p.do(chromedp.Click(chromedp.CSS(`[data-adjust="throttle"]`)))
	p.see("#faults", "Set the fault")
	p.do(chromedp.Click(chromedp.CSS(".counts summary")))
	p.do(chromedp.EmulateViewport(400, 800))
	p.accessible("the narrow page with a form")
	p.press("section[@id='instances']", "New instance")
	p.see("dialog", "Addresses")
	p.accessible("the dialog")
}

// TestDarkColoursAreUsed checks that the colours follow the user's choice.
// Otherwise accessible would check the same colours twice.
func TestDarkColoursAreUsed(t *testing.T) {
	p := openLive(t, startCloud(t))
	background := func(scheme string) string {
		p.prefer(scheme)
		return evaluate[string](p, `getComputedStyle(document.body).backgroundColor`)
	}
	if light, dark := background("light"), background("dark"); light != "rgb(244, 246, 249)" || dark != "rgb(14, 18, 23)" {
		t.Errorf("the background is %s in light and %s in dark colours", light, dark)
	}
}

// TestEveryControlIsReachedByKeyboard goes through the whole page with the tab key. It
// checks that all controls are reached, in their order, and that the focus is visible.
func TestEveryControlIsReachedByKeyboard(t *testing.T) {
	t.Parallel()
	c := startClusterView(t)
	c.set(troubled)
	p := openLive(t, startCloud(t, "--cluster-view="+c.url))
	p.see("#cluster", "CloudDenied")
	p.prefer("light")
	wanted := evaluate[int](p, `(() => {
		window.controls = Array.from(document.querySelectorAll("a[href], button:not(:disabled), input, summary, [tabindex='0']"))
			.filter((e) => e.checkVisibility());
		document.activeElement.blur();
		return controls.length;
	})()`)
	if wanted < 30 {
		t.Fatalf("there are only %d controls", wanted)
	}
	for n := range wanted {
		p.do(chromedp.KeyEvent("\t"))
		problem := evaluate[string](p, `((n) => {
			const at = document.activeElement;
			const style = getComputedStyle(at);
			if (at !== controls[n]) return "the focus is at " + at.outerHTML + ", want " + controls[n].outerHTML;
			if (!at.matches(".skip") && (style.outlineStyle !== "solid" || parseFloat(style.outlineWidth) < 2)) return "the focus is not seen at " + at.outerHTML;
			if (at.getBoundingClientRect().right <= 0) return "this is out of sight: " + at.outerHTML;
			return "";
		})(`+strconv.Itoa(n)+`)`)
		if problem != "" {
			t.Fatal(problem)
		}
	}
}
