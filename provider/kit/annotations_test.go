package kit_test

import (
	"math"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-k8s/fairlead/provider"
	"github.com/fairlead-k8s/fairlead/provider/kit"
)

const prefix = "acme.example.com/"

func TestAnnotationsAreRead(t *testing.T) {
	a := kit.NewAnnotations(map[string]string{
		prefix + "name": " web ", prefix + "internal": "true", prefix + "tier": "large", prefix + "weight": "7", prefix + "drain": "1m30s",
		prefix + "ranges": "10.1.0.0/8, 2001:db8::/32,10.0.0.0/8", "other.example.com/x": "y",
	}, prefix)
	name, _ := a.Text(prefix + "name")
	internal, _ := a.Bool(prefix + "internal")
	tier, _ := a.OneOf(prefix+"tier", "small", "large")
	weight, _ := a.Int(prefix+"weight", 0, 10)
	drain, _ := a.Duration(prefix+"drain", 0, time.Hour)
	ranges, _ := a.Prefixes(prefix + "ranges")
	if name != "web" || !internal || tier != "large" || weight != 7 || drain != 90*time.Second ||
		!slices.Equal(ranges, []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("2001:db8::/32")}) {
		t.Error(name, internal, tier, weight, drain, ranges)
	}
	if err := a.Err(); err != nil {
		t.Error(err)
	}
}

func TestAnnotationsThatAreNotThere(t *testing.T) {
	a := kit.NewAnnotations(nil, prefix)
	_, text := a.Text("a")
	_, boolean := a.Bool("a")
	_, word := a.OneOf("a", "b")
	_, number := a.Int("a", 0, 1)
	_, duration := a.Duration("a", 0, 1)
	_, prefixes := a.Prefixes("a")
	if text || boolean || word || number || duration || prefixes || a.Err() != nil {
		t.Error(text, boolean, word, number, duration, prefixes, a.Err())
	}
}

// Each problem names the key and the allowed values. For a known key it also names
// the value.
func TestAllAnnotationsThatAreWrong(t *testing.T) {
	a := kit.NewAnnotations(map[string]string{
		prefix + "internal": "yes", prefix + "tier": "lrge", prefix + "weight": "11", prefix + "drain": "soon", prefix + "ranges": "10.0.0.0/8,",
		prefix + "network": "x", prefix + "weigth": "1", prefix + "colour": "red", "other.example.com/x": "y",
	}, prefix)
	_, boolean := a.Bool(prefix + "internal")
	_, word := a.OneOf(prefix+"tier", "small", "large")
	_, number := a.Int(prefix+"weight", 0, 10)
	_, duration := a.Duration(prefix+"drain", time.Second, time.Minute)
	_, prefixes := a.Prefixes(prefix + "ranges")
	a.Text(prefix + "network")
	a.Refuse(prefix+"network", "must be the name of a network")
	if boolean || word || number || duration || prefixes {
		t.Error(boolean, word, number, duration, prefixes)
	}
	const want = `annotation acme.example.com/colour: is unknown; known are acme.example.com/internal, acme.example.com/tier, acme.example.com/weight, acme.example.com/drain, acme.example.com/ranges, acme.example.com/network; ` +
		`annotation acme.example.com/drain: "soon" is refused: it must be a duration from 1s to 1m0s, such as 30s; ` +
		`annotation acme.example.com/internal: "yes" is refused: it must be true or false; ` +
		`annotation acme.example.com/network: "x" is refused: it must be the name of a network; ` +
		`annotation acme.example.com/ranges: "10.0.0.0/8," is refused: it must be CIDRs such as 192.0.2.0/24, separated by commas; ` +
		`annotation acme.example.com/tier: "lrge" is refused: it must be small or large; did you mean large?; ` +
		`annotation acme.example.com/weight: "11" is refused: it must be a whole number from 0 to 10; ` +
		`annotation acme.example.com/weigth: is unknown; did you mean acme.example.com/weight?`
	if err := a.Err(); err == nil || err.Error() != want || provider.Classify(err).Kind != provider.Invalid {
		t.Errorf("got %v", err)
	}
}

func FuzzAnnotations(f *testing.F) {
	for _, seed := range []string{"", " ", "1", "30s", "-1s", "10.0.0.0/8", "10.0.0.0/8,", "true", "\n", "::/0"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, value string) {
		a := kit.NewAnnotations(map[string]string{"k": value}, "")
		n, number := a.Int("k", 1, 9)
		d, duration := a.Duration("k", 0, math.MaxInt64)
		ranges, prefixes := a.Prefixes("k")
		if number && (n < 1 || n > 9) || duration && d < 0 || prefixes && len(ranges) == 0 {
			t.Errorf("%q is read as %d, %s, %v", value, n, d, ranges)
		}
		if err := a.Err(); (err == nil) != (number && duration && prefixes) || err != nil && strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: %v", value, err)
		}
	})
}
