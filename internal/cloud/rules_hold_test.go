package cloud

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// When the next probe begins. The hold began at 0.
func TestNextProbe(t *testing.T) {
	const minutes = 60
	for _, tt := range []struct {
		name string
		hold hold
		next float64
		want float64 // seconds
	}{
		{"WaitsForThePause", hold{}, 3, 3},
		{"WaitsForTheTimeThatTheCloudHasNamed", hold{after: at(7)}, 3, 7},
		{"DeniedFor10MinutesBeginsAsOthers", hold{kind: Denied, probed: at(10 * minutes)}, 10*minutes + 3, 10*minutes + 3},
		{"DeniedForLongerBeginsEvery30Seconds", hold{kind: Denied, probed: at(10*minutes + 1)}, 10*minutes + 3, 10*minutes + 31},
		{"UnavailableForLongerBeginsAsBefore", hold{kind: Unavailable, probed: at(10*minutes + 1)}, 10*minutes + 3, 10*minutes + 3},
	} {
		tt.hold.opened = at(0)
		if got := (&probes{next: at(tt.next)}).delay(&tt.hold, at(0)); got != at(tt.want).Sub(at(0)) {
			t.Errorf("%s: the next probe after %v, want %v s", tt.name, got, tt.want)
		}
	}
}

func TestPausesBetweenProbesGrow(t *testing.T) {
	var got []time.Duration
	p, now := probes{pause: firstPause, next: at(0)}, at(0)
	for range 4 {
		p.begin(&hold{}, now)
		got, now = append(got, p.next.Sub(now)), p.next
	}
	if want := []time.Duration{4 * firstPause, longestPause, longestPause, longestPause}; !slices.Equal(got, want) {
		t.Errorf("pauses %v, want %v", got, want)
	}
}

func TestCallerComesBackAfterTheNextProbe(t *testing.T) {
	for _, tt := range []struct {
		name     string
		probes   probes
		call     call
		min, max time.Duration
	}{
		{"ObjectThatWaitsComesFirst", probes{next: at(3)}, call{priority: highPriority}, 3 * time.Second, 3*time.Second + firstPause/2},
		{"OthersComeLater", probes{next: at(3)}, call{priority: updatePriority}, 3*time.Second + firstPause/2, 3*time.Second + firstPause},
		{"ProbeThatIsDueAlready", probes{next: at(-3)}, call{priority: highPriority}, 0, firstPause / 2},
		{"ProbeUnderWayEndsSoon", probes{next: at(3), underWay: true}, call{priority: highPriority}, slow, slow + firstPause/2},
	} {
		for range 20 {
			if got := tt.probes.again(tt.call, at(0)); got < tt.min || got > tt.max {
				t.Errorf("%s: after %v, want %v to %v", tt.name, got, tt.min, tt.max)
			}
		}
	}
}

func TestErrorOfACallThatIsHeldBack(t *testing.T) {
	const secret = "the error of another object"
	for _, tt := range []struct {
		name   string
		hold   hold
		tenant string
		want   []error
	}{
		{"NamesTheCause", hold{kind: Unavailable, err: errors.New(secret)}, "", []error{errHeld}},
		{"DeniedCall", hold{kind: Denied, err: errors.New(secret)}, "", []error{errDenied}},
		{"QuotaThatIsUsedUp", hold{kind: Throttled, err: errors.New(secret)}, "", []error{errQuota}},
		{"TenantDoesNotReadErrorsOfOthers", hold{kind: Unavailable, err: errors.New(secret)}, "shop", []error{errHeld}},
		{"ErrorOfATenantIsNotKept", hold{kind: Unavailable}, "", []error{errHeld}},
	} {
		got := tt.hold.heldBack(call{tenant: tt.tenant}, time.Minute)
		reads := tt.tenant == "" && tt.hold.err != nil
		if got.Kind != tt.hold.kind || HeldFor(got) != time.Minute || !errors.Is(got, tt.want[0]) || strings.Contains(got.Error(), secret) != reads {
			t.Errorf("%s: %q of kind %s, want %q, with the cause: %v", tt.name, got, got.Kind, tt.want, reads)
		}
	}
}

// The next probe is the newest call for an object without a failure, or else the oldest
// one of the highest priority.
func TestPreferredProbe(t *testing.T) {
	for _, tt := range []struct {
		name    string
		waiting []turn
		want    []string
	}{
		{"NewestOfNewObjects", []turn{{isNew: true}, {}, {isNew: true}, {}}, []string{"2", "0", "1", "3"}},
		{"HigherPriorityFirst", []turn{{isNew: true}, {isNew: true, call: call{priority: highPriority}}, {isNew: true}}, []string{"1", "2", "0"}},
		{"NewObjectBeforeAHigherPriority", []turn{{isNew: true}, {call: call{priority: highPriority}}}, []string{"0", "1"}},
	} {
		var all turns
		for n := range tt.waiting {
			tt.waiting[n].names = []string{strconv.Itoa(n)}
			all.add(&tt.waiting[n])
		}
		var got []string
		for own := all.newest(); own != nil; own = all.newest() {
			got = append(got, own.object())
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}
