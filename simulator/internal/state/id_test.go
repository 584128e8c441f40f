package state

import "testing"

func TestIDs(t *testing.T) {
	for _, number := range []int{0, 1, 99999999, 100000000, 123456789012} {
		for _, s := range []series{instanceIDs, loadBalancerIDs, staticIPIDs, routeIDs, volumeIDs} {
			if got, ok := s.number(s.id(number)); !ok || got != number {
				t.Errorf("%s: got %d, %v", s.id(number), got, ok)
			}
		}
	}
	for _, id := range []string{"", "i-", "i-1", "i-0000001", "i-000000001", "i-+0000001", "i--0000001", "i-0000000x", "lb-00000001", "I-00000001", "i-00000001 ", "i-99999999999999999999"} {
		if number, ok := instanceIDs.number(id); ok {
			t.Errorf("%q was taken for %d", id, number)
		}
	}
}
