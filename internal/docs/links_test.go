package docs

import (
	"path"
	"strings"
	"testing"
)

// published is the prefix of links to this repository. Pages that are also read
// elsewhere, such as the chart's README, use it.
const published = "https://github.com/fairlead-k8s/fairlead/blob/main/"

// TestLinksLeadSomewhere checks the links of all Markdown files, except those that
// leave the repository.
func TestLinksLeadSomewhere(t *testing.T) {
	pages := map[string]page{}
	for _, file := range files(t, ".md") {
		pages[file] = parse(read(t, file))
	}
	for file, p := range pages {
		for _, to := range p.links {
			target, inside := resolve(file, to)
			if !inside {
				continue
			}
			target, anchor, _ := strings.Cut(target, "#")
			if strings.HasPrefix(target, "../") || !exists(target) {
				t.Errorf("%s links to %s, which does not exist", file, to)
				continue
			}
			if linked, ok := pages[target]; ok && anchor != "" && !linked.anchors[anchor] {
				t.Errorf("%s links to %s, and %s has no such section", file, to, target)
			}
		}
	}
}

// resolve returns the path of a link's target, and reports whether the target is in the
// repository.
func resolve(file, to string) (target string, inside bool) {
	if rest, ok := strings.CutPrefix(to, published); ok {
		return rest, true
	}
	if strings.Contains(to, ":") {
		return "", false
	}
	target, anchor, _ := strings.Cut(to, "#")
	if target == "" {
		target = file
	} else {
		target = path.Join(path.Dir(file), target)
	}
	if anchor != "" {
		target += "#" + anchor
	}
	return target, true
}

// TestIndexListsAllPages checks that docs/README.md lists every page of the
// folder.
func TestIndexListsAllPages(t *testing.T) {
	const index = "docs/README.md"
	listed := map[string]bool{}
	for _, to := range parse(read(t, index)).links {
		target, _ := resolve(index, to)
		listed[target] = true
	}
	for _, file := range files(t, ".md") {
		if strings.HasPrefix(file, "docs/") && file != index && !listed[file] {
			t.Errorf("%s does not list %s", index, file)
		}
	}
}
