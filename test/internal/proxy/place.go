package proxy

import (
	"fmt"
	"regexp"
	"strings"
)

// Place identifies a request in a sequence of requests that is repeated. The request is
// the N-th of its kind, counted from 1. Requests of other kinds do not count, because a
// retry of such a request would change N.
type Place struct {
	Kind string
	N    int
}

// PlacesOf returns the places of these requests, in their order.
func PlacesOf(requests []Request) []Place {
	seen := map[string]int{}
	var places []Place
	for _, r := range requests {
		seen[r.Kind()]++
		places = append(places, Place{Kind: r.Kind(), N: seen[r.Kind()]})
	}
	return places
}

// String returns the place in a form that can be a part of a test's name.
func (p Place) String() string {
	return fmt.Sprintf("%s-%d", strings.NewReplacer(" ", "-", "/", ".").Replace(p.Kind), p.N)
}

// numbered matches a part of a path that contains a digit. Such a part names an object.
var numbered = regexp.MustCompile(`/[^/]*[0-9][^/]*`)

// Kind returns the method, or WATCH, and the path. In the path a star replaces the names
// of objects.
func (r Request) Kind() string {
	method := r.Method
	if r.Watch {
		method = "WATCH"
	}
	return method + " " + numbered.ReplaceAllStringFunc(r.Path, func(part string) string {
		if part == "/v1" {
			return part
		}
		return "/*"
	})
}

// TrapPlace sets a trap for the request at this place. It counts matching requests
// from now on.
func (p *Proxy) TrapPlace(match Match, place Place, at Point) *Trap {
	return p.Trap(func(r Request) bool { return (match == nil || match(r)) && r.Kind() == place.Kind }, place.N, at)
}
