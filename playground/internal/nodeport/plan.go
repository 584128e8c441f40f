package nodeport

import (
	"cmp"
	"maps"
	"slices"
)

type verb int

const (
	say    verb = iota // change the answer of an open port
	listen             // open a port
	leave              // close a port
)

// action is one thing to do at one port.
type action struct {
	do     verb
	door   door
	answer answer
	why    string
}

// plan returns the actions that open the wanted ports and close all others. The second
// argument has the ports that are open now, with their answers. The plan closes ports
// before it opens others.
func plan(wanted, open map[door]answer) []action {
	var ends, rest []action
	for _, d := range sorted(open) {
		w, known := wanted[d]
		switch {
		case !known:
			ends = append(ends, action{leave, d, open[d], "the node or the Service is gone, or the machine is off"})
		case w.closed != "":
			ends = append(ends, action{leave, d, open[d], w.closed})
		}
	}
	for _, d := range sorted(wanted) {
		w := wanted[d]
		is, opened := open[d]
		switch {
		case w.closed != "" || opened && is == w:
		case opened:
			rest = append(rest, action{say, d, w, "the cluster has changed"})
		default:
			rest = append(rest, action{listen, d, w, w.about})
		}
	}
	return append(ends, rest...)
}

func sorted(doors map[door]answer) []door {
	return slices.SortedFunc(maps.Keys(doors), func(a, b door) int {
		return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.protocol, b.protocol))
	})
}
