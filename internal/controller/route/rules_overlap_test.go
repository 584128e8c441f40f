package route

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestCommonLengths(t *testing.T) {
	for _, tt := range []struct {
		name   string
		inside map[int]int
		want   map[int]bool
	}{
		{"OnlyOne", map[int]int{24: 1}, map[int]bool{24: true}},
		{"OneAgainstOne", map[int]int{24: 1, 23: 1}, map[int]bool{24: false, 23: false}}, // the older Node counts
		{"OneAgainstTwo", map[int]int{24: 2, 25: 1}, map[int]bool{24: true, 25: false}},
		{"TwoOfMany", map[int]int{24: 300, 25: 2}, map[int]bool{24: true, 25: true}},
		{"OneOfMany", map[int]int{24: 3, 25: 1, 26: 1}, map[int]bool{24: true, 25: false, 26: false}},
		{"OutsideTheCluster", map[int]int{24: 3, 8: 0}, map[int]bool{24: true, 8: false}},
	} {
		counts := map[int]count{}
		for bits, n := range tt.inside {
			counts[bits] = count{all: n + 1, inside: n}
		}
		if diff := cmp.Diff(tt.want, commonLengths(counts)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}
