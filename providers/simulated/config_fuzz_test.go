package simulated

import (
	"net/url"
	"strings"
	"testing"
)

// FuzzConfig checks the configuration that is read from a file. If the file is
// refused, the configuration must be empty. Otherwise it must have a usable endpoint
// and no negative numbers.
func FuzzConfig(f *testing.F) {
	for _, seed := range []string{
		"endpoint: http://127.0.0.1:7640", "endpoint: https://a\npageSize: 2\nrouteAddresses: true\n",
		"", "---", "# nothing", "[]", "a: b", "endpoint: &a http://x\npageSize: *a", "endpoint: http://u:p@x", "endpoint: http://x\n---\na: b", "endpoint: [", "<<: {a: b}", "pageSize: 0x10", "? {}", "endpoint: !!binary aGk=",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		c, err := parseConfig(strings.NewReader(text))
		if err != nil {
			if c != (config{}) {
				t.Errorf("%q is refused, and read as %+v", text, c)
			}
			return
		}
		u, err := url.Parse(string(c.Endpoint))
		if err != nil || u.Host == "" || u.User != nil || c.PageSize < 0 {
			t.Errorf("%q is read as %+v", text, c)
		}
	})
}
