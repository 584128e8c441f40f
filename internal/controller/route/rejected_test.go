package route

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// A Node whose CIDR is rejected gets one event about the rejection in 30 minutes, even
// while listings fail.
func TestRejectedCIDRIsRecordedOnceWhileListingsFail(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := bare(1)
		n.Spec.PodCIDRs = []string{"192.168.1.0/24"}
		n.Spec.PodCIDR = n.Spec.PodCIDRs[0]
		b := begin(t, Config{}, n)
		defer func() { b.stop() }()
		b.after(5 * time.Minute)
		b.locked(func() {
			b.events = nil
			b.fail = func(call string) error {
				if strings.HasPrefix(call, "list") {
					return errors.New("no")
				}
				return nil
			}
		})
		b.after(time.Hour)
		b.locked(func() {
			if len(b.events) > 2 {
				t.Errorf("%d events in an hour, want one in 30 minutes: %.300s", len(b.events), strings.Join(b.events, "|"))
			}
		})
	})
}
