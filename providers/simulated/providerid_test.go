package simulated

import "testing"

func TestProviderIDRoundTrip(t *testing.T) {
	for _, id := range []string{"i-00000001", "i-99999999", "i-100000000"} {
		printed, err := providerIDs.Print("sim-1", id)
		diff(t, "error", nil, err)
		got, err := instanceID(printed)
		diff(t, "error", nil, err)
		diff(t, "ID", id, got)
	}
}

// Any provider ID of a Node is either parsed as one of this cloud or refused.
func FuzzInstanceID(f *testing.F) {
	for _, seed := range []string{"", "simulated://", "simulated://sim-1/i-00000001", "simulated://a/b/i-00000001", "simulated://sim-1/i-٣٣٣٣٣٣٣٣", "aws:///x/i-1"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		id, err := instanceID(text)
		if (err == nil) != isInstanceID(id) {
			t.Errorf("%q: got %q, %v", text, id, err)
		}
	})
}
