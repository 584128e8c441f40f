package settings

import (
	"testing"
)

// If the provider declares how many concurrent calls are safe, this number replaces the
// default of a flag, but not a value from the command line.
func TestDeclaredConcurrency(t *testing.T) {
	for _, tt := range []struct {
		name     string
		args     []string
		declared int
		want     [5]int // nodes, refreshes, silent nodes, routes, Services
	}{
		{"NothingIsDeclared", nil, 0, [5]int{16, 16, 16, 200, 1}},
		{"MoreThanTheDefault", nil, 300, [5]int{300, 300, 300, 300, 300}},
		{"LessThanTheDefault", nil, 2, [5]int{2, 2, 2, 2, 2}},
		{"FlagsWin", []string{"--concurrent-node-syncs=3", "--concurrent-node-lifecycle-syncs=4", "--concurrent-route-syncs=5", "--concurrent-service-syncs=6"}, 300, [5]int{3, 3, 4, 5, 6}},
		{"FlagOfRefreshesWins", []string{"--concurrent-node-status-updates=7"}, 300, [5]int{300, 7, 300, 300, 300}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := New(ours)
			if err := flagSet(s).Parse(append([]string{"--cluster-cidr=10.0.0.0/8"}, tt.args...)); err != nil {
				t.Fatal(err)
			}
			claim := s.Ownership.Claim()
			n, l := s.Node.Concurrent(s.Node.Config(claim), tt.declared), s.Lifecycle.Concurrent(s.Lifecycle.Config(claim), tt.declared)
			r, err := s.Route.Config()
			if err != nil {
				t.Fatal(err)
			}
			r = s.Route.Concurrent(r, tt.declared)
			if got := [5]int{n.Reads, n.Refreshers, l.Reads, r.Syncs, s.Service.Config(max(tt.declared, 1)).Syncs}; got != tt.want {
				t.Errorf("%v, want %v", got, tt.want)
			}
		})
	}
}
