package node

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestRoundsAreSpreadOverThePeriod(t *testing.T) {
	r := refresher{period: 5 * time.Minute}
	for _, tt := range []struct {
		nodes, size int
		want        time.Duration
	}{
		{0, 1, idle},
		{1, 1, 5 * time.Minute},
		{300, 1, time.Second},
		{300, 100, 100 * time.Second},
		{301, 100, 75 * time.Second},
	} {
		if got := r.pause(pagesOf(tt.nodes, tt.size)); got != tt.want {
			t.Errorf("%d nodes in pages of %d: a page each %v, want %v", tt.nodes, tt.size, got, tt.want)
		}
	}
}

func TestPageAfter(t *testing.T) {
	for _, tt := range []struct {
		name  string
		names []string
		last  string
		page  int
		want  []string
	}{
		{"PageOfNoNodesIsEmpty", nil, "b", 2, nil},
		{"FirstPage", []string{"c", "a", "b"}, "", 2, []string{"a", "b"}},
		{"LastPageMayBeShort", []string{"a", "b", "c"}, "b", 2, []string{"c"}},
		{"FirstPageFollowsTheLast", []string{"a", "b", "c"}, "c", 2, []string{"a", "b"}},
		{"NodeThatIsGoneIsSkipped", []string{"a", "c"}, "b", 1, []string{"c"}},
		{"NodeThatJoinedIsNext", []string{"a", "b", "c"}, "a", 1, []string{"b"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			all := newIndex()
			for _, name := range tt.names {
				all.set(name, true)
			}
			want := tt.want
			if got, _ := all.page(tt.last, tt.page); !slices.Equal(got, want) {
				t.Errorf("page of the index %v, want %v", got, want)
			}
			if diff := cmp.Diff(want, pageAfter(tt.names, tt.last, tt.page), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("page (-want +got):\n%s", diff)
			}
		})
	}
}
