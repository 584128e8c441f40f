package docs

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-k8s/fairlead/ccm"
)

var (
	place  = regexp.MustCompile(`\{(?:--([a-z-]+)|([a-z/_]+\.go):(\w+))\}`)
	period = regexp.MustCompile(`^(\d+) \* time\.([A-Z])`)
)

// withNumbers replaces {--flag} by the default of that flag, and {file:name} by the
// value of that constant.
func withNumbers(t *testing.T, text string) string {
	t.Helper()
	flags := ccm.NewCommand(ccm.Options{Name: "cloud-controller-manager"}).Flags()
	return place.ReplaceAllStringFunc(text, func(whole string) string {
		m := place.FindStringSubmatch(whole)
		if f := flags.Lookup(m[1]); f != nil {
			return inWords(f.DefValue)
		}
		if m[2] != "" && exists(m[2]) {
			constant := regexp.MustCompile(`(?m)^\s*(?:const )?` + m[3] + ` += ([^/\n]+)`).FindStringSubmatch(read(t, m[2]))
			if constant != nil {
				return inWords(strings.ToLower(period.ReplaceAllString(strings.TrimSpace(constant[1]), "$1$2")))
			}
		}
		t.Errorf("%s names the number %s, which does not exist", promisesFile, whole)
		return whole
	})
}

// inWords returns a number as it is, and "10m0s" or "10minute" as "10 minutes".
func inWords(value string) string {
	d, err := time.ParseDuration(regexp.MustCompile(`^(\d+[hms])[a-z]+$`).ReplaceAllString(value, "$1"))
	if err != nil || d == 0 {
		return value
	}
	units := []struct {
		name string
		of   time.Duration
	}{{"hour", time.Hour}, {"minute", time.Minute}, {"second", time.Second}}
	for _, u := range units {
		if n := d / u.of; n > 0 && d%u.of == 0 {
			return fmt.Sprintf("%d %s%s", n, u.name, map[bool]string{false: "s"}[n == 1])
		}
	}
	return value
}
