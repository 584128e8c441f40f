package alerts

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestPublicRules checks that public rules do not fire while a cluster is healthy. The
// variable FAIRLEAD_SCRAPES names a folder with the metrics of such a cluster: 0.prom is the
// first scrape, and the last scrape is that of an hour without changes. The end-to-end test
// TestBesideTheSkeleton writes the folder and runs this test.
func TestPublicRules(t *testing.T) {
	all := scraped(t, os.Getenv("FAIRLEAD_SCRAPES"))
	for name, rule := range alertsIn(t, "testdata/public.yaml") {
		if after, fires := firesAfter(t, rule, all); fires {
			t.Errorf("%s fires after %v: %s", name, after, rule.Expr)
		}
	}
}

// Each public rule can be evaluated, and a rule about retries fires if there are many.
func TestPublicRulesCanFire(t *testing.T) {
	rules := alertsIn(t, "testdata/public.yaml")
	if len(rules) < 30 {
		t.Errorf("%d rules, want 30", len(rules))
	}
	trouble := counts(`workqueue_retries_total{name="service",job="cloud-controller-manager"}`, 0, 1)
	if after, fires := firesAfter(t, rules["ServiceRetries"], []series{trouble}); !fires {
		t.Errorf("ServiceRetries has not fired after %v", after)
	}
}

// scraped returns the series of all scrapes in a folder.
func scraped(t *testing.T, folder string) []series {
	t.Helper()
	values := map[string][]float64{}
	present := map[string]map[int]bool{}
	n := 0
	for ; ; n++ {
		text, err := os.ReadFile(filepath.Join(folder, strconv.Itoa(n)+".prom"))
		if err != nil {
			break
		}
		for line := range strings.Lines(string(text)) {
			end := strings.LastIndex(line, " ")
			if end < 0 || line[0] == '#' {
				continue
			}
			value, err := strconv.ParseFloat(strings.TrimSpace(line[end:]), 64)
			if err != nil {
				t.Fatal(err)
			}
			metric := labelled(line[:end])
			if present[metric] == nil {
				present[metric] = map[int]bool{}
			}
			values[metric], present[metric][n] = append(values[metric], make([]float64, n+1-len(values[metric]))...), true
			values[metric][n] = value
		}
	}
	if n == 0 {
		t.Skip("needs the metrics of a run; run it with: make e2e")
	}
	var all []series
	for metric, list := range values {
		all = append(all, series{metric, func(since time.Duration) (float64, bool) {
			at := min(max(int(since/scrapeEvery), 0), n-1)
			if !present[metric][at] {
				return 0, false
			}
			return list[at], true
		}})
	}
	return all
}

// labelled adds the labels that Prometheus adds to what it scrapes.
func labelled(metric string) string {
	const added = `job="cloud-controller-manager",instance="a"`
	name, labels, has := strings.Cut(metric, "{")
	if !has {
		return fmt.Sprintf("%s{%s}", name, added)
	}
	return fmt.Sprintf("%s{%s,%s", name, added, labels)
}
