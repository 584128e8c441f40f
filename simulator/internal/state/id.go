package state

import (
	"fmt"
	"strconv"
	"strings"
)

// series is the prefix of the IDs of one kind of resource. No number of a series
// is used twice.
type series string

const (
	instanceIDs     series = "i-"
	loadBalancerIDs series = "lb-"
	staticIPIDs     series = "ip-"
	routeIDs        series = "rt-"
	volumeIDs       series = "vol-"
)

func (s series) id(number int) string { return fmt.Sprintf("%s%08d", s, number) }

// number returns the number in an ID, or false if the ID does not belong to this
// series.
func (s series) number(id string) (int, bool) {
	const width = 8 // at least this many digits
	digits, ok := strings.CutPrefix(id, string(s))
	if !ok || len(digits) < width || len(digits) > width && digits[0] == '0' || strings.Trim(digits, "0123456789") != "" {
		return 0, false
	}
	number, err := strconv.Atoi(digits)
	return number, err == nil
}

// words returns the name of the kind of resource, and the JSON key under which a
// saved state stores the last number.
func (s series) words() (what, last string) {
	switch s {
	case loadBalancerIDs:
		return "load balancer", "lastLoadBalancer"
	case staticIPIDs:
		return "static IP", "lastStaticIP"
	case routeIDs:
		return "route", "lastRoute"
	case volumeIDs:
		return "volume", "lastVolume"
	case instanceIDs:
	}
	return "instance", "lastInstance"
}

// restorable returns an error if a saved ID is malformed, if its number is above the
// last number, or if it is already in the table.
func restorable[T any](s series, id string, last int, among *table[T]) error {
	what, lastWord := s.words()
	number, ok := s.number(id)
	switch {
	case !ok:
		return fmt.Errorf("id: %q is not a valid %s ID", id, what)
	case number > last:
		return fmt.Errorf("id: %s is above %s, %d", id, lastWord, last)
	case among.row(id) != nil:
		return fmt.Errorf("id: %s is there twice", id)
	}
	return nil
}
